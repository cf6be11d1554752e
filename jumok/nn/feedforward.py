"""The position-wise feed-forward layer: the same two linear maps at every position, with a non-linearity between.

Attention is linear in its values; this is where a Transformer layer bends.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from jumok.nn.dropout import Dropout

Activation = Literal["relu", "gelu", "gelu-tanh", "silu"]
ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "gelu-tanh": partial(nn.GELU, approximate="tanh"),  # GPT-2's
    "silu": nn.SiLU,
}
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


class FeedForward(nn.Module):
    """Expand each position to hidden features, bend, and come back (Vaswani et al. 2017, section 3.3)."""

    def __init__(self, width: int, hidden: int, *, activation: Activation = "relu", dropout: float = 0.0) -> None:
        super().__init__()
        self.kind = activation
        self.expand = nn.Linear(width, hidden)
        self.activation = ACTIVATIONS[activation]()
        self.dropout = Dropout(dropout)
        self.contract = nn.Linear(hidden, width)
        for linear in (self.expand, self.contract):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, T, D) of x (B, T, D)."""
        hidden = self.expand(x)
        if self.training and self.kind == "relu":
            hidden = self.dropout.of_relu(hidden)
        else:
            hidden = self.dropout(self.activation(hidden)) if self.training else self.activation(hidden)
        output: Tensor = self.contract(hidden)
        return output
