"""What a decoder remembers between two steps, passed in and handed back, never hidden on a module.

memory (of B sentences) → start → state (R rows) → extend → state … ; select reorders, repeats or drops rows

A row is a hypothesis; hypotheses of one sentence stand side by side and share that sentence's memory.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from jumok.decoding.row_buffers import RowBuffers

# B sentences · R rows · H heads · S source · C capacity · L tokens so far · n new tokens · D width


class KeyValueCache:
    """Keys and values of all tokens written so far, each layer's in place.

    Rows may have different lengths: a row's tokens stand at the left, and a mask hides what is behind them.
    """

    def __init__(self, rows: int, layers: int) -> None:
        self.layers = layers
        self.buffers = RowBuffers([], rows)  # each layer's keys, then its values: (R, H, C, d)
        self.lengths = torch.zeros(rows, dtype=torch.int64)
        self.longest = 0
        self.even = True  # all rows have the same length: no mask is needed

    @property
    def rows(self) -> int:
        """How many hypotheses there are."""
        return len(self.lengths)

    def append(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor | None, bool]:
        """Write key (R, H, n, d) and value behind the cached; return all of both, the mask and whether causal."""
        new, total = key.shape[2], self.longest + key.shape[2]
        if new == total:  # nothing cached yet
            self.buffers.tensors += [key, value]
            return key, value, None, new > 1
        keys, values = self._write(2 * layer, key, total), self._write(2 * layer + 1, value, total)
        mask = None
        if not self.even or new > 1:
            last = self.lengths[:, None] + torch.arange(new)  # (R, n): the place of each query
            mask = (torch.arange(total) <= last[..., None])[:, None].to(key.device)  # (R, 1, n, L)
        return keys, values, mask, False

    def _write(self, number: int, fresh: Tensor, total: int) -> Tensor:
        cached = self.buffers.make_room(number, total)
        if self.even:
            cached[: len(fresh), :, self.longest : total] = fresh
        else:
            rows = torch.arange(len(fresh))[:, None]
            places = self.lengths[:, None] + torch.arange(fresh.shape[2])  # (R, n)
            cached[rows, :, places] = fresh.transpose(1, 2)
        return self.buffers.used(number, total)

    def advance(self, new: int) -> None:
        """Count new tokens a row, once all layers have appended them."""
        self.lengths = self.lengths + new
        self.longest += new

    def select(self, rows: Tensor) -> "KeyValueCache":
        """Return the cache of rows."""
        self.buffers.select(rows, self.longest)
        self.lengths = self.lengths[rows]
        self.longest = int(self.lengths.max()) if len(rows) else 0
        self.even = self.even or bool((self.lengths == self.longest).all())
        return self

    def moved(self, lengths: Tensor) -> "KeyValueCache":
        """Return the cache of the first rows, of these lengths (R',): they stand where they should already."""
        self.buffers.rows, self.lengths = len(lengths), lengths
        self.longest = int(lengths.max()) if len(lengths) else 0
        self.even = bool((lengths == self.longest).all())
        return self

    def join(self, other: "KeyValueCache") -> "KeyValueCache":
        """Return both caches' rows, ours first."""
        for cache, like in ((self, other), (other, self)):  # a row that has nothing to remember yet
            if not cache.buffers.tensors:
                shapes = [(cache.rows, tensor.shape[1], 0, tensor.shape[3]) for tensor in like.buffers.tensors]
                cache.buffers.tensors = [
                    tensor.new_zeros(shape) for tensor, shape in zip(like.buffers.tensors, shapes, strict=True)
                ]
        self.buffers.join(other.buffers, other.longest)
        self.lengths = torch.cat([self.lengths, other.lengths])
        self.longest = max(self.longest, other.longest)
        self.even = bool((self.lengths == self.longest).all())
        return self


class SharedMemory:
    """What rows know of their sentences: rows of one sentence stand side by side and share its tensors."""

    def __init__(self, parts: list[Tensor], mask: Tensor, owner: Tensor, *, own: bool = False) -> None:
        self.buffers = RowBuffers(parts, len(mask))  # each (B, …, S, width)
        self.mask = mask  # (B, S)
        self.owner = owner  # (R,): the sentence of each row, ascending, equally many rows a sentence
        self.own = own  # whether the tensors may be written to, or are somebody else's

    @property
    def parts(self) -> list[Tensor]:
        """What is known of the sentences, each (B, …, S, width)."""
        return [self.buffers.used(number, self.mask.shape[1]) for number in range(len(self.buffers.tensors))]

    def select(self, rows: Tensor) -> "SharedMemory":
        """Return the memory of rows; sentences nobody needs any more are dropped."""
        chosen = self.owner[rows]
        if torch.equal(chosen, self.owner):  # hypotheses changed places among their own: the usual step of a beam
            return self
        sentences, owner = torch.unique_consecutive(chosen, return_inverse=True)
        return self.keep(sentences, owner)

    def join(self, other: "SharedMemory") -> "SharedMemory":
        """Return both memories, our rows first."""
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
        """Return the memory of these sentences, owner (R,) says which a row's is; equally many rows a sentence after it."""
        group = len(owner) // max(len(sentences), 1)
        if not torch.equal(owner, torch.arange(len(sentences)).repeat_interleave(group)):
            sentences, owner = sentences[owner], torch.arange(len(owner))  # uneven: a memory for each row
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
        step: Any = None,
        projection: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        self.cache = cache
        self.memory = memory  # each layer's keys, then its values: (B, H, S, d)
        self.step = step  # the decoder in C, where it serves: see native_step.py
        self.projection = projection  # weight and bias of a few tokens' logits; None: of all

    @property
    def rows(self) -> int:
        """How many hypotheses there are."""
        return len(self.memory.owner)

    @property
    def remembered(self) -> list[tuple[Tensor, Tensor]]:
        """Each layer's keys and values of the sources."""
        return list(zip(self.memory.parts[::2], self.memory.parts[1::2], strict=True))

    def select(self, rows: Tensor) -> "AttendingState":
        """Return the state of rows."""
        if len(rows) == self.rows and torch.equal(rows, torch.arange(self.rows)):
            return self
        return AttendingState(self.cache.select(rows), self.memory.select(rows), self.step, self.projection)

    def moved(self, lengths: Tensor, sentences: Tensor) -> "AttendingState":
        """Return the state of rows with lengths (R',), whose keys and values stand in order, and of sentences (N',)."""
        owner = torch.arange(len(sentences)).repeat_interleave(len(lengths) // max(len(sentences), 1))
        return AttendingState(self.cache.moved(lengths), self.memory.keep(sentences, owner), self.step, self.projection)

    def join(self, other: "AttendingState") -> "AttendingState":
        """Return both states' rows, ours first."""
        return AttendingState(self.cache.join(other.cache), self.memory.join(other.memory), self.step, self.projection)


class RecurrentState:
    """The state of a recurrent decoder: a few vectors a row, and each sentence's memory."""

    def __init__(self, vectors: list[Tensor], memory: SharedMemory) -> None:
        self.vectors = vectors  # each (R, width): hidden states, cells, what was attended to
        self.memory = memory

    @property
    def rows(self) -> int:
        """How many hypotheses there are."""
        return len(self.memory.owner)

    def select(self, rows: Tensor) -> "RecurrentState":
        """Return the state of rows."""
        chosen = rows.to(self.memory.mask.device)
        return RecurrentState([vector.index_select(0, chosen) for vector in self.vectors], self.memory.select(rows))

    def join(self, other: "RecurrentState") -> "RecurrentState":
        """Return both states' rows, ours first."""
        vectors = [torch.cat(both) for both in zip(self.vectors, other.vectors, strict=True)]
        return RecurrentState(vectors, self.memory.join(other.memory))
