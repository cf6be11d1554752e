"""The endless stream of training batches: each a pure function of seed, epoch and place, so that a run can go on exactly.

epoch → plan: the examples of each of its batches → take: one batch after another, then the next epoch's
Kinds of data differ in how they plan an epoch and in how they make a batch of some examples.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from jumok.errors import DataError, RunError

BatchT_co = TypeVar("BatchT_co", covariant=True)
Place = tuple[int, int]  # an epoch, and the number of a batch in it
Indices = np.ndarray[Any, np.dtype[np.integer[Any]]]  # (B,): the examples of a batch


class Stream(ABC, Generic[BatchT_co]):
    """Batches, epoch after epoch, from any position on."""

    def __init__(self) -> None:
        self._epoch, self._index = 0, 0
        self.last: Place = 0, 0  # where the batch that was taken last stands
        self._planned: tuple[int, Sequence[Indices]] | None = None  # an epoch, and its plan

    @abstractmethod
    def plan(self, epoch: int) -> Sequence[Indices]:
        """Return the examples of each batch of an epoch, a pure function of seed and epoch."""

    @abstractmethod
    def batch_at(self, place: Place) -> BatchT_co:
        """Return the batch at a place, a pure function of seed and place."""

    @abstractmethod
    def describe(self, place: Place) -> str:
        """Return the size and the first example of the batch at a place, for a message."""

    @property
    def position(self) -> Place:
        """The epoch, and the number of its batches already taken."""
        return self._epoch, self._index

    def seek(self, epoch: int, index: int) -> None:
        """Go on as if index batches of epoch had been taken."""
        self._epoch, self._index = epoch, index

    def take(self) -> BatchT_co:
        """Return the next batch."""
        count = len(self.planned(self._epoch))
        if not 0 <= self._index <= count:
            raise RunError(
                f"the position to go on from is batch {self._index:,} of epoch {self._epoch}, which has {count:,}; "
                "the data or the size of a batch must have changed since. Use the data of the first run, or train from "
                "the beginning."
            )
        if self._index == count:
            self.seek(self._epoch + 1, 0)
        self.last = self.position
        self._index += 1
        return self.batch_at(self.last)

    @property
    def batches_per_epoch(self) -> int:
        """How many batches the first epoch has; another may have a few more or fewer."""
        return len(self.planned(0))

    def planned(self, epoch: int) -> Sequence[Indices]:
        """Return the plan of an epoch, made once while it lasts."""
        if self._planned is None or self._planned[0] != epoch:
            self._planned = None  # not two at a time: a plan of millions is large
            plan = self.plan(epoch)
            if not len(plan):
                raise DataError("there are no examples to make batches of; check the files of [data] train.")
            self._planned = epoch, plan
        return self._planned[1]

    def indices(self, place: Place) -> Indices:
        """Return the examples of the batch at a place."""
        epoch, index = place
        return self.planned(epoch)[index]

    def close(self) -> None:
        """Let go of what prepares batches ahead, if anything does."""


def cut(order: Indices, size: int) -> list[Indices]:
    """Cut examples in their order into batches of size; the last may be smaller."""
    return [order[first : first + size] for first in range(0, len(order), size)]
