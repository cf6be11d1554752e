"""What a decoder remembers between two steps, passed in and handed back, never hidden on a module.

memory (of B sentences) → start → state (R hypotheses) → extend → state … ; select reorders, repeats or drops hypotheses

Hypotheses of one sentence stand side by side and share that sentence's memory.
"""

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from jumok.decoding.key_value_cache import KeyValueCache
from jumok.decoding.row_buffers import RowBuffers

if TYPE_CHECKING:
    from jumok.decoding.native_step import NativeStep

# B sentences · R hypotheses · H heads · S source · d head width


class SharedMemory:
    """What hypotheses know of their sentences: those of one sentence stand side by side and share its tensors."""

    def __init__(self, parts: list[Tensor], mask: Tensor, owner: Tensor, *, own: bool = False) -> None:
        self.buffers = RowBuffers(parts, len(mask))  # each (B, …, S, width)
        self.mask = mask  # (B, S)
        self.owner = owner  # (R,): the sentence of each hypothesis, ascending, equally many for each sentence
        self.own = own  # whether the tensors may be written to, or are somebody else's

    @property
    def parts(self) -> list[Tensor]:
        """What is known of the sentences, each (B, …, S, width)."""
        return [self.buffers.used(number, self.mask.shape[1]) for number in range(len(self.buffers.tensors))]

    def select(self, rows: Tensor) -> "SharedMemory":
        """Return the memory of hypotheses rows (R',); sentences nobody needs any more are dropped."""
        chosen = self.owner[rows]
        if torch.equal(chosen, self.owner):  # hypotheses changed places among their own: the usual step of a beam
            return self
        sentences, owner = torch.unique_consecutive(chosen, return_inverse=True)
        return self.keep(sentences, owner)

    def join(self, other: "SharedMemory") -> "SharedMemory":
        """Return both memories, ours first."""
        if not self.own:
            self._copy(torch.arange(len(self.mask)))
        width = max(self.mask.shape[1], other.mask.shape[1])
        self.buffers.join(other.buffers, other.mask.shape[1])
        for number in range(len(self.buffers.tensors)):
            self.buffers.make_room(number, width)
        owner = torch.cat([self.owner, other.owner + len(self.mask)])
        self.mask = torch.cat([F.pad(memory.mask, (0, width - memory.mask.shape[1])) for memory in (self, other)])
        return self.keep(torch.arange(len(self.mask)), owner)

    def keep(self, sentences: Tensor, owner: Tensor) -> "SharedMemory":
        """Return the memory of sentences (B',); owner (R',) says which of them a hypothesis belongs to.

        Where sentences do not have equally many hypotheses, each hypothesis gets a memory of its own.
        """
        group = len(owner) // max(len(sentences), 1)
        if not torch.equal(owner, torch.arange(len(sentences)).repeat_interleave(group)):
            sentences, owner = sentences[owner], torch.arange(len(owner))  # uneven
        self.owner = owner
        if torch.equal(sentences, torch.arange(len(self.mask))):
            return self
        if self.own:
            self.buffers.select(sentences, self.mask.shape[1])
        else:
            self._copy(sentences)
        mask = self.mask.index_select(0, sentences.to(self.mask.device))
        width = int(mask.sum(dim=1).max()) if len(mask) else 0  # the longest source left
        self.mask = mask[:, :width]
        return self

    def _copy(self, sentences: Tensor) -> None:
        """Take copies of sentences' tensors, which may be written to."""
        chosen = sentences.to(self.mask.device)
        self.buffers = RowBuffers([part.index_select(0, chosen) for part in self.buffers.tensors], len(sentences))
        self.own = True


class AttendingState:
    """The state of a Transformer decoder: its own keys and values, and each sentence's, projected once."""

    def __init__(
        self,
        cache: KeyValueCache,
        memory: SharedMemory,
        native: "NativeStep | None" = None,
        projection: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        self.cache = cache
        self.memory = memory  # each layer's keys, then its values: (B, H, S, d)
        self.native = native  # the decoder in C, where it serves
        self.projection = projection  # weight and bias of a shortlist's logits; None: of all tokens

    @property
    def rows(self) -> int:
        """How many hypotheses there are."""
        return len(self.memory.owner)

    @property
    def remembered(self) -> list[tuple[Tensor, Tensor]]:
        """Each layer's keys and values of the sources."""
        return list(zip(self.memory.parts[::2], self.memory.parts[1::2], strict=True))

    def select(self, rows: Tensor) -> "AttendingState":
        """Return the state of hypotheses rows (R',): reordered, repeated or left out."""
        if len(rows) == self.rows and torch.equal(rows, torch.arange(self.rows)):
            return self
        return AttendingState(self.cache.select(rows), self.memory.select(rows), self.native, self.projection)

    def moved(self, lengths: Tensor, sentences: Tensor) -> "AttendingState":
        """Return the state of sentences (N',) and their hypotheses of lengths (R',), after C has moved and continued them."""
        owner = torch.arange(len(sentences)).repeat_interleave(len(lengths) // max(len(sentences), 1))
        cache, memory = self.cache.moved(lengths), self.memory.keep(sentences, owner)
        return AttendingState(cache, memory, self.native, self.projection)

    def join(self, other: "AttendingState") -> "AttendingState":
        """Return both states' hypotheses, ours first; the decoder in C is other's, which has the weights of today."""
        cache, memory = self.cache.join(other.cache), self.memory.join(other.memory)
        return AttendingState(cache, memory, other.native, self.projection)


class RecurrentState:
    """The state of a recurrent decoder: a few vectors of each hypothesis, and each sentence's memory."""

    def __init__(self, vectors: list[Tensor], memory: SharedMemory) -> None:
        self.vectors = vectors  # each (R, width): hidden states, cells, what was attended to
        self.memory = memory

    @property
    def rows(self) -> int:
        """How many hypotheses there are."""
        return len(self.memory.owner)

    def select(self, rows: Tensor) -> "RecurrentState":
        """Return the state of hypotheses rows (R',): reordered, repeated or left out."""
        chosen = rows.to(self.memory.mask.device)
        return RecurrentState([vector.index_select(0, chosen) for vector in self.vectors], self.memory.select(rows))

    def join(self, other: "RecurrentState") -> "RecurrentState":
        """Return both states' hypotheses, ours first."""
        vectors = [torch.cat(both) for both in zip(self.vectors, other.vectors, strict=True)]
        return RecurrentState(vectors, self.memory.join(other.memory))
