"""The toy sets `copy` and `reverse`: the smallest tasks that show a sequence model learns at all.

random letters "k c a" → copy "k c a" | reverse "a c k"

Which split a sequence belongs to follows from the sequence itself (`split_of`), never from the order of drawing, so
no seed and no size can carry a test example into training. `dates` divides its dates by the same rule.
"""

import hashlib
import random
import string
from collections.abc import Mapping
from typing import get_args

from jumok.config import Split
from jumok.errors import DataError, did_you_mean

SETS: dict[str, str] = {
    "copy": "random letters → the same letters",
    "reverse": "random letters → the letters from last to first",
}
DEFAULT_SIZES: dict[Split, int] = {"train": 5_000, "val": 200, "test": 200}

VAL_SHARE, TEST_SHARE = 0.05, 0.10


def pairs(name: str, split: Split, size: int = 0, seed: int = 1, longest: int = 12) -> list[tuple[str, str]]:
    """Return size different pairs of the set; 0 stands for the split's default size."""
    if name not in SETS:
        raise DataError(f"there is no toy set '{name}'; {did_you_mean(name, SETS)}")
    if longest < 1:
        raise DataError(f"the set '{name}' cannot have longest = {longest}; a sequence has at least 1 letter")
    size = checked_size(name, split, size=size, defaults=DEFAULT_SIZES)
    generator = random.Random(f"{name} {split} {seed}")
    sources: dict[str, None] = {}  # a set that keeps the order of drawing
    draws_left = 1_000 + 100 * size  # ample where enough sequences exist, and an end where they do not
    while len(sources) < size:
        if not draws_left:
            raise DataError(
                f"the {split} split of '{name}' has only about {len(sources):,} different sequences of at most "
                f"{longest} letters, and {size:,} pairs were asked for; ask for fewer, or raise longest"
            )
        draws_left -= 1
        length = 1 + draw(generator, longest)
        source = " ".join(string.ascii_lowercase[draw(generator, 26)] for _ in range(length))
        if split_of(source) == split:
            sources[source] = None
    return [(source, source if name == "copy" else source[::-1]) for source in sources]


def split_of(text: str) -> Split:
    """Return the split that text belongs to: the same in every process and for every seed."""
    # Python's own hash() changes from process to process
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    place = int.from_bytes(digest, "big") / 2**64
    if place < VAL_SHARE:
        return "val"
    return "test" if place < VAL_SHARE + TEST_SHARE else "train"


def checked_size(name: str, split: str, *, size: int, defaults: Mapping[Split, int]) -> int:
    """Return how many pairs to make of a built-in set, or raise DataError for a split or size it cannot have."""
    for known in get_args(Split):
        if split == known:
            if size < 0:
                raise DataError(f"the set '{name}' cannot have {size} pairs; give a size above 0, or 0 for its default")
            return size or defaults[known]
    raise DataError(f"the set '{name}' has no split '{split}'; {did_you_mean(split, get_args(Split))}")


def draw(generator: random.Random, count: int) -> int:
    """Return a random number below count."""
    # random() is the one method whose sequence Python promises to keep for a seed, version after version
    return int(generator.random() * count)
