"""The precision of products while a model learns: fp32, or bf16 with fp32 sums.

with products("bf16"):   layers round what they multiply; each weight is rounded once inside the block
    narrowed(x)          x as a product takes it: bf16 inside the block, otherwise as it is

Only products are narrow. Weights, optimizer, residual stream, norms, softmax, sums over a vocabulary and losses stay in
fp32. A layer answers in the numbers it was given: fp32 for fp32, so that no model need know of all this; bf16 for bf16,
which parts that follow each other at once hand on (nn/attention.py, nn/feedforward.py).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

import torch
from torch import Tensor

Precision = Literal["fp32", "bf16"]
NARROW = torch.bfloat16

# Weights rounded in this block, each beside the weight itself, so that its id stays its own; None outside.
_rounded: ContextVar[dict[int, tuple[Tensor, Tensor]] | None] = ContextVar("_rounded", default=None)


@contextmanager
def products(precision: Precision) -> Iterator[None]:
    """Let layers multiply in a precision inside the block, gradients included."""
    token = _rounded.set({} if precision == "bf16" else None)
    try:
        yield
    finally:
        _rounded.reset(token)


def narrow() -> bool:
    """Return whether products are made in bf16."""
    return _rounded.get() is not None


def narrowed(x: Tensor) -> Tensor:
    """Return x as products take it."""
    return x.to(NARROW) if narrow() and x.dtype == torch.float32 else x


def narrow_weight(weight: Tensor) -> Tensor:
    """Return a weight in bf16, without a gradient; rounded at its first use in the block."""
    known = _rounded.get()
    assert known is not None, "only inside products('bf16')"
    if id(weight) not in known:
        known[id(weight)] = weight, weight.detach().to(NARROW)
    return known[id(weight)][1]
