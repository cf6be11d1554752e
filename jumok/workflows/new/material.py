"""What there is to learn from, whatever it was made of; and what is too little to learn from."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jumok.config import Split
from jumok.errors import ConfigError, DataError

SHOWN = 6  # classes that are named
LEAST_PAIRS, LEAST_LABELLED, LEAST_CAPTIONED, LEAST_CHARACTERS = 100, 20, 50, 1000
Tokens = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class SeriesFacts:
    """What a plan needs to know of series."""

    uses: dict[str, Any]  # keys of [data] that say what columns are for
    length: int  # steps of a series, the median
    count: int  # series
    season: int  # steps
    unit: str  # of the time between two steps: us, month or business; '' without dates
    hours: bool  # whether steps are shorter than a day
    positive: bool  # whether all values to forecast are
    horizon: int = 0  # what is asked for; 0 = to be chosen


@dataclass(frozen=True)
class Material:
    """What there is to learn from, for one task."""

    task: str
    files: Mapping[Split, Any]  # as a recipe writes them, paths as they are
    seen: list[str]  # what a user is told of it
    count: int  # examples; of running text, documents; of captions, images
    example: str  # what a finished model may be given on the command line
    tokens: Tokens = field(default_factory=lambda: np.zeros(0))  # of each example, or of all, roughly
    classes: Counter[str] = field(default_factory=Counter)
    characters: int = 0
    alphabet: int = 0  # different characters
    documents: str = "file"  # what a document is in plain text
    side: int = 0  # pixels of an image
    channels: int = 3
    captions: int = 0
    ascii: float = 1.0  # share of the characters
    series: SeriesFacts | None = None


def estimated_tokens(text: str) -> int:
    """Return about how many subword tokens a text has: a vocabulary of some thousands knows few words of other scripts."""
    plain = sum(map(str.isascii, text))
    return int(0.3 * plain + 0.7 * (len(text) - plain)) + 1


def shortened(text: str, longest: int = 40) -> str:
    """Return a text as an example on a command line: its first words."""
    words = text.split()
    while len(words) > 1 and len(" ".join(words)) > longest:
        words.pop()
    return " ".join(words)[:longest]


def with_mask(text: str) -> str:
    """Return an example whose last word is masked."""
    *before, _ = shortened(text).split() or [""]
    return " ".join([*before, "[MASK]"])


def refuse_other(task: str, fitting: Sequence[str], what: str) -> None:
    """Refuse a task that the data is not for."""
    if task and task not in fitting:
        raise ConfigError(f"{what} can be learnt from for {' or '.join(fitting)}, not for {task}")


def check_pairs(pairs: int, told: str) -> None:
    """Refuse too few pairs."""
    if pairs < LEAST_PAIRS:
        raise DataError(f"{told}; a translator needs thousands")


def check_classes(classes: Counter[str], where: str) -> None:
    """Refuse one class alone, and too few examples."""
    if len(classes) < 2:
        raise DataError(f"{where} has only the class '{next(iter(classes), '')}'; a classifier needs two or more")
    if classes.total() < LEAST_LABELLED:
        raise DataError(f"{where} has {classes.total()} examples; a classifier needs dozens of each class")


def check_captioned(images: int, where: str) -> None:
    """Refuse too few images with captions."""
    if images < LEAST_CAPTIONED:
        raise DataError(
            f"{where} has captions of {images:,} images; a captioner needs thousands, or hundreds that are alike"
        )


def check_characters(characters: int, where: str) -> None:
    """Refuse too short a text."""
    if characters < LEAST_CHARACTERS:
        raise DataError(f"{where} has {characters:,} characters; a language model needs far more: a book has a million")


def told_classes(classes: Counter[str]) -> str:
    """Return the classes in words, the commonest first."""
    shown = ", ".join(f"{name} {count:,}" for name, count in classes.most_common(SHOWN))
    return f"{len(classes):,} classes: {shown}{', …' if len(classes) > SHOWN else ''}"
