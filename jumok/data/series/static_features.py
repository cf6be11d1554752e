"""What is constant in a series, as features: numbers with mean 0 and deviation 1, names as 1 at their place.

texts (K, S) of static columns → kinds, found in the training series → features (K, F)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jumok.config import SeriesData
from jumok.data.series.numbers import is_missing, is_number, to_number
from jumok.errors import DataError, counted

# K series · S static columns · F features

MOST_NAMES = 1000  # of one column


@dataclass(frozen=True)
class StaticFacts:
    """What static columns hold in the training series."""

    mean: list[float]  # (S,); 0 of a column of names
    deviation: list[float]  # (S,); 1 of a column of names
    categories: dict[str, list[str]]  # the names of each column of names


def measure_static(texts: Sequence[Sequence[str]], data: SeriesData) -> StaticFacts:
    """Return what the static columns (K, S) of the training series hold."""
    facts = StaticFacts([], [], {})
    for place, column in enumerate(data.static):
        found = [row[place] for row in texts]
        there = [text for text in found if not is_missing(text)]
        if all(map(is_number, there)):
            numbers = np.array([to_number(text) for text in there] or [0.0])
            facts.mean.append(float(numbers.mean()))
            facts.deviation.append(float(numbers.std()) or 1.0)
            continue
        names = sorted(set(there))
        if len(names) > MOST_NAMES:
            raise DataError(
                f"the static column '{column}' has {len(names):,} names, one feature each; at most {MOST_NAMES:,} are of use. "
                "Leave the column out of data.static."
            )
        facts.mean.append(0.0)
        facts.deviation.append(1.0)
        facts.categories[str(column)] = names
    return facts


def static_features(texts: Sequence[Sequence[str]], data: SeriesData) -> tuple[NDArray[np.float64], list[str]]:
    """Return features (K, F) of static columns (K, S), by what is filled in in data, and notes of what is unknown."""
    parts: list[NDArray[np.float64]] = []
    notes = []
    for place, column in enumerate(data.static):
        found = [row[place] for row in texts]
        if str(column) in data.categories:
            names = {name: number for number, name in enumerate(data.categories[str(column)])}
            part = np.zeros((len(found), len(names)))
            for row, text in enumerate(found):
                if text in names:
                    part[row, names[text]] = 1.0
            unknown = sorted({text for text in found if text not in names and not is_missing(text)})
            if unknown:
                notes.append(
                    f"static column '{column}': {counted(len(unknown), 'name')} that the training data lacks, such as "
                    f"{unknown[0]!r}; their series have none"
                )
        else:
            for text in found:
                if not is_number(text) and not is_missing(text):
                    raise DataError(
                        f"the static column '{column}' holds {text[:40]!r}, but numbers in the training data; mend it."
                    )
            numbers = np.array([to_number(text) for text in found])
            part = np.nan_to_num((numbers - data.static_mean[place]) / data.static_deviation[place])[:, None]
        parts.append(part)
    return np.concatenate(parts, axis=1) if parts else np.zeros((len(texts), 0)), notes
