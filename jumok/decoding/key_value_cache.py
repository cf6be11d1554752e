"""The key-value cache of hypotheses: keys and values of all tokens so far, in row buffers.

key, value (R, H, n, d) of new tokens → append, layer by layer → all keys and values (R, H, L, d) → advance
"""

import torch
from torch import Tensor

from jumok.decoding.row_buffers import RowBuffers, blank

# R hypotheses · H heads · C capacity · L tokens so far · n new tokens · d head width


class KeyValueCache:
    """Keys and values of all tokens so far, each layer's in row buffers.

    Hypotheses may have different lengths: their tokens stand at the left, and a mask hides what is behind them.
    """

    def __init__(self, rows: int, layers: int, *, room: int = 0) -> None:
        """Take how many tokens there should be room for at once; more are found room for when they come."""
        self.layers, self.room = layers, room
        self.buffers = RowBuffers([], rows)  # each layer's keys, then its values: (R, H, C, d)
        self.lengths = torch.zeros(rows, dtype=torch.int64)
        self.longest = 0
        self.even = True  # all hypotheses have the same length: no mask is needed

    @property
    def rows(self) -> int:
        """How many hypotheses there are."""
        return len(self.lengths)

    def append(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor | None, bool]:
        """Write key (R, H, n, d) and value behind the cached; return all of both, the mask and whether causal."""
        new, total = key.shape[2], self.longest + key.shape[2]
        if new == total:  # nothing cached yet
            self.buffers.tensors += [self._first(key), self._first(value)]
            return key, value, None, new > 1
        keys, values = self._write(2 * layer, key, total), self._write(2 * layer + 1, value, total)
        mask = None
        if not self.even or new > 1:
            last = self.lengths[:, None] + torch.arange(new)  # (R, n): the position of each query
            mask = (torch.arange(total) <= last[..., None])[:, None].to(key.device)  # (R, 1, n, L)
        return keys, values, mask, False

    def _first(self, fresh: Tensor) -> Tensor:
        """Return a buffer that begins with fresh (R, H, n, d)."""
        rows, heads, new, width = fresh.shape
        if self.room <= new:
            return fresh
        buffer = blank((rows, heads, self.room, width), like=fresh)
        buffer[:, :, :new] = fresh
        return buffer

    def laid_out(self, longest: int) -> list[Tensor]:
        """Return each layer's keys and values (≥ R, H, C, d), contiguous, with room for so many tokens: for C."""
        buffers = self.buffers
        for number in range(len(buffers.tensors)):
            buffers.tensors[number] = buffers.make_room(number, longest).contiguous()
        return buffers.tensors

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
        """Count new tokens of each hypothesis, once all layers have appended them."""
        self.lengths = self.lengths + new
        self.longest += new

    def select(self, rows: Tensor) -> "KeyValueCache":
        """Return the cache of hypotheses rows (R',): reordered, repeated or left out."""
        self.buffers.select(rows, self.longest)
        self.lengths = self.lengths[rows]
        self.longest = int(self.lengths.max()) if len(rows) else 0
        self.even = self.even or bool((self.lengths == self.longest).all())
        return self

    def moved(self, lengths: Tensor) -> "KeyValueCache":
        """Return the cache of the first hypotheses, of these lengths (R',), after C has moved and continued them."""
        self.buffers.rows, self.lengths = len(lengths), lengths.clone()
        self.longest = int(lengths.max()) if len(lengths) else 0
        self.even = bool((lengths == self.longest).all())
        return self

    def join(self, other: "KeyValueCache") -> "KeyValueCache":
        """Return both caches' hypotheses, ours first."""
        for cache, like in ((self, other), (other, self)):  # hypotheses that have nothing to remember yet
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
