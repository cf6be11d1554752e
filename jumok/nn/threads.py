"""How many threads torch has inside a block; outside, the caller's number is as it was.

with one_thread():              what is looked at: one sentence, one image
with one_thread_for(rows, m):   what is answered, where it is so small that threads would wait for each other

Two threads inside one operation meet at its end. Where another process keeps a core busy, each meeting may wait for a
turn of that core, and the thousand small operations of a sentence take up to a hundred times as long.

torch has one number for the whole process: while a block lasts, other Python threads compute with it, too, and one that
first uses torch just then keeps it. A server that answers from several threads calls torch.set_num_threads(1) once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

import torch
from torch import nn

FEW_ROWS = 16  # hypotheses, or texts, at once …
SMALL = 16_000_000  # … and parameters: a product of so few and so small is over before threads meet


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Give torch so many threads inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def one_thread() -> Iterator[None]:
    """Give torch one thread inside the block; also a decorator: @one_thread()."""
    with threads(1):
        yield


@contextmanager
def one_thread_for(rows: int, model: nn.Module) -> Iterator[None]:
    """Give torch one thread inside the block where it computes a few rows of a small model."""
    small = rows <= FEW_ROWS and _parameters(model) <= SMALL
    with threads(1 if small else torch.get_num_threads()):
        yield


def _parameters(model: nn.Module) -> int:
    """Return how many parameters a model has; counted once, since a sentence may take less time than counting."""
    if model not in _counts:
        _counts[model] = sum(parameter.numel() for parameter in model.parameters())
    return _counts[model]


_counts: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()
