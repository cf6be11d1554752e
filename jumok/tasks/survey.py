"""What a task can tell of its data before a run: `jumok check` shows it.

corpora → counts, lengths, samples, shares of unknown tokens, the largest batch → Survey
"""

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from jumok.data.text.tokenizer import UNKNOWN

BatchT_co = TypeVar("BatchT_co", covariant=True)
Problem = tuple[str, str]  # what is wrong, what to do


@dataclass(frozen=True)
class Lengths:
    """Tokens per example, end token included."""

    mean: float
    median: int
    nearly_all: int  # 99 % are no longer
    longest: int

    @classmethod
    def of(cls, lengths: np.ndarray[Any, Any]) -> "Lengths":
        """Return what to know of many lengths."""
        middle, nearly_all = int(np.median(lengths)), int(np.quantile(lengths, 0.99))
        return cls(float(lengths.mean()), middle, nearly_all, int(lengths.max()))


@dataclass
class Survey(Generic[BatchT_co]):
    """A task's data at a glance."""

    unit: str  # what examples are called: pairs, documents
    largest_batch: BatchT_co  # the batch with the most positions, which needs the most memory
    largest: tuple[int, ...]  # its rows, then its longest source and target, or its only length
    batches_per_epoch: int
    tokens_per_epoch: int  # that the loss counts
    padding: float = 0.0
    counts: dict[str, dict[str, int]] = field(default_factory=dict)  # split → read, kept and why others were dropped
    lengths: dict[str, Lengths] = field(default_factory=dict)  # side → lengths of the training split
    samples: list[tuple[list[str], ...]] = field(default_factory=list)  # the tokens of some examples, one list per side
    vocabularies: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, float] = field(default_factory=dict)  # side → share of val tokens that are unknown
    problems: list[Problem] = field(default_factory=list)


def unknown_share(*parts: np.ndarray[Any, Any]) -> float:
    """Return the share of unknown tokens among ids."""
    total = sum(len(part) for part in parts)
    return sum(int((np.asarray(part) == UNKNOWN).sum()) for part in parts) / max(total, 1)


def dropped_problem(read: int, dropped: int, *, unit: str, why: str) -> list[Problem]:
    """Return a problem where many examples are left out."""
    if dropped <= 0.02 * read:
        return []
    cure = "look at data.max_length and data.max_ratio, and for empty lines in the files"
    return [(f"{dropped:,} of {read:,} training {unit} are dropped ({why})", cure)]


def vocabulary_problems(survey: Survey[object], *, kind: str, wanted: int) -> list[Problem]:
    """Return what is wrong with the vocabulary: larger than the data can fill, or full of holes."""
    problems = []
    most = max(survey.vocabularies.values())
    if kind in ("bpe", "unigram") and most < 0.8 * wanted:
        cure = f"set tokenizer.vocabulary = {most} or lower: rare tokens learn little"
        problems.append((f"the data gives only {most:,} of the {wanted:,} vocabulary entries asked for", cure))
    for side, share in survey.unknown.items():
        if share > 0.01:
            cure = "use tokenizer.kind = 'bpe', which knows every character"
            problems.append((f"{share:.1%} of the val {side} tokens are unknown", cure))
    return problems
