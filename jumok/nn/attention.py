"""Attention: softmax(Q Kᵀ / √d) V, for one head or many, from a sequence to itself or to another.

query (B, H, Q, d), key (B, H, K, d), value (B, H, K, v), mask True = may look → (B, H, Q, v)

Fast by default (torch's fused kernel). While somebody observes the model, the same weights are computed one step at a
time and filed. A query that may look at nothing gets zeros.
"""

import math
from abc import ABC, abstractmethod
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from jumok.nn.dropout import Dropout
from jumok.nn.linear import Linear
from jumok.nn.masks import causal_mask, shown_keys
from jumok.nn.native_attention import Heads, attend_to_another, attend_to_itself, fits
from jumok.nn.precision import narrowed
from jumok.nn.recording import recorder_for

# B batch · R hypotheses · H heads · Q queries · K keys · D width · d head width · v value width

# Queries, keys and values start smaller than the other projections, as in torch.nn.MultiheadAttention; docs/log.md
# tells what a larger start did to a post-norm encoder.
INPUT_GAIN = 1 / math.sqrt(2)


class KeyValues(Protocol):
    """What attention asks of a key-value cache (decoding/key_value_cache.py)."""

    def append(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor | None, bool]:
        """Write key (R, H, n, d) and value behind a layer's cached; return all of both, the mask and whether causal."""

    def advance(self, new: int) -> None:
        """Count new tokens of each hypothesis, once all layers have appended them."""


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None, *, scale: float | None = None) -> Tensor:
    """Return softmax(Q Kᵀ · scale) (B, H, Q, K); scale is 1/√d by default; masked scores count as −∞."""
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    return masked_softmax(scores, mask)


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the softmax over the last axis of scores; masked ones count as −∞."""
    if mask is None:
        return scores.softmax(dim=-1)
    # −∞ everywhere would give NaN: a row that may look at nothing is all zeros instead.
    return scores.masked_fill(~mask, -math.inf).softmax(dim=-1).masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Return softmax(Q Kᵀ · scale) V (B, H, Q, v), fused; causal hides later keys."""
    if mask is None:
        return F.scaled_dot_product_attention(query, key, value, is_causal=causal, scale=scale)
    if causal:
        mask = mask & causal_mask(query.shape[-2], key.shape[-2], query.device)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)


class MultiHeadAttention(nn.Module, ABC):
    """What self- and cross-attention share: heads, their width, the output projection and the record."""

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        kind: str,
        head_width: int = 0,
        value_width: int = 0,
        scaled: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if not head_width and width % heads:
            raise ValueError(
                f"width ({width}) must be a multiple of heads ({heads}); the nearest below is {width - width % heads}; "
                "or give head_width"
            )
        self.heads, self.kind = heads, kind
        self.head_width = head_width or width // heads
        self.value_width = value_width or self.head_width
        self.scale = 1 / math.sqrt(self.head_width) if scaled else 1.0
        self.weight_dropout = Dropout(dropout)
        self.output = Linear(heads * self.value_width, width)
        self.make_inputs(width)
        initialise(self.output)

    @abstractmethod
    def make_inputs(self, width: int) -> None:
        """Make the projections that queries, keys and values come from."""

    def split(self, x: Tensor, width: int) -> Tensor:
        """Return (B, H, T, width) of x (B, T, H · width)."""
        return x.view(*x.shape[:2], self.heads, width).transpose(1, 2)

    def native(self, query: Tensor, keys: int, mask: Tensor | None) -> Heads | None:
        """Return the heads for attention to so many keys in C (nn/native_attention.py), or None where torch must serve."""
        plain = self.value_width == self.head_width and not (self.training and self.weight_dropout.rate)
        if not plain or not fits(query, keys, self.head_width) or recorder_for(self) is not None:
            return None
        lengths = None if mask is None else shown_keys(mask, len(query), keys)
        if mask is not None and lengths is None:
            return None
        return Heads(self.heads, self.scale, lengths)

    def mix(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, causal: bool, group: int = 1
    ) -> Tensor:
        """Attend, join the heads and project: (B, Q, D). group hypotheses stand side by side in Q (see CrossAttention)."""
        record = recorder_for(self)
        if record is None and not (self.training and self.weight_dropout.rate):
            mixed = attend(query, key, value, mask, causal=causal, scale=self.scale)
        else:
            if causal:
                allowed = causal_mask(query.shape[-2], key.shape[-2], query.device)
                mask = allowed if mask is None else mask & allowed
            query, key, value = query.float(), key.float(), value.float()
            weights = attention_weights(query, key, mask, scale=self.scale)  # (B, H, Q, K)
            if record is not None:
                weights = record.ablated(self, self.kind, weights)
            mixed = self.weight_dropout(weights) @ value
        output: Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        if record is not None:
            sentences, heads, queries, keys = weights.shape
            by_row = weights.view(sentences, heads, group, queries // group, keys).transpose(1, 2).flatten(0, 1)
            if record.keeps_details:
                record.note(query=query, key=key, value=value, output=output, scale=self.scale, mask=mask, group=group)
            record.file(self, self.kind, by_row)
        return output


class SelfAttention(MultiHeadAttention):
    """Queries, keys and values from the same sequence, through three projections done in one matrix product."""

    def make_inputs(self, width: int) -> None:
        self.sizes = [self.heads * self.head_width, self.heads * self.head_width, self.heads * self.value_width]
        self.query_key_value = Linear(width, sum(self.sizes))
        initialise(self.query_key_value, self.sizes, gain=INPUT_GAIN)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        causal: bool = False,
        cache: KeyValues | None = None,
        layer: int = 0,
    ) -> Tensor:
        """Return (B, T, D) of x (B, T, D). With a cache, x continues what the cache holds and mask is the cache's."""
        joined = self.query_key_value(narrowed(x))
        if cache is None and (heads := self.native(joined, x.shape[1], mask)) is not None:
            output: Tensor = self.output(attend_to_itself(joined, heads, causal=causal))
            return output.to(x.dtype)
        query, key, value = joined.split(self.sizes, dim=-1)
        query, key = self.split(query, self.head_width), self.split(key, self.head_width)
        value = self.split(value, self.value_width)
        if cache is not None:
            key, value, mask, causal = cache.append(layer, key, value)
        return self.mix(query, key, value, mask, causal=causal).to(x.dtype)


class CrossAttention(MultiHeadAttention):
    """Queries from one sequence; keys and values from another, projected once."""

    def make_inputs(self, width: int) -> None:
        self.query = Linear(width, self.heads * self.head_width)
        self.sizes = [self.heads * self.head_width, self.heads * self.value_width]
        self.key_value = Linear(width, sum(self.sizes))
        initialise(self.query, gain=INPUT_GAIN)
        initialise(self.key_value, self.sizes, gain=INPUT_GAIN)

    def remember(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys (B, H, S, d) and values (B, H, S, v) of memory (B, S, D)."""
        return self.apart(self.key_value(narrowed(memory)))

    def apart(self, joined: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys (B, H, S, d) and values (B, H, S, v) that stand side by side in joined (B, S, H · (d + v))."""
        key, value = torch.split(joined, self.sizes, dim=-1)
        return self.split(key, self.head_width), self.split(value, self.value_width)

    def forward(self, x: Tensor, remembered: Tensor | tuple[Tensor, Tensor], mask: Tensor | None = None) -> Tensor:
        """Return (R, Q, D) of x (R, Q, D), where R is B or B · group: neighbouring hypotheses share one memory.

        remembered are keys and values, side by side or apart.
        """
        if isinstance(remembered, Tensor):
            if len(x) == len(remembered) and (heads := self.native(x, remembered.shape[1], mask)) is not None:
                output: Tensor = self.output(attend_to_another(self.query(narrowed(x)), remembered, heads))
                return output.to(x.dtype)
            remembered = self.apart(remembered)
        key, value = remembered
        group, queries = len(x) // len(key), x.shape[1]
        # Hypotheses of one sentence become more queries to the same keys, so that the memory is never copied.
        grouped = x.reshape(len(key), group * queries, -1)
        query = self.split(self.query(narrowed(grouped)), self.head_width)
        return self.mix(query, key, value, mask, causal=False, group=group).view_as(x).to(x.dtype)


def initialise(linear: nn.Linear, blocks: list[int] | None = None, *, gain: float = 1.0) -> None:
    """Draw Xavier weights for each block of output rows by itself, as if the projections stood apart."""
    first = 0
    for rows in blocks or [linear.out_features]:
        nn.init.xavier_uniform_(linear.weight[first : first + rows], gain=gain)
        first += rows
    nn.init.zeros_(linear.bias)
