"""Classifier-free guidance (Ho & Salimans 2022): what a text makes likelier is made likelier still.

inputs, then one without what guides, as one batch → encode → start → states with and without side by side (2 R)
    → extend → logits of both → with + (scale − 1) · (with − without) → logits (R, V)

A search sees a decoder of R hypotheses; each step reads both halves in one product.
"""

from dataclasses import dataclass
from typing import Generic

import torch
from torch import Tensor

from jumok.nn.model import BatchT, Decoder, Memory, StateT

# R hypotheses · n new tokens · V vocabulary


@dataclass
class GuidedState(Generic[StateT]):
    """The states of hypotheses with what guides them, then of the same without it."""

    both: StateT

    @property
    def rows(self) -> int:
        """How many hypotheses there are."""
        return self.both.rows // 2

    def select(self, rows: Tensor) -> "GuidedState[StateT]":
        """Return the state of hypotheses rows (R',): reordered, repeated or left out."""
        return GuidedState(self.both.select(torch.cat([rows, rows + self.rows])))

    def join(self, other: "GuidedState[StateT]") -> "GuidedState[StateT]":
        """Return the state with other's hypotheses after our own."""
        ours, theirs = self.rows, other.rows
        joined = self.both.join(other.both)  # with, without, other's with, other's without
        guided = torch.cat([torch.arange(ours), torch.arange(theirs) + 2 * ours])
        free = torch.cat([torch.arange(ours) + ours, torch.arange(theirs) + 2 * ours + theirs])
        return GuidedState(joined.select(torch.cat([guided, free])))


class Guided(Decoder[BatchT, GuidedState[StateT]]):
    """A decoder whose logits are pushed away from what it would write without what guides it."""

    def __init__(self, decoder: Decoder[BatchT, StateT], scale: float) -> None:
        """Take the strength of guidance: 1 leaves the decoder as it is, 0 ignores what guides it."""
        super().__init__()
        self.decoder, self.scale = decoder, scale
        self.eval()

    @property
    def limit(self) -> int:
        """The longest sequence that the decoder can take."""
        return self.decoder.limit

    def features(self, batch: BatchT) -> Tensor:
        """Refuse: what is guided writes, and is not trained."""
        raise AssertionError("a guided decoder is not trained")

    def encode(self, inputs: BatchT) -> Memory:
        """Read a batch of inputs, the last of which is what is left of any of them without what guides."""
        return self.decoder.encode(inputs)

    def start(self, memory: Memory) -> GuidedState[StateT]:
        """Return the state of one empty hypothesis for each input."""
        inputs = len(memory.mask) - 1
        without = torch.full((inputs,), inputs)  # read once, remembered by all
        return GuidedState(self.decoder.start(memory).select(torch.cat([torch.arange(inputs), without])))

    def extend(self, tokens: Tensor, state: GuidedState[StateT]) -> tuple[Tensor, GuidedState[StateT]]:
        """Write tokens (R, n) to the hypotheses; return the guided logits of the next (R, n, V) and the new state."""
        logits, both = self.decoder.extend(tokens.repeat(2, 1), state.both)
        given, without = logits.chunk(2)
        return given + (self.scale - 1.0) * (given - without), GuidedState(both)
