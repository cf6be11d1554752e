"""Batches of images that are prepared late, by processes that work ahead.

plan → take: where a batch stands → part: every n-th example of it → to(device): its arrays, from the loader → batch

What `take` hands out knows only where it stands, so that a process that computes a part of a batch prepares that part alone.
"""

import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import torch
from numpy.typing import NDArray

from jumok.data.loader import Loader, room_for
from jumok.data.stream import Place, Stream
from jumok.nn.batch import Batch

Arrays = list[NDArray[Any]]
PreparedT = TypeVar("PreparedT", bound=Batch)


@dataclass(frozen=True)
class PendingBatch(Generic[PreparedT]):
    """A batch, or every parts-th example of it from number on, that is prepared when it is needed."""

    stream: "PreparedStream[PreparedT]"
    place: Place
    number: int = 0
    parts: int = 1

    def __len__(self) -> int:
        return len(range(self.number, len(self.stream.indices(self.place)), self.parts))

    def part(self, number: int, parts: int) -> "PendingBatch[PreparedT]":
        """Return every parts-th example, from number on."""
        assert self.parts == 1, "a part of a part is never asked for"
        return replace(self, number=number, parts=parts)

    def to(self, device: torch.device) -> PreparedT:
        """Return the batch on device."""
        return self.stream.collect(self.stream.prepare(self)).to(device)


class PreparedStream(Stream[PendingBatch[PreparedT]]):
    """A stream whose batches are made by processes that work ahead."""

    def __init__(self, *, loaders: int) -> None:
        """Take the number of processes; 0: batches are made when they are asked for."""
        super().__init__()
        self.loaders = loaders
        self._loader: Loader | None = None
        self._coming: tuple[int, int, Place] | None = None  # part, parts and place that the loader hands out next

    @abstractmethod
    def make(self, place: Place, number: int = 0, parts: int = 1) -> Arrays:
        """Return the arrays of every parts-th example of the batch at a place, from number on."""

    @abstractmethod
    def collect(self, arrays: Sequence[NDArray[Any]]) -> PreparedT:
        """Return the batch that arrays are."""

    def room(self, number: int, parts: int) -> int:
        """Return how many bytes the arrays of a batch's part take at most; those of the first batch, where all are equal."""
        return room_for(self.make((0, 0), number, parts))

    def batch_at(self, place: Place) -> PendingBatch[PreparedT]:
        """Return the batch at a place."""
        return PendingBatch(self, place)

    def prepare(self, batch: PendingBatch[PreparedT]) -> Arrays:
        """Return the arrays of a batch, from the loader where there is one."""
        if not self.loaders:
            return self.make(batch.place, batch.number, batch.parts)
        wanted = (batch.number, batch.parts, batch.place)
        if self._loader is None or self._loader.owner != os.getpid() or self._coming != wanted:
            self.close()
            self._loader = Loader(
                lambda place: self.make(place, batch.number, batch.parts),
                lambda: self._places_from(batch.place),
                processes=self.loaders,
                largest=self.room(batch.number, batch.parts),
            )
        self._coming = (batch.number, batch.parts, self._after(batch.place))
        return self._loader.get()

    def _after(self, place: Place) -> Place:
        epoch, number = place
        return (epoch, number + 1) if number + 1 < self.batches_per_epoch else (epoch + 1, 0)

    def _places_from(self, place: Place) -> Iterator[Place]:
        while True:
            yield place
            place = self._after(place)

    def close(self) -> None:
        """Let the processes that prepare batches end."""
        if self._loader is not None:
            self._loader.close()
        self._loader = self._coming = None
