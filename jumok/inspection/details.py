"""What an attention layer computed with, kept on request: enough to redo its sum by hand.

observe(model, details=True) → AttentionMap.details: query, key, value, scale, mask → weights → output
A table of positions is kept the same way: AttentionRecord.positions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

# B batch · H heads · Q queries · K keys · d head width · v value width · D width · P width of a position


@dataclass(frozen=True)
class AttentionDetails:
    """The numbers of one call of an attention layer; of one example, without B, once its map is cut."""

    query: Tensor  # (B, H, Q, d)
    key: Tensor  # (B, H, K, d)
    value: Tensor  # (B, H, K, v)
    output: Tensor  # (B, Q, D): heads joined and projected
    scale: float = 1.0  # what q · k is multiplied by
    mask: Tensor | None = None  # (B, Q, K), True = may look; None: everything may be looked at
    vector: Tensor | None = None  # (d,): the score is vector · tanh(q + k) instead of q · k

    def detached(self) -> "AttentionDetails":
        """Return the same numbers without their graph."""
        tensors: dict[str, Any] = {name: part.detach() for name, part in vars(self).items() if isinstance(part, Tensor)}
        return replace(self, **tensors)

    def rows(self, group: int) -> "AttentionDetails":
        """Return the details of each hypothesis, where group of them stand side by side in Q and share their keys."""
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
        """Return the details of example row, with so many queries and keys."""
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
    """What a model adds to, or puts beside, its embeddings to say where a token stands."""

    path: str
    kind: str  # index, sinusoidal, sinusoidal-halves, sinusoidal-grid, learned
    join: str  # add, concatenate
    table: Tensor  # (T, P)
    labels: tuple[str, ...] = ()  # of the tokens that stood there

    def cut(self, labels: Sequence[str]) -> "PositionTable":
        """Return the table of as many places as there are labels."""
        return replace(self, table=self.table[: len(labels)], labels=tuple(labels))


def one_mask(mask: Tensor | None, shape: tuple[int, ...]) -> Tensor | None:
    """Return a mask as (B, Q, K), given one that fits weights of shape (B, H, Q, K); it is the same for all heads."""
    return None if mask is None else torch.broadcast_to(mask, shape)[:, 0]


def joined(calls: Sequence[AttentionDetails]) -> AttentionDetails:
    """Return the details of calls that each had some of the queries, with the same keys and values."""
    if len(calls) == 1:
        return calls[0]
    masks = [call.mask for call in calls if call.mask is not None]
    return replace(
        calls[0],
        query=torch.cat([call.query for call in calls], dim=2),
        output=torch.cat([call.output for call in calls], dim=1),
        mask=torch.cat(masks, dim=1) if masks else None,
    )
