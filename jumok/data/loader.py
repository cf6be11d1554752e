"""Batches prepared ahead in processes of their own, so that they are ready before a step asks for them.

make(place) → arrays → shared memory → the process that trains, in the order of places

Processes are forked: what they work on need not be sent. They end when the process that started them does.
"""

import mmap
import os
import signal
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import numpy as np

from jumok.errors import TrainingError

AHEAD = 2  # batches that each process may be ahead
ALIGNMENT = 64  # bytes: a line of the cache

Arrays = list[np.ndarray[Any, Any]]
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
        self.connections: list[Connection] = []
        self.memories: list[list[mmap.mmap]] = []
        pids: list[int] = []
        for number in range(processes):
            ours, theirs = Pipe()
            memories = [mmap.mmap(-1, largest) for _ in range(AHEAD)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads; the child starts none
                pid = os.fork()
            if pid == 0:
                for other in (*self.connections, ours):
                    other.close()  # else nobody would see the end when the owner dies
                _work(make, places(), theirs, memories, number=number, processes=processes)
            theirs.close()
            self.connections.append(ours)
            self.memories.append(memories)
            pids.append(pid)
            for slot in range(AHEAD):
                ours.send(slot)
        self._close = weakref.finalize(self, _end, self.owner, self.connections, pids)

    def get(self) -> Arrays:
        """Return the next batch's arrays; they are the caller's own."""
        connection, memories = self.connections[self.turn], self.memories[self.turn]
        try:
            answer = connection.recv()
        except (EOFError, OSError):
            raise TrainingError(
                "a process that prepares images died, perhaps for want of memory; go on with --resume, with "
                "data.loaders = 0 or a smaller training.batch_size"
            ) from None
        if isinstance(answer, BaseException):
            raise answer
        slot, shapes = answer
        arrays, place = [], 0
        for kind, shape in shapes:
            count = int(np.prod(shape))
            arrays.append(np.frombuffer(memories[slot], kind, count, place).reshape(shape).copy())
            place += _aligned(count * np.dtype(kind).itemsize)
        connection.send(slot)
        self.turn = (self.turn + 1) % len(self.connections)
        return arrays

    def close(self) -> None:
        """Let the processes end."""
        self._close()


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def room_for(arrays: Sequence[np.ndarray[Any, Any]]) -> int:
    """Return how many bytes arrays take in shared memory."""
    return max(sum(_aligned(array.nbytes) for array in arrays), ALIGNMENT)


def _work(
    make: Callable[[PlaceT], Arrays],
    places: Iterator[PlaceT],
    connection: Connection,
    memories: list[mmap.mmap],
    *,
    number: int,
    processes: int,
) -> None:
    """Make every n-th batch whenever a slot is free, until nobody is there to take one; never returns."""
    try:
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, signal.SIG_IGN)  # the owner decides when to stop
        mine = (place for turn, place in enumerate(places) if turn % processes == number)
        with suppress(EOFError, OSError):
            while True:
                slot = connection.recv()
                try:
                    arrays = make(next(mine))
                    shapes, at = [], 0
                    for array in arrays:
                        target = np.frombuffer(memories[slot], array.dtype, array.size, at).reshape(array.shape)
                        target[...] = array
                        shapes.append((array.dtype.str, array.shape))
                        at += _aligned(array.nbytes)
                    connection.send((slot, shapes))
                except Exception as error:
                    error.add_note(traceback.format_exc())
                    connection.send(error)
    finally:
        os._exit(0)


def _end(owner: int, connections: list[Connection], pids: list[int]) -> None:
    if os.getpid() != owner:  # a forked copy: these are not its processes
        return
    for connection in connections:
        connection.close()
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)
