"""Attention details: what the weights of a layer were computed from, enough to compute its output again by hand.

observe(model, details=True) → AttentionMap.details: query, key, value, scale, mask → weights → output
                             → AttentionRecord.positions: the tables of positions
                             → AttentionRecord.layers: whole layers (inspection/layers.py)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from jumok.nn.positions import SHOWN

# B batch · H heads · Q queries · K keys · d head width · v value width · D width · P width of a position


@dataclass(frozen=True)
class AttentionDetails:
    """The numbers of one call of an attention layer; those of one example, without B, once its map is cut."""

    query: Tensor  # (B, H, Q, d)
    key: Tensor  # (B, H, K, d)
    value: Tensor  # (B, H, K, v)
    output: Tensor  # (B, Q, D): heads concatenated and projected
    scale: float = 1.0  # factor of q · k
    mask: Tensor | None = None  # (B, Q, K), True = may be looked at; None: every key may
    vector: Tensor | None = None  # (d,): scores are vector · tanh(q + k) instead of q · k

    def detached(self) -> "AttentionDetails":
        """Return the same numbers without their autograd graph."""
        return replace(
            self,
            query=self.query.detach(),
            key=self.key.detach(),
            value=self.value.detach(),
            output=self.output.detach(),
            mask=None if self.mask is None else self.mask.detach(),
            vector=None if self.vector is None else self.vector.detach(),
        )

    def per_hypothesis(self, group: int) -> "AttentionDetails":
        """Return one row per hypothesis, given rows in which a group of hypotheses lies side by side in Q."""
        if group == 1:
            return self
        sentences, heads, queries, width = self.query.shape
        each = queries // group
        return replace(
            self,
            query=self.query.view(sentences, heads, group, each, width).transpose(1, 2).flatten(0, 1),
            key=self.key.repeat_interleave(group, dim=0),
            value=self.value.repeat_interleave(group, dim=0),
            output=self.output.reshape(sentences * group, each, -1),
            mask=None if self.mask is None else self.mask.reshape(sentences * group, each, -1),
        )

    def cut(self, queries: int, keys: int, row: int) -> "AttentionDetails":
        """Return the details of example row, cut to its first queries and keys."""
        return replace(
            self,
            query=self.query[row, :, :queries],
            key=self.key[row, :, :keys],
            value=self.value[row, :, :keys],
            output=self.output[row, :queries],
            mask=None if self.mask is None else self.mask[row, :queries, :keys],
        )


@dataclass(frozen=True)
class PositionTable:
    """What a model adds to its embeddings, or concatenates with them, to say where a token stands."""

    path: str
    kind: str  # index, sinusoidal, sinusoidal-halves, sinusoidal-grid, learned
    join: str  # add, concatenate
    table: Tensor  # (T, P), perhaps of more positions than the sequence has
    labels: tuple[str, ...] = ()  # of the tokens at the first positions
    grid: tuple[int, int] | None = None  # rows and columns, where positions are the cells of an image

    def cut(self, labels: Sequence[str]) -> "PositionTable":
        """Return the table with labels for its first positions, and without what padding added beyond SHOWN."""
        return replace(self, table=self.table[: max(len(labels), SHOWN)], labels=tuple(labels))


def expand_mask(mask: Tensor | None, shape: tuple[int, ...]) -> Tensor | None:
    """Return the mask (B, Q, K) that all heads share, given one that broadcasts to shape (B, H, Q, K)."""
    return None if mask is None else torch.broadcast_to(mask, shape)[:, 0]


def join_queries(calls: Sequence[AttentionDetails]) -> AttentionDetails:
    """Return the details of all queries, given calls with some of the queries each and the same keys and values."""
    if len(calls) == 1:
        return calls[0]
    masks = [call.mask for call in calls if call.mask is not None]
    return replace(
        calls[0],
        query=torch.cat([call.query for call in calls], dim=2),
        output=torch.cat([call.output for call in calls], dim=1),
        mask=torch.cat(masks, dim=1) if masks else None,
    )
