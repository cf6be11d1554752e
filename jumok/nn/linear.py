"""A linear layer that is a little faster while a small model learns on one thread.

x (…, I) → x Wᵀ + b (…, O)

torch hands the products of a layer to MKL, and writes the bias first. oneDNN, which torch brings along as well, adds the bias on
the way, and on AMD's processors is up to twice as fast: it uses AVX-512 there, and MKL does not (docs/log.md).
"""

from typing import Any

import torch
from torch import Tensor, nn

from jumok.native.fast_path import on_fast_path

_product = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if torch.backends.mkldnn.is_available() else None  # type: ignore[no-untyped-call]


class Linear(nn.Linear):
    """x Wᵀ + b."""

    def forward(self, input: Tensor) -> Tensor:
        """Return (…, O) of input (…, I)."""
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
        to_weight = multiply(rows.t().contiguous(), x.flatten(0, -2).t(), None) if ctx.needs_input_grad[1] else None
        return to_x, to_weight, rows.sum(dim=0) if ctx.needs_input_grad[2] else None


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
