"""Normalisation: over a position's features (layer norm) or over the batch's real positions (batch norm).

Both take x (B, T, D) and the mask (B, T) of real positions; only batch norm needs it. Images have group norm.
"""

from typing import Any, Literal

import torch
from torch import Tensor, nn

from jumok.native import kernels as native
from jumok.native.fast_path import on_fast_path

NormKind = Literal["layer", "batch"]


class LayerNorm(nn.LayerNorm):
    """Normalise each position by itself (Ba et al. 2016): padding cannot matter."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return x (B, T, D) with zero mean and unit variance over D."""
        if self._native(x):
            normal: Tensor = _Normalise.apply(x, self.weight, self.bias, self.eps)  # type: ignore[no-untyped-call]
            return normal
        return super().forward(x)

    def _native(self, x: Tensor) -> bool:
        """Return whether C is faster: while we learn, on one thread (torch's loop over features is slow for small models)."""
        return (
            on_fast_path()
            and torch.is_grad_enabled()
            and x.numel() > 0
            and x.is_contiguous()
            and self.weight.dtype == x.dtype
            and self.weight.shape == x.shape[-1:]
            and native.serves(x)
        )


class _Normalise(torch.autograd.Function):
    """Layer norm in one pass in C; its gradient is torch's."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor, shift: Tensor, epsilon: float) -> Tensor:
        normal, means, spreads = native.normalise_rows(x, scale, shift, epsilon)
        ctx.save_for_backward(x, scale, shift, means, spreads)
        return normal

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, scale, shift, means, spreads = ctx.saved_tensors
        found = torch.ops.aten.native_layer_norm_backward(
            gradient.contiguous(), x, [x.shape[-1]], means, spreads, scale, shift, ctx.needs_input_grad[:3]
        )
        return (*found, None)


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


class GroupNorm(nn.GroupNorm):
    """Over groups of an image's own channels. A group of one value is its own mean, in a batch of one image, too."""

    def forward(self, input: Tensor) -> Tensor:
        """Return input (B, C, H, W) normed; torch's own refuses one image of one pixel and takes two of them."""
        return torch.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


def make_norm(kind: NormKind, width: int, epsilon: float = 1e-5) -> LayerNorm | BatchNorm:
    """Return a norm over width features; epsilon keeps it from dividing by zero."""
    return LayerNorm(width, eps=epsilon) if kind == "layer" else BatchNorm(width, eps=epsilon)
