"""The precision of products: fp32, or bf16 with fp32 sums.

with products("bf16"):          layers round what they multiply; each weight is rounded once inside the block
    narrowed(x)                 x as a product takes it: bf16 inside the block, otherwise as it is
with answering("bf16", kept):   the same for a model that does not learn: what was made of its weights is kept for the next time

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

Rounded = dict[int, tuple[Tensor, tuple[int, int], Tensor]]  # by a weight's id: the weight, its stamp, it in bf16

# Weights rounded in this block, each beside the weight itself, so that its id stays its own; None outside.
_rounded: ContextVar[Rounded | None] = ContextVar("_rounded", default=None)
_resting: ContextVar[bool] = ContextVar("_resting", default=False)


@contextmanager
def products(precision: Precision) -> Iterator[None]:
    """Let layers multiply in a precision inside the block, gradients included."""
    token = _rounded.set({} if precision == "bf16" else None)
    try:
        yield
    finally:
        _rounded.reset(token)


@contextmanager
def answering(precision: Precision, kept: Rounded) -> Iterator[None]:
    """Let a model answer in a precision inside the block, where nobody trains it: rounded weights are kept from block to block."""
    token, rests = _rounded.set(kept if precision == "bf16" else None), _resting.set(True)
    try:
        yield
    finally:
        _rounded.reset(token)
        _resting.reset(rests)


def weights_rest() -> bool:
    """Return whether weights change, if at all, by operations of torch that count: what was made of them may be kept.

    Those of training do not: fused optimizers and other processes write to weights, and torch does not count it.
    """
    return _resting.get()


def stamp(weight: Tensor) -> tuple[int, int]:
    """Return where a weight lies and how often torch has written to it."""
    return weight.data_ptr(), 0 if weight.is_inference() else weight._version


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
    found = known.get(id(weight))
    if found is None or (weights_rest() and found[1] != stamp(weight)):
        found = known[id(weight)] = weight, stamp(weight), weight.detach().to(NARROW)
    return found[2]
