"""Windows of series as batches: a new order each epoch, turned by a random angle where they are paths.

windows → a shuffled order, never written down → numbers of a batch → SeriesBatch

A batch is a pure function of seed, epoch and place. An epoch's order is a permutation that is computed number by number, so
that a table of millions of steps needs no memory for it.
"""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import NDArray

from jumok.data.series.windows import WindowArrays, Windows
from jumok.data.stream import Indices, Place
from jumok.nn.batch import SeriesBatch
from jumok.tasks.prepared import PendingBatch, PreparedStream

# B windows · L look-back · H horizon · C columns · V targets

ROUNDS = 4  # of the mixing
PARTS = ("past", "observed", "known", "static", "future", "future_observed")

PendingWindows = PendingBatch[SeriesBatch]


class Shuffled(Sequence[Indices]):
    """The batches of an epoch: a permutation of all windows, cut into batches, the last one whole or left for later.

    Numbers are mixed by a Feistel network over the next power of four; one that falls outside is mixed again.
    """

    def __init__(self, windows: int, size: int, key: Sequence[int]) -> None:
        self.windows, self.size = windows, size
        self.half = max((windows - 1).bit_length() + 1, 2) // 2  # bits of each half
        self.keys = np.random.default_rng(list(key)).integers(1, 1 << 62, size=ROUNDS, dtype=np.uint64)

    def __len__(self) -> int:
        return self.windows // self.size

    @overload
    def __getitem__(self, index: int) -> Indices: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Indices]: ...

    def __getitem__(self, index: int | slice) -> Indices | Sequence[Indices]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        numbers = self._mixed(np.arange(index * self.size, (index + 1) * self.size, dtype=np.uint64))
        outside = numbers >= self.windows
        while outside.any():
            numbers[outside] = self._mixed(numbers[outside])
            outside = numbers >= self.windows
        return numbers.astype(np.int64)

    def _mixed(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        mask = np.uint64((1 << self.half) - 1)
        left, right = numbers >> np.uint64(self.half), numbers & mask
        for key in self.keys:
            mixed = (right + key) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
            mixed *= np.uint64(0xBF58476D1CE4E5B9)
            left, right = right, left ^ ((mixed >> np.uint64(31)) & mask)
        return (left << np.uint64(self.half)) | right


class WindowBatches(PreparedStream[SeriesBatch]):
    """The stream of training windows."""

    def __init__(self, windows: Windows, *, batch_size: int, seed: int) -> None:
        super().__init__(loaders=0)  # a window is read in microseconds
        self.windows, self.seed = windows, seed
        self.batch_size = min(batch_size, max(len(windows), 1))

    def plan(self, epoch: int) -> Sequence[Indices]:
        """Return which windows make each batch of an epoch."""
        return Shuffled(len(self.windows), self.batch_size, [self.seed, epoch])

    def describe(self, place: Place) -> str:
        """Return the size of the batch at a place and where its windows stand, for a message."""
        indices = self.indices(place)
        return f"{len(indices)} windows, numbers {', '.join(map(str, indices[:5].tolist()))}, … of the training data"

    def make(self, place: Place, number: int = 0, parts: int = 1) -> list[NDArray[Any]]:
        """Return the arrays of a SeriesBatch of a part."""
        numbers = self.indices(place)[number::parts].astype(np.int64)
        found = self.windows.arrays(numbers)
        if self.windows.data.rotate:
            draws = np.random.default_rng([self.seed, *place, number]).random((2, len(numbers)))
            turn(found, np.where(draws[0] < self.windows.data.rotate, 2 * np.pi * draws[1], 0.0))
        return [getattr(found, name) for name in PARTS]

    def collect(self, arrays: Sequence[NDArray[Any]]) -> SeriesBatch:
        """Return the batch of arrays."""
        return SeriesBatch(*(torch.from_numpy(np.ascontiguousarray(array)) for array in arrays))


def batch_of(arrays: WindowArrays) -> SeriesBatch:
    """Return windows as a batch."""
    return SeriesBatch(*(torch.from_numpy(np.ascontiguousarray(getattr(arrays, name))) for name in PARTS))


def turn(arrays: WindowArrays, angles: NDArray[np.float64]) -> None:
    """Turn the steps of paths, x and y, by an angle each (B,)."""
    cosine, sine = np.cos(angles)[:, None], np.sin(angles)[:, None]
    for values in (arrays.past, arrays.future):
        x, y = values[..., 0].copy(), values[..., 1].copy()
        values[..., 0], values[..., 1] = cosine * x - sine * y, sine * x + cosine * y
