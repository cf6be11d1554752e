"""The position-wise feed-forward layer: the same two linear maps at every position, with a non-linearity between.

Attention is linear in its values; this is where a Transformer layer is non-linear.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from jumok.native import kernels as native
from jumok.native import narrow
from jumok.native.fast_path import on_fast_path
from jumok.nn.dropout import Dropout
from jumok.nn.linear import Linear
from jumok.nn.precision import narrowed

Activation = Literal["relu", "gelu", "gelu-tanh", "silu"]
ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "gelu": lambda: Gelu(),
    "gelu-tanh": partial(nn.GELU, approximate="tanh"),  # GPT-2's
    "silu": nn.SiLU,
}
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


class Gelu(nn.GELU):
    """x Φ(x) (Hendrycks and Gimpel 2016), in C while we learn on one thread."""

    def forward(self, input: Tensor) -> Tensor:
        """Return gelu of the input, of the same shape."""
        learning = on_fast_path() and torch.is_grad_enabled()
        served = input.is_contiguous() and (native.serves(input) or narrow.serves(input))
        if learning and input.numel() and served:
            activated: Tensor = _Gelu.apply(input)  # type: ignore[no-untyped-call]
            return activated
        return super().forward(input)


class _Gelu(torch.autograd.Function):
    """gelu and its gradient, one pass each."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return native.gelu(x) if x.dtype == torch.float32 else narrow.gelu(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        back = native.gelu_backward if x.dtype == torch.float32 else narrow.gelu_back
        return back(x, gradient.contiguous())


class FeedForward(nn.Module):
    """Expand each position to hidden features, apply the activation, and come back (Vaswani et al. 2017, section 3.3)."""

    def __init__(self, width: int, hidden: int, *, activation: Activation = "relu", dropout: float = 0.0) -> None:
        super().__init__()
        self.kind = activation
        self.expand = Linear(width, hidden)
        self.activation = ACTIVATIONS[activation]()
        self.dropout = Dropout(dropout)
        self.contract = Linear(hidden, width)
        for linear in (self.expand, self.contract):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, T, D) of x (B, T, D)."""
        hidden = self.expand(narrowed(x))
        if self.training and self.kind == "relu":
            hidden = self.dropout.of_relu(hidden)
        else:
            hidden = self.dropout(self.activation(hidden)) if self.training else self.activation(hidden)
        output: Tensor = self.contract(hidden)
        return output.to(x.dtype)
