"""Pairs tokenised once and kept in memory-mapped files.

parts of (source, target) strings → tidy → filter → encode, in chunks → files → PairStore
store.json holds the counts and how many pairs each part has. Where a part has a tag, its target language's, the tag is
the first of each source's ids.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from jumok.config import ParallelData
from jumok.data.builtin.examples import is_example
from jumok.data.store import SideWriter, StoredSide, id_type_for, read_facts, refuse_damage, side_names, write_facts
from jumok.data.text.sources import tidy
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import DataError

FORMAT = 1
CHUNK = 10_000
SIDES = ("source", "target")


@dataclass
class Counts:
    """What became of the pairs that were read."""

    read: int = 0
    kept: int = 0
    empty_source: int = 0
    empty_target: int = 0
    too_long: int = 0
    bad_ratio: int = 0
    duplicates: int = 0
    examples: int = 0

    @property
    def dropped(self) -> int:
        """Pairs read and not kept."""
        return self.read - self.kept

    def __str__(self) -> str:
        reasons = {
            "empty source": self.empty_source,
            "empty target": self.empty_target,
            "too long": self.too_long,
            "unlike lengths": self.bad_ratio,
            "said twice": self.duplicates,
            "like an example": self.examples,
        }
        listed = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items() if count)
        return f"{self.kept:,} of {self.read:,} pairs kept" + (
            f" ({self.dropped:,} dropped: {listed})" if self.dropped else ""
        )


class Part(NamedTuple):
    """The pairs of one corpus, and the tag that tells its target language where there are several."""

    pairs: Iterable[tuple[str, str]]
    tag: int | None = None


class PairStore:
    """The tokenised pairs of one split, read from its folder as they are needed."""

    def __init__(self, folder: Path) -> None:
        """Open the store in folder; a missing or cut-off file is a DataError."""
        self.folder = Path(folder)
        with refuse_damage(self.folder, "the tokenised data"):
            facts = read_facts(self.folder)
            if facts["format"] != FORMAT:
                raise ValueError(f"it has format {facts['format']}, not {FORMAT}")
            self.counts = Counts(**facts["counts"])
            self.parts: list[int] = facts.get("parts", [self.counts.kept])  # pairs of each corpus, one after another
            self.source, self.target = (StoredSide(self.folder, side, facts["id_types"][side]) for side in SIDES)
        self.lengths = np.stack([self.source.lengths, self.target.lengths], axis=1)
        self.lengths += 1

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Return the store in folder."""
        return cls(folder)

    def __reduce__(self) -> tuple[type[Self], tuple[Path]]:
        return type(self), (self.folder,)

    def __len__(self) -> int:
        return len(self.source)

    def text(self, index: int) -> tuple[str, str]:
        """Return source and target of pair index as tidied text."""
        return self.source.text(index), self.target.text(index)


def build_pair_store(
    parts: Iterable[Part],
    *,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    data: ParallelData,
    folder: Path,
    keep_all: bool = False,
    progress: Callable[[int], None] | None = None,
) -> PairStore:
    """Tokenise the pairs of parts into folder and open it; keep_all drops nothing, so that scores are over every line.

    progress is called with the number of pairs read so far.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    counts = Counts()
    choose = _Filter(data, counts, keep_all=keep_all)
    tokenizers = (source_tokenizer, target_tokenizer)
    id_types = {side: id_type_for(len(tokenizer)) for side, tokenizer in zip(SIDES, tokenizers, strict=True)}
    with ExitStack() as stack:
        writers = [SideWriter(folder, side, id_types[side], stack) for side in SIDES]
        sizes: list[int] = []
        for tag, chunk in _chunks(parts, sizes):
            tidied = (_tidy_pair(pair, data.lowercase) for pair in chunk)
            texts = [pair for pair in tidied if choose.by_text(*pair, tag)]
            encoded = [
                tokenizer.encode_words([pair[number] for pair in texts]) for number, tokenizer in enumerate(tokenizers)
            ]
            if tag is not None:
                encoded[0] = [([tag, *ids], [-1, *words]) for ids, words in encoded[0]]  # a word of its own
            kept = [
                row
                for row, (source, target) in enumerate(zip(*encoded, strict=True))
                if choose.by_length(source, target)
            ]
            for number, writer in enumerate(writers):
                writer.write([(texts[row][number], *encoded[number][row]) for row in kept])
            counts.read += len(chunk)
            counts.kept += len(kept)
            sizes[-1] += len(kept)
            if progress:
                progress(counts.read)
    if not counts.kept:
        raise DataError(
            f"no pairs are left to work with: {counts}; check the files, and max_length and max_ratio of [data]."
        )
    write_facts(folder, side_names(*SIDES), format=FORMAT, counts=asdict(counts), parts=sizes, id_types=id_types)
    return PairStore(folder)


def _chunks(parts: Iterable[Part], sizes: list[int]) -> Iterator[tuple[int | None, list[tuple[str, str]]]]:
    """Yield pairs by the chunk, with their tag; sizes gets a zero for each part that begins."""
    for pairs, tag in parts:
        sizes.append(0)
        iterator = iter(pairs)
        while chunk := list(islice(iterator, CHUNK)):
            yield tag, chunk


class _Filter:
    """Decides which pairs stay and counts why others go."""

    def __init__(self, data: ParallelData, counts: Counts, *, keep_all: bool) -> None:
        self.data, self.counts, self.keep_all = data, counts, keep_all
        self.seen: set[bytes] = set()

    def by_text(self, source: str, target: str, tag: int | None = None) -> bool:
        """Say whether a pair of tidied texts stays."""
        if self.keep_all:
            return True
        if not source:
            self.counts.empty_source += 1
            return False
        if not target:
            self.counts.empty_target += 1
            return False
        shorter, longer = sorted((len(source), len(target)))
        if 0 < self.data.max_ratio * shorter < longer:
            self.counts.bad_ratio += 1
            return False
        if self.data.without_examples and (is_example(source) or is_example(target)):
            self.counts.examples += 1
            return False
        return not self._seen_before(source, target if tag is None else f"{target}\n{tag}")

    def _seen_before(self, source: str, target: str) -> bool:
        if not self.data.deduplicate:
            return False
        # Hashes of 16 bytes instead of the texts: millions of pairs fit in memory and none is lost to chance.
        key = blake2b(f"{source}\n{target}".encode(), digest_size=16).digest()
        if key in self.seen:
            self.counts.duplicates += 1
            return True
        self.seen.add(key)
        return False

    def by_length(self, source: tuple[list[int], list[int]], target: tuple[list[int], list[int]]) -> bool:
        """Say whether a tokenised pair stays; the end token counts."""
        if not self.keep_all and max(len(source[0]), len(target[0])) + 1 > self.data.max_length:
            self.counts.too_long += 1
            return False
        return True


def _tidy_pair(pair: tuple[str, str], lowercase: bool) -> tuple[str, str]:
    return tidy(pair[0], lowercase), tidy(pair[1], lowercase)
