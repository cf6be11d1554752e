"""A linear layer that is a little faster while a small model learns on one thread, and multiplies in bf16 where asked to.

x (…, I) → x Wᵀ + b (…, O)

torch hands the products of a layer to MKL, and writes the bias first. oneDNN, which torch brings along as well, adds the bias on
the way, and on AMD's processors is up to twice as fast: it uses AVX-512 there, and MKL does not (docs/log.md).
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from jumok.native import narrow as native
from jumok.native.fast_path import on_fast_path
from jumok.nn.precision import NARROW, narrow, narrow_weight

_product = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if torch.backends.mkldnn.is_available() else None  # type: ignore[no-untyped-call]


class Linear(nn.Linear):
    """x Wᵀ + b."""

    def forward(self, input: Tensor) -> Tensor:
        """Return (…, O) of input (…, I), in the input's own numbers."""
        if narrow():
            return narrow_linear(input, self.weight, self.bias)
        if self._fast(input):
            output: Tensor = _Linear.apply(input, self.weight, self.bias)  # type: ignore[no-untyped-call]
            return output
        return super().forward(input)

    def _fast(self, input: Tensor) -> bool:
        """Return whether oneDNN's product serves: while we learn on one thread, as worker processes do."""
        return torch.is_grad_enabled() and on_fast_path() and input.numel() > 0 and multiplies(input, self.weight)


class _Linear(torch.autograd.Function):
    """The product, and the two of its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return multiply(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        gradient = gradient.contiguous()
        rows = gradient.flatten(0, -2)
        to_x = multiply(gradient, weight.t().contiguous(), None) if ctx.needs_input_grad[0] else None
        to_weight = weight_gradient(rows, x.flatten(0, -2)) if ctx.needs_input_grad[1] else None
        return to_x, to_weight, rows.sum(dim=0) if ctx.needs_input_grad[2] else None


def weight_gradient(rows: Tensor, x: Tensor) -> Tensor:
    """Return the gradient (O, I) of the weight that made outputs of x (N, I), given theirs, rows (N, O), by oneDNN."""
    if rows.shape[1] > x.shape[1]:  # the slimmer one is turned, before or after
        return multiply(x.t().contiguous(), rows.t(), None).t().contiguous()
    return multiply(rows.t().contiguous(), x.t(), None)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x weightᵀ + bias, as F.linear does, where a weight has no layer of its own."""
    return narrow_linear(x, weight, bias) if narrow() else F.linear(x, weight, bias)


def narrow_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x weightᵀ + bias of products in bf16, in the numbers of x; weight and bias are fp32."""
    found: Tensor = _NarrowLinear.apply(x, weight, narrow_weight(weight), bias)  # type: ignore[no-untyped-call]
    return found


class _NarrowLinear(torch.autograd.Function):
    """The product in bf16, and the two of its gradient; what is kept for the gradient is bf16, too."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, rounded: Tensor, bias: Tensor | None) -> Tensor:
        ctx.wide = x.dtype
        x = x.to(NARROW)
        ctx.save_for_backward(x, rounded)
        return narrow_product(x, rounded, bias).to(ctx.wide)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, rounded = ctx.saved_tensors
        rows = gradient.flatten(0, -2)
        narrow_rows = rows.to(NARROW)
        to_x = (narrow_rows @ rounded).to(ctx.wide).view(x.shape) if ctx.needs_input_grad[0] else None
        to_weight = (narrow_rows.t() @ x.flatten(0, -2)).float() if ctx.needs_input_grad[1] else None
        to_bias = None
        if ctx.needs_input_grad[3]:
            to_bias = native.sums(rows) if native.serves(rows) else rows.sum(dim=0, dtype=torch.float32)
        return to_x, to_weight, None, to_bias


def narrow_product(x: Tensor, rounded: Tensor, bias: Tensor | None) -> Tensor:
    """Return x roundedᵀ + bias in bf16, of x and weights in bf16 and a bias in fp32, without a gradient."""
    if x.device.type == "cpu" and _product is not None and x.numel():
        product: Tensor = _product(x.contiguous(), rounded, bias, "none", [], "")
        return product
    return F.linear(x, rounded, None if bias is None else bias.to(NARROW))


def multiplies(x: Tensor, weight: Tensor) -> bool:
    """Return whether `multiply` serves."""
    return (
        _product is not None
        and x.device.type == "cpu"
        and x.dtype == weight.dtype == torch.float32
        and x.is_contiguous()
        and not torch.is_autocast_enabled("cpu")
    )


def multiply(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return x weightᵀ + bias by oneDNN."""
    assert _product is not None
    product: Tensor = _product(x, weight, bias, "none", [], "")
    return product
