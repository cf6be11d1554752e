"""Batches prepared ahead in processes of their own, so that they are ready before a step asks for them.

make(place) → arrays → shared memory → the process that trains, in the order of places

Processes are forked: what they work on need not be sent.
"""

import mmap
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from jumok.errors import TrainingError
from jumok.processes import Worker, end

AHEAD = 2  # batches that each process may be ahead
ALIGNMENT = 64  # bytes: a line of the cache

Arrays = list[np.ndarray[Any, Any]]
Shapes = list[tuple[str, tuple[int, ...]]]  # the type and the shape of each array
PlaceT = TypeVar("PlaceT")  # what a batch is made of


class Loader:
    """Processes that make batches ahead: the n-th makes every n-th batch."""

    def __init__(
        self,
        make: Callable[[PlaceT], Arrays],
        places: Callable[[], Iterator[PlaceT]],
        *,
        processes: int,
        largest: int,
    ) -> None:
        """Start making the batches of places, in their order; largest is how many bytes a batch may have."""
        self.owner, self.turn = os.getpid(), 0
        self.memories = [[mmap.mmap(-1, largest) for _ in range(AHEAD)] for _ in range(processes)]
        self.workers: list[Worker[int, tuple[int, Shapes]]] = []
        self._close = weakref.finalize(self, end, self.workers, patience=0)  # what they have made is not needed
        for number, memories in enumerate(self.memories):

            def begin(
                number: int = number, memories: list[mmap.mmap] = memories
            ) -> Callable[[int], tuple[int, Shapes]]:
                own = (place for turn, place in enumerate(places()) if turn % processes == number)
                return lambda slot: (slot, _put(make(next(own)), memories[slot]))

            self.workers.append(Worker(begin, died=_died))
        for slot in range(AHEAD):
            for worker in self.workers:
                worker.send(slot)

    def get(self) -> Arrays:
        """Return the next batch's arrays; they are the caller's own."""
        worker, memories = self.workers[self.turn], self.memories[self.turn]
        slot, shapes = worker.receive()
        arrays, place = [], 0
        for kind, shape in shapes:
            count = int(np.prod(shape))
            arrays.append(np.frombuffer(memories[slot], kind, count, place).reshape(shape).copy())
            place += _aligned(count * np.dtype(kind).itemsize)
        worker.send(slot)
        self.turn = (self.turn + 1) % len(self.workers)
        return arrays

    def close(self) -> None:
        """Let the processes end."""
        self._close()


def room_for(arrays: Sequence[np.ndarray[Any, Any]]) -> int:
    """Return how many bytes arrays take in shared memory."""
    return max(sum(_aligned(array.nbytes) for array in arrays), ALIGNMENT)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _put(arrays: Arrays, memory: mmap.mmap) -> Shapes:
    """Write arrays into shared memory, and return what they are read by."""
    place = 0
    for array in arrays:
        np.frombuffer(memory, array.dtype, array.size, place).reshape(array.shape)[...] = array
        place += _aligned(array.nbytes)
    return [(array.dtype.str, array.shape) for array in arrays]


def _died() -> TrainingError:
    return TrainingError(
        "a process that prepares images died, perhaps for want of memory; go on with --resume, and with "
        "--set data.loaders=0 if it happens again"
    )
