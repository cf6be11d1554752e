"""How a layer finds out that somebody looks at it: a context variable that holds the recorders of this thread.

with recording(recorder):   model(batch) → every attention layer → recorder_for(layer) → recorder.file(…)

Blocks know this protocol only; what is kept of a call, and what is left out of it, is jumok.inspection's affair.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import torch
from torch import Tensor, nn

# B batch · H heads · Q queries · K keys · d head width · v value width · D width


class Recorder(Protocol):
    """What an attention layer tells while it is observed, and what it asks."""

    @property
    def keeps_details(self) -> bool:
        """Whether queries, keys and values are wanted beside the weights."""

    @property
    def without_positions(self) -> bool:
        """Whether positions are to be left out."""

    def watches(self, module: nn.Module) -> bool:
        """Return whether the calls of a module are recorded."""

    def ablated(self, module: nn.Module, kind: str, weights: Tensor) -> Tensor:
        """Return weights (B, H, Q, K) without what is to be left out."""

    def note(
        self,
        *,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        output: Tensor,
        scale: float = 1.0,
        mask: Tensor | None = None,
        vector: Tensor | None = None,
        group: int = 1,
    ) -> None:
        """Keep what the weights that are filed next were computed from: query (B, H, Q, d), key (B, H, K, d), value
        (B, H, K, v) and output (B, Q, D). mask fits (B, H, Q, K); group rows stand side by side in Q; vector (d,) is
        that of an additive score.
        """

    def file(self, module: nn.Module, kind: str, weights: Tensor, *, grid: tuple[int, int] | None = None) -> None:
        """Keep weights (B, H, Q, K); grid says how the keys lie in an image."""

    def file_positions(self, module: nn.Module, kind: str, join: str, encoding: Tensor) -> None:
        """Keep the encoding (T, P) of the positions from 0 on, or of the cells of a grid."""


_recorders: ContextVar[tuple[Recorder, ...]] = ContextVar("recorders", default=())  # the innermost last


def recorder_for(module: nn.Module) -> Recorder | None:
    """Return the innermost recorder that watches a module, or None where nobody does."""
    if torch.compiler.is_compiling():  # compiled layers are passed by where somebody looks: see training/compiling.py
        return None
    return next((recorder for recorder in reversed(_recorders.get()) if recorder.watches(module)), None)


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Let a recorder be found inside the block."""
    token = _recorders.set((*_recorders.get(), recorder))
    try:
        yield
    finally:
        _recorders.reset(token)
