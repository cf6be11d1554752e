"""Scores of named classes: accuracy, macro-F1 and the table of confusions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class LabelScores:
    """How well classes were named."""

    examples: int
    accuracy: float  # per cent
    macro_f1: float  # per cent: the mean of the classes' F1, each class counting alike
    f1: list[float]  # per cent, by class
    confusion: list[list[int]]  # [true class][named class]


def score_labels(named: Sequence[int], wanted: Sequence[int], classes: int) -> LabelScores:
    """Return the scores of named classes against the true ones."""
    confusion = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(confusion, (np.asarray(wanted, dtype=np.int64), np.asarray(named, dtype=np.int64)), 1)
    right, true, said = confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0)
    f1 = 200.0 * right / np.maximum(true + said, 1)  # a class that is neither there nor named has 0
    present = (true + said) > 0
    accuracy = 100.0 * float(right.sum()) / max(len(wanted), 1)
    macro = float(f1[present].mean()) if present.any() else 0.0
    return LabelScores(len(wanted), accuracy, macro, f1.tolist(), confusion.tolist())
