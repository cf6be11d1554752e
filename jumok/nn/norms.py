"""Normalisation: over a position's features (layer norm) or over the batch's real positions (batch norm).

Both take x (B, T, D) and the mask (B, T) of real positions; only batch norm needs it.
"""

from typing import Literal

import torch
from torch import Tensor, nn

NormKind = Literal["layer", "batch"]


class LayerNorm(nn.LayerNorm):
    """Normalise each position by itself (Ba et al. 2016): padding cannot matter."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return x (B, T, D) with zero mean and unit variance over D."""
        return super().forward(x)


class BatchNorm(nn.BatchNorm1d):
    """Normalise each feature over all real positions of the batch (Ioffe and Szegedy 2015).

    Sequences suit it badly: an example's values depend on its neighbours in the batch while training.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return x (B, T, D) normalised by statistics over positions where mask (B, T) is True."""
        if mask is None or bool(mask.all()):
            return super().forward(x.flatten(0, -2)).view_as(x)
        normal = torch.zeros_like(x)
        normal[mask] = super().forward(x[mask])  # padding stays zero: nobody looks at it
        return normal


def make_norm(kind: NormKind, width: int, epsilon: float = 1e-5) -> LayerNorm | BatchNorm:
    """Return a norm over width features; epsilon keeps it from dividing by zero."""
    return LayerNorm(width, eps=epsilon) if kind == "layer" else BatchNorm(width, eps=epsilon)
