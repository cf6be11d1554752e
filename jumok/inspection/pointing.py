"""Whether words look at different places of an image, and at the right ones.

weights (Q, rows, columns) and a box for each query → the share of attention inside its box, beside the box's own share
weights (Q, K) → how far the maps of any two queries are apart
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from jumok.inspection.record import AttentionRecord

# Q queries · K keys: cells of an image, row by row · H heads

Box = tuple[float, float, float, float]  # left, top, right, bottom, as shares of the image's width and height
ALIKE = 0.1  # words whose maps differ by less than this in every head look at the same place


class Pointing(NamedTuple):
    """How much of the attention falls into boxes, and how much of the image they cover: each (Q,)."""

    inside: Tensor
    area: Tensor

    @property
    def ratio(self) -> Tensor:
        """How many times more than chance: 1 where a model looks everywhere alike, (Q,)."""
        return self.inside / self.area


def mass_inside(weights: Tensor, boxes: Sequence[Box], *, grid: tuple[int, int] | None = None) -> Pointing:
    """Return the share of each query's attention inside its box; weights are (Q, rows, columns), or (Q, K) and a grid.

    A cell counts by the part of it that the box covers.
    """
    rows, columns = grid or tuple(weights.shape[-2:])
    weights = weights.reshape(-1, rows, columns)
    assert len(weights) == len(boxes), f"{len(weights)} queries have {len(boxes)} boxes"
    left, top, right, bottom = torch.tensor(boxes, dtype=weights.dtype, device=weights.device).clamp(0, 1).unbind(dim=1)
    covered = _covered(top, bottom, rows)[:, :, None] * _covered(left, right, columns)[:, None]  # (Q, rows, columns)
    inside = (weights * covered).sum(dim=(1, 2)) / weights.sum(dim=(1, 2))
    return Pointing(inside, (right - left) * (bottom - top))


def _covered(low: Tensor, high: Tensor, count: int) -> Tensor:
    """Return the part of each of count cells that lies between low and high, (Q, count)."""
    edges = torch.arange(count + 1, dtype=low.dtype, device=low.device) / count
    overlap = torch.minimum(high[:, None], edges[1:]) - torch.maximum(low[:, None], edges[:-1])
    return overlap.clamp(min=0) * count


def distance_between_queries(weights: Tensor) -> Tensor:
    """Return the total variation distance of weights (…, Q, K), a mean over all pairs of queries: 0 alike, 1 apart.

    Fewer than two queries have none: NaN.
    """
    count = weights.shape[-2]
    pairs = torch.triu_indices(count, count, offset=1, device=weights.device)
    apart = (weights[..., pairs[0], :] - weights[..., pairs[1], :]).abs().sum(dim=-1) / 2
    return apart.mean(dim=-1)


def looks_alike(record: AttentionRecord, *, words: int) -> bool:
    """Return whether no head over an image tells its first words apart; maps are of one example (H, Q, K)."""
    maps = [found for found in record.maps if found.grid]
    if words < 2 or not maps:
        return False
    return all(float(distance_between_queries(found.weights[:, :words].float()).max()) < ALIKE for found in maps)
