"""The explicit way into kernels that know one thread: worker processes open it, everybody else leaves it closed.

with fast_path():   the layers of nn/ train by C and oneDNN where a kernel serves; outside, by torch alone

A kernel of one thread would be slower than torch's own where a process has several: so nobody enters by accident.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

_open: ContextVar[bool] = ContextVar("fast_path", default=False)


def on_fast_path() -> bool:
    """Return whether the caller is inside fast_path() and not being compiled."""
    return not torch.compiler.is_compiling() and _open.get()


@contextmanager
def fast_path(*, when: bool = True) -> Iterator[None]:
    """Let kernels of one thread serve inside the block; when=False closes it again for a part."""
    token = _open.set(when)
    try:
        yield
    finally:
        _open.reset(token)
