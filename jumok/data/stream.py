"""placeholder: the data branch brings the real one."""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

BatchT_co = TypeVar("BatchT_co", covariant=True)


class Stream(ABC, Generic[BatchT_co]):
    """An endless stream of batches with a position."""

    @property
    @abstractmethod
    def position(self) -> tuple[int, int]:
        """Epoch and index."""

    @abstractmethod
    def seek(self, epoch: int, index: int) -> None:
        """Go."""

    @abstractmethod
    def take(self) -> BatchT_co:
        """Return the next batch."""

    @abstractmethod
    def describe(self, batch: object) -> str:
        """Return a line."""

    def close(self) -> None:
        """End."""
