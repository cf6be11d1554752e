"""Which examples are held out or drawn: by lot, a number that depends on an example's text alone.

text → lot → the smallest lots are held out. Equal texts have equal lots, so they always fall on the same side, in
whatever order, file or run they stand.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Self, TypeVar

import numpy as np

from jumok.errors import ConfigError, DataError

SHARE = 20  # where a recipe does not say how many are held out, one in so many is
LOTS = 1 << 64

ItemT = TypeVar("ItemT")


def lot(text: str) -> int:
    """Return a number below LOTS that looks random and depends on the text alone."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


class HoldOut:
    """The texts whose lots are the smallest."""

    def __init__(self, largest: int) -> None:
        """Hold out every text whose lot is at most largest."""
        self.largest = largest

    @classmethod
    def count(cls, texts: Iterable[str], wanted: int, *, most: int, unit: str, least: int = 0) -> Self:
        """Hold out the wanted number of texts, and all that are equal to one of them.

        0 means one in SHARE, but not above most. Fewer than least texts (called unit in messages) are refused.
        """
        lots = np.fromiter(map(lot, texts), dtype=np.uint64)
        if len(lots) < least:
            raise DataError(f"{len(lots)} {unit} are too few to hold some out for val; name val files in [data]")
        wanted = wanted or max(min(len(lots) // SHARE, most), 1)
        if wanted >= len(lots):
            raise ConfigError(f"data.hold_out = {wanted:,} leaves nothing of {len(lots):,} {unit} to train on")
        return cls(int(np.partition(lots, wanted - 1)[wanted - 1]))

    @classmethod
    def share(cls, share: float) -> Self:
        """Hold out about this share of all texts there can be."""
        return cls(int(share * LOTS) - 1)

    def __contains__(self, text: str) -> bool:
        return lot(text) <= self.largest

    def part(self, items: Iterable[ItemT], text_of: Callable[[ItemT], str], *, held_out: bool) -> Iterator[ItemT]:
        """Yield the items that are held out, or the others, in their order."""
        return (item for item in items if (text_of(item) in self) == held_out)


def draw(items: Sequence[ItemT], limit: int, text_of: Callable[[ItemT], str], *, unit: str) -> list[ItemT]:
    """Return the limit items with the smallest lots, smallest first: a larger limit adds to a smaller one."""
    if len(items) < limit:
        raise ConfigError(f"data.limit = {limit:,}, but there are only {len(items):,} training {unit}")
    return sorted(items, key=lambda item: lot(text_of(item)))[:limit]
