"""Normalisation: over a position's features (layer norm) or over the batch's real positions (batch norm).

Both take x (B, T, D) and the mask (B, T) of real positions; only batch norm needs it. Images have group norm.
"""

from typing import Any, Literal

import torch
from torch import Tensor, nn

from jumok.native import kernels as native
from jumok.native import narrow as narrow_native
from jumok.native.fast_path import on_fast_path
from jumok.nn.precision import narrow, narrowed

NormKind = Literal["layer", "batch"]


class LayerNorm(nn.LayerNorm):
    """Normalise each position by itself (Ba et al. 2016): padding cannot matter."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return x (B, T, D) with zero mean and unit variance over D."""
        if self._native(x):
            normal: Tensor = _Normalise.apply(x, self.weight, self.bias, self.eps)  # type: ignore[no-untyped-call]
            return normal
        return super().forward(x)

    def beside(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return x and its norm, as a product takes it: for a part that is added to x, whose gradients meet in one pass."""
        if self._native(x):
            both: tuple[Tensor, Tensor] = _NormaliseBeside.apply(x, self.weight, self.bias, self.eps, narrow())  # type: ignore[no-untyped-call]
            return both
        return x, narrowed(super().forward(x))

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
    """Layer norm in one pass in C, and its gradient in another."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor, shift: Tensor, epsilon: float) -> Tensor:
        normal, *statistics = native.normalise_rows(x, scale, shift, epsilon)
        ctx.save_for_backward(x, scale, *statistics)
        return normal

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, scale, means, spreads = ctx.saved_tensors
        return (*native.normalise_rows_backward(gradient.contiguous(), x, scale, (means, spreads), None), None)


class _NormaliseBeside(torch.autograd.Function):
    """x → x and layer norm of x, in bf16 where it is rounded; what x is given as gradient is added on the way."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, scale: Tensor, shift: Tensor, epsilon: float, rounded: bool
    ) -> tuple[Tensor, Tensor]:
        kind = narrow_native if rounded else native
        normal, *statistics = kind.normalise_rows(x, scale, shift, epsilon)
        ctx.save_for_backward(x, scale, *statistics)
        ctx.set_materialize_grads(False)
        return x, normal

    @staticmethod
    def backward(ctx: Any, added: Tensor | None, gradient: Tensor | None) -> tuple[Tensor | None, ...]:
        x, scale, means, spreads = ctx.saved_tensors
        if gradient is None:
            return added, None, None, None, None
        back = native.normalise_rows_backward if gradient.dtype == torch.float32 else narrow_native.normalise_back
        own = None if added is None else added.contiguous()
        return (*back(gradient.contiguous(), x, scale, (means, spreads), own), None, None)


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

    def beside(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return x and its norm, as a product takes it."""
        return x, narrowed(self(x, mask))


class GroupNorm(nn.GroupNorm):
    """Over groups of an image's own channels. A group of one value is its own mean, in a batch of one image, too."""

    def forward(self, input: Tensor) -> Tensor:
        """Return input (B, C, H, W) normed; torch's own refuses one image of one pixel and takes two of them."""
        return torch.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


def make_norm(kind: NormKind, width: int, epsilon: float = 1e-5) -> LayerNorm | BatchNorm:
    """Return a norm over width features; epsilon keeps it from dividing by zero."""
    return LayerNorm(width, eps=epsilon) if kind == "layer" else BatchNorm(width, eps=epsilon)
