"""How many threads torch has inside a block; outside, the caller's number is as it was.

with one_thread():   what is small: one sentence looked at, a few hypotheses of a small model

Two threads inside one operation meet at its end. Where another process keeps a core busy, each meeting waits for a turn
of that core, and a sentence's thousand small operations take a hundred times as long (docs/training.md).

torch keeps one number for the whole process: while the block lasts, other Python threads compute with it, too, and one
that begins to use torch just then keeps it. A server that calls from several threads sets torch.set_num_threads(1) once.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Give torch so many threads inside the block."""
    before = torch.get_num_threads()
    if before == count:  # setting it takes longer than a small operation
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def one_thread() -> Iterator[None]:
    """Give torch one thread inside the block."""
    with threads(1):
        yield
