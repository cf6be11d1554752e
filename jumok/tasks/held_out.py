"""What is wrong with held-out data beside the training data: swapped sides, another language, copies.

Column of val, Column of train → likeness of letters (data/text/likeness.py), copies (data/text/copies.py) → problems
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jumok.data.images.image_store import ImageStore
from jumok.data.text.copies import find_copies
from jumok.data.text.documents import TextStore
from jumok.data.text.labelled import LabelStore
from jumok.data.text.likeness import can_be_one_language, likeness
from jumok.data.text.pair_store import PairStore
from jumok.data.text.tokenizer import Tokenizer
from jumok.tasks.survey import Problem

LIKE, COPIED = 1000, 2000  # texts that are compared by their letters, and looked for in the training data
TOLERATED = 0.05  # share of held-out texts that may stand in the training data: short ones do by chance
LONG, LONG_TOLERATED = 8, 0.01  # words of a text that is hardly equal by chance, and the share of such texts …
FEW = 2  # … or their number, whichever is more
CLEARLY = 0.1  # likeness by which one side must be nearer than the other
PASSAGE = 200  # tokens of running text that are looked for
SHOWN = 50  # characters of an example
MOST_BYTES = 1 << 30  # of training images that are compared


@dataclass(frozen=True)
class Column:
    """Texts by number, and what one of them is called."""

    unit: str  # source, text, passage
    count: int
    text: Callable[[int], str]

    def some(self, most: int) -> list[str]:
        """Return so many texts at equal distances."""
        return [self.text(number) for number in self.spread(most)]

    def spread(self, most: int) -> range:
        """Return the numbers of so many texts at equal distances."""
        return range(0, self.count, max(-(-self.count // most), 1))


def pair_problems(train: PairStore, held_out: dict[str, PairStore], *, tags: Sequence[int]) -> list[Problem]:
    """Return what is wrong with held-out pairs; of several directions each is set beside its own training pairs."""
    problems = []
    ends = np.cumsum(train.parts)
    for label, store in held_out.items():
        first = int(next(iter(store.source[0]), -1))
        beside = _tagged(train, first) if first in tags else np.arange(len(train))
        corpora = [part for part in np.split(beside, np.searchsorted(beside, ends[:-1])) if len(part)]
        mine = _pair_columns(store, np.arange(len(store)))
        theirs = [_pair_columns(train, part) for part in corpora]
        found = _swapped(label, mine, theirs)
        for side in range(2):
            found = found or language_problem(label, mine[side], [columns[side] for columns in theirs])
        problems += found + copy_problem(label, mine[0], _pair_columns(train, beside)[0])
    return problems


def _pair_columns(store: PairStore, numbers: NDArray[np.intp]) -> tuple[Column, Column]:
    """Return both sides of some pairs of a store."""

    def column(unit: str, side: int) -> Column:
        return Column(unit, len(numbers), lambda place: store.text(int(numbers[place]))[side])

    return column("source", 0), column("target", 1)


def _tagged(store: PairStore, tag: int) -> NDArray[np.intp]:
    """Return the numbers of pairs whose source begins with a tag."""
    offsets = store.source.offsets[:-1]
    return np.flatnonzero(
        (store.source.lengths > 0) & (store.source.ids[offsets.clip(max=len(store.source.ids) - 1)] == tag)
    )


def _swapped(label: str, mine: Sequence[Column], theirs: Sequence[Sequence[Column]]) -> list[Problem]:
    texts = [column.some(LIKE) for column in mine]
    others = [[columns[side].some(LIKE) for columns in theirs] for side in range(2)]

    def nearest(side: int, other: int) -> float:
        return max(likeness(texts[side], corpus) for corpus in others[other])

    if not all(nearest(side, 1 - side) > nearest(side, side) + CLEARLY for side in range(2)):
        return []
    what = (
        f"source and target of {label} look swapped: its source reads like the training target, {_quoted(texts[0][0])}, "
        f"and its target like the training source, {_quoted(texts[1][0])}"
    )
    return [(what, "swap the two files or columns in [data] val, or set swap = true there")]


def language_problem(label: str, mine: Column, theirs: Sequence[Column], *, scripts: bool = False) -> list[Problem]:
    """Return a problem where held-out texts have other letters than every corpus of the training data.

    With scripts, only another script counts: a corpus may hold several languages.
    """
    texts = mine.some(LIKE)
    if any(can_be_one_language(texts, column.some(LIKE), scripts=scripts) for column in theirs):
        return []
    what = (
        f"the {mine.unit}s of {label} are not in the language of the training {mine.unit}s, by their letters; "
        f"the first is {_quoted(texts[0])}"
    )
    return [(what, "is it the right file, and the right column?")]


def copy_problem(label: str, mine: Column, theirs: Column) -> list[Problem]:
    """Return a problem where many held-out texts stand in the training data."""
    numbers = mine.spread(COPIED)
    found = find_copies(mine.some(COPIED), theirs.count, theirs.text)
    kinds = {
        "equal but for case and punctuation": found.equal,
        "nearly equal": found.near,
        f"part of a longer {mine.unit}": found.parts,
    }
    copied = sum(map(len, kinds.values()))
    long = sum(len(mine.text(numbers[place]).split()) >= LONG for place in found.equal)
    if copied <= TOLERATED * len(numbers) and long <= max(LONG_TOLERATED * len(numbers), FEW):
        return []
    named = ", ".join(f"{len(copies):,} {kind}" for kind, copies in kinds.items() if copies)
    place, other = next(iter(next(filter(None, kinds.values())).items()))
    number = numbers[place]
    compared = f", of which every {found.every}th was compared" if found.every > 1 else ""
    what = (
        f"{copied:,} of {len(numbers):,} {mine.unit}s of {label} also stand in the training data{compared}: its scores will "
        f"flatter ({named}; number {number + 1:,}, {_quoted(mine.text(number))}, is training {mine.unit} {other + 1:,}, "
        f"{_quoted(theirs.text(other))})"
    )
    return [(what, "take them out of the training data, or divide the data by whole documents")]


def _quoted(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


# --- texts of one side


def label_problems(train: LabelStore, held_out: dict[str, LabelStore]) -> list[Problem]:
    """Return what is wrong with held-out labelled texts."""
    return _column_problems(_label_column(train), {label: _label_column(store) for label, store in held_out.items()})


def passage_problems(train: TextStore, held_out: dict[str, TextStore], tokenizer: Tokenizer) -> list[Problem]:
    """Return what is wrong with held-out running text: passages of it are looked for in longer ones that overlap."""
    long = _passages(train, tokenizer, tokens=4 * PASSAGE, step=3 * PASSAGE)
    short = {label: _passages(store, tokenizer, tokens=PASSAGE, step=PASSAGE) for label, store in held_out.items()}
    return _column_problems(long, short)


def _column_problems(train: Column, held_out: dict[str, Column]) -> list[Problem]:
    return [
        problem
        for label, column in held_out.items()
        for problem in language_problem(label, column, [train], scripts=True) + copy_problem(label, column, train)
    ]


def _label_column(store: LabelStore) -> Column:
    return Column("text", len(store), lambda number: " ".join(store.text(number)).rstrip())


def _passages(store: TextStore, tokenizer: Tokenizer, *, tokens: int, step: int) -> Column:
    """Return passages of so many tokens, one every step tokens of a document; a short document is one passage."""
    ends = np.append(store.starts[1:], len(store.ids)) - 1  # without the end token
    spans = [
        (begin, min(begin + tokens, end))
        for first, end in zip(store.starts.tolist(), ends.tolist(), strict=True)
        for begin in range(first, max(end - tokens + step, first + 1), step)
    ]
    return Column("passage", len(spans), lambda number: tokenizer.decode(store.ids[slice(*spans[number])].tolist()))


# --- images


def image_problems(train: ImageStore, held_out: dict[str, ImageStore]) -> list[Problem]:
    """Return a problem where many held-out images are training images, pixel by pixel."""
    every = max(-(-train.pixels[:1].nbytes * len(train) // MOST_BYTES), 1)
    known = {hash(train.pixels[number].tobytes()): number for number in range(0, len(train), every)}
    problems = []
    for label, store in held_out.items():
        numbers = range(0, len(store), max(-(-len(store) // COPIED), 1))
        copies = [(number, known.get(hash(store.pixels[number].tobytes()))) for number in numbers]
        found = [(number, other) for number, other in copies if other is not None]
        if len(found) > TOLERATED * len(numbers):
            number, other = found[0]
            what = (
                f"{len(found):,} of {len(numbers):,} images of {label} also stand in the training data: its scores will "
                f"flatter (number {number + 1:,} is training image {other + 1:,})"
            )
            problems.append((what, "take them out of the training data"))
    return problems
