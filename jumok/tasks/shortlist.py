"""A vocabulary shortlist: which target tokens are worth trying for a source, learnt from the training pairs.

pairs → how often tokens stand in one pair → each source token's partners; a source → its tokens' partners + common tokens

Half of a small model's time goes into the logits of its whole vocabulary, of which a sentence needs a few hundred.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from jumok.arrays import read_npz
from jumok.cache import damaged_entry
from jumok.data.text.pair_store import PairStore
from jumok.data.text.tokenizer import END, UNKNOWN
from jumok.tasks.pairs import Ids

MOST = 100_000  # pairs that are counted, evenly spread over the corpus
CHUNK = 5_000  # pairs at once
COMMON = 500  # target tokens that are always tried
RARE = 2  # pairs that two tokens must share to count as partners


@dataclass(frozen=True)
class Shortlist:
    """Each source token's partners (source vocabulary, partners), −1 where there are fewer, and the common tokens."""

    partners: Ids
    common: Ids

    def tokens(self, source: Ids) -> Ids:
        """Return the target tokens to try for a source, in order."""
        found: Ids = np.unique(np.concatenate([self.partners[source].ravel(), self.common]))
        return found[found >= 0]

    def save(self, folder: Path) -> None:
        """Write both tables."""
        np.savez(folder / "shortlist.npz", partners=self.partners, common=self.common)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what was saved."""
        tables = read_npz(folder / "shortlist.npz", damaged_entry)
        shapes = {name: table.ndim for name, table in tables.items() if table.dtype == np.int64}
        if shapes != {"partners": 2, "common": 1}:
            raise damaged_entry(str(folder / "shortlist.npz"), "it holds other tables")
        return cls(tables["partners"], tables["common"])


def learn(
    store: PairStore, *, source_size: int, target_size: int, each: int, progress: Callable[[int], None]
) -> Shortlist:
    """Return the shortlist of a corpus, with so many partners for each source token.

    Partners are ranked by Dice's coefficient: pairs that have both, against the pairs that have either.
    """
    chosen = np.unique(np.linspace(0, len(store) - 1, min(len(store), MOST)).astype(np.int64))
    sources, targets = np.zeros(source_size), np.zeros(target_size)  # pairs that have each token
    keys, counts = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    for first in range(0, len(chosen), CHUNK):
        some = chosen[first : first + CHUNK]
        met = []
        for source, target in _distinct(store, some):
            sources[source] += 1
            targets[target] += 1
            met.append((source[:, None] * target_size + target).ravel())
        fresh, times = np.unique(np.concatenate(met), return_counts=True)
        keys, place = np.unique(np.concatenate([keys, fresh]), return_inverse=True)
        counts = np.bincount(place, weights=np.concatenate([counts, times])).astype(np.int64)
        progress(len(some))
    kept = counts >= RARE
    keys, counts = keys[kept], counts[kept]
    source, target = keys // target_size, keys % target_size
    dice = 2 * counts / (sources[source] + targets[target])
    order = np.lexsort((-dice, source))
    source, target = source[order], target[order]
    rank = np.arange(len(source)) - np.searchsorted(source, source)  # among the partners of the same source token
    best = rank < each
    partners = np.full((source_size, each), -1, dtype=np.int64)
    partners[source[best], rank[best]] = target[best]
    often = np.argsort(-targets, kind="stable")[:COMMON]
    return Shortlist(partners, np.unique(np.concatenate([[END, UNKNOWN], often[targets[often] > 0]])))


def _distinct(store: PairStore, numbers: Any) -> Iterator[tuple[Ids, Ids]]:
    """Yield the different tokens of each side of some pairs."""
    for number in numbers:
        yield np.unique(store.source[number]).astype(np.int64), np.unique(store.target[number]).astype(np.int64)
