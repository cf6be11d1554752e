"""Texts that stand in two places: equal but for case and punctuation, nearly equal, or one a part of the other.

texts → lower case, words only → shingles of six characters → hashes; some of each text's own (a bottom-k sketch) are looked
for among those of the training texts → the few pairs that share most of them are compared shingle by shingle

Of a large corpus texts are taken at equal distances, so that the search ends within seconds.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHINGLE = 6  # characters
FEWEST = 20  # different shingles of a text; a shorter one can only be equal
SKETCH = 16  # shingles of each text that are looked for …
COMMON, FEW = 0.005, 10  # … but for those that more than this share, and number, of texts have: they stand everywhere
SHARED = 0.6  # of them that a pair to be compared must share
NEAR, PART = 0.8, 0.95  # of all shingles of both texts, of those of the shorter
MOST_TEXTS, MOST_CHARACTERS = 300_000, 30_000_000  # of the training data that are compared
CHUNK = 10_000  # texts whose shingles are hashed at once
TABLE = 22  # bits of a hash that a first, coarse look takes

Hashes = NDArray[np.uint64]
Numbers = NDArray[np.int64]
WORDS, DIGITS = re.compile(r"\w+"), re.compile(r"\d")


@dataclass
class Copies:
    """The numbers of texts that also stand in the training data, each with the number of a training text."""

    compared: int  # training texts
    every: int  # each so manieth training text was compared
    equal: dict[int, int] = field(default_factory=dict)
    near: dict[int, int] = field(default_factory=dict)
    parts: dict[int, int] = field(default_factory=dict)  # inside a longer training text


def find_copies(texts: Sequence[str], count: int, text_of: Callable[[int], str]) -> Copies:
    """Return which texts stand among the count training texts that text_of returns by number."""
    plain = [normalised(text) for text in texts]
    owners: dict[str, list[int]] = {}
    for number, text in enumerate(plain):
        if text:
            owners.setdefault(text, []).append(number)
    different = list(owners)
    every = _stride(count, text_of)
    found = Copies(len(range(0, count, every)), every)
    sketches = _Sketches(different)
    for first in range(0, count, CHUNK * every):
        numbers = range(first, min(first + CHUNK * every, count), every)
        others = [normalised(text_of(number)) for number in numbers]
        for number, other in zip(numbers, others, strict=True):
            for owner in owners.get(other, ()):
                found.equal.setdefault(owner, number)
        for own, place in sketches.candidates(others):
            text, other = different[own], others[place]
            if DIGITS.findall(text) != DIGITS.findall(other):  # Tuesday 3 May and Tuesday 8 May
                continue
            both, mine, theirs = _compare(text, other)
            for owner in owners[text]:
                if both >= NEAR * (mine + theirs - both):
                    found.near.setdefault(owner, numbers[place])
                elif both >= PART * mine:
                    found.parts.setdefault(owner, numbers[place])
    found.near = {number: other for number, other in found.near.items() if number not in found.equal}
    known = found.equal.keys() | found.near.keys()
    found.parts = {number: other for number, other in found.parts.items() if number not in known}
    return found


def normalised(text: str) -> str:
    """Return a text without case, punctuation and superfluous spaces."""
    return " ".join(WORDS.findall(text.casefold()))


def _stride(count: int, text_of: Callable[[int], str]) -> int:
    """Return the distance between the training texts to compare."""
    some = [len(text_of(number)) for number in range(0, count, max(count // 100, 1))]
    most = min(MOST_TEXTS, MOST_CHARACTERS * len(some) // max(sum(some), 1))
    return max(-(-count // max(most, 1)), 1)


def _compare(one: str, other: str) -> tuple[int, int, int]:
    """Return how many shingles two texts have in common, and how many each has."""
    mine, theirs = (
        {text[place : place + SHINGLE] for place in range(len(text) - SHINGLE + 1)} for text in (one, other)
    )
    return len(mine & theirs), len(mine), len(theirs)


class _Sketches:
    """A few shingles of each text, by their hashes."""

    def __init__(self, texts: Sequence[str]) -> None:
        hashes, owners = _shingles(texts)
        order = np.lexsort((hashes, owners))
        hashes, owners = hashes[order], owners[order]
        fresh = np.ones(len(hashes), dtype=bool)
        fresh[1:] = (hashes[1:] != hashes[:-1]) | (owners[1:] != owners[:-1])
        hashes, owners = hashes[fresh], owners[fresh]
        long = np.bincount(owners, minlength=len(texts))[owners] >= FEWEST
        _, which, times = np.unique(hashes, return_inverse=True, return_counts=True)
        rare = times[which] <= max(COMMON * len(texts), FEW)
        hashes, owners = hashes[long & rare], owners[long & rare]
        counts = np.bincount(owners, minlength=len(texts))
        rank = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        chosen = rank < SKETCH  # the smallest hashes: as good as drawn at random
        order = np.argsort(hashes[chosen], kind="stable")
        self.hashes, self.owners = hashes[chosen][order], owners[chosen][order]
        self.sizes = np.minimum(counts, SKETCH)
        self.known = np.zeros(1 << TABLE, dtype=bool)
        self.known[_coarse(self.hashes)] = True

    def candidates(self, others: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Yield the numbers of a text and another that share most of the text's sketch."""
        hashes, places = _shingles(others)
        likely = self.known[_coarse(hashes)]
        hashes, places = hashes[likely], places[likely]
        first, last = (np.searchsorted(self.hashes, hashes, side=side) for side in ("left", "right"))
        counts = last - first
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        entries = np.repeat(first, counts) + within  # each: a shingle of one of our texts …
        places = np.repeat(places, counts)  # … found in one of the others
        once = np.unique(places * len(self.owners) + entries)
        places, entries = np.divmod(once, max(len(self.owners), 1))
        pairs, shared = np.unique(places * len(self.sizes) + self.owners[entries], return_counts=True)
        places, owners = np.divmod(pairs, max(len(self.sizes), 1))
        close = shared >= SHARED * self.sizes[owners]
        yield from zip(owners[close].tolist(), places[close].tolist(), strict=True)


def _coarse(hashes: Hashes) -> Numbers:
    return (hashes >> np.uint64(64 - TABLE)).astype(np.int64)


def _shingles(texts: Sequence[str]) -> tuple[Hashes, Numbers]:
    """Return the hash of each shingle, and the number of its text."""
    letters: NDArray[Any] = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    owners = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    count = max(len(letters) - SHINGLE + 1, 0)
    hashes = np.zeros(count, dtype=np.uint64)
    for place in range(SHINGLE):
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + letters[place : place + count]
    hashes = (hashes ^ (hashes >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)  # so that all bits are as if drawn
    hashes ^= hashes >> np.uint64(29)
    whole = owners[:count] == owners[len(owners) - count :]  # not across the end of a text
    return hashes[whole], owners[:count][whole]
