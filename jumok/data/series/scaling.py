"""What a model sees of a table's values, and the way back: transform, then mean 0 and deviation 1 of each column.

values of a window (B, L + H, C) → past and future as the model has them, and the level (B, V) that targets start from
forecast (…, H, V) and level → values in the data's own units

log          of each value
difference   the past as steps from row to row; the future as the way gone since the last value that is there
log-return   the same of logarithms: what is forecast is log(value / last value)
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jumok.config import SeriesData
from jumok.data.series.series_store import SeriesStore
from jumok.data.series.values import parts
from jumok.errors import DataError

# B windows · L look-back · H horizon · C columns · V targets, the first of the columns

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Scaling:
    """How values become what a model sees."""

    transform: str
    targets: int  # V
    mean: Values  # (C,)
    deviation: Values  # (C,)

    @classmethod
    def of(cls, data: SeriesData) -> Self:
        """Return the scaling of a [data] that is filled in."""
        return cls(data.transform, len(data.targets), np.asarray(data.mean), np.asarray(data.deviation))

    @property
    def relative(self) -> bool:
        """Whether targets are told from the level on."""
        return self.transform in ("difference", "log-return")

    @property
    def units(self) -> Values:
        """(V,): what one of the model's units is in the transformed data."""
        return self.deviation[: self.targets]

    def apply(self, values: Values, look_back: int) -> tuple[Values, Values, Values]:
        """Return past (B, L, C), future (B, H, C) and the level (B, V) of values (B, L + H, C); NaN stays NaN.

        A level is in transformed units, and zero where targets are not told from one.
        """
        values = np.array(values, dtype=np.float64)
        targets = values[..., : self.targets]
        if self.transform in ("log", "log-return"):
            with np.errstate(invalid="ignore", divide="ignore"):
                np.log(targets, out=targets)
        level = np.zeros((len(values), self.targets))
        if self.relative:
            level = last_observed(targets[:, :look_back])
            targets[:, look_back:] -= level[:, None]
            targets[:, 1:look_back] = np.diff(targets[:, :look_back], axis=1)
            targets[:, 0] = np.nan  # the step before the first is not known
        values -= self.mean
        values /= self.deviation
        return values[:, :look_back], values[:, look_back:], level

    def undo(self, forecast: ArrayLike, level: ArrayLike) -> Values:
        """Return a forecast (…, H, V) from a level (…, V) in the data's own units."""
        values = self.transformed(forecast, level)
        return np.exp(values) if self.transform in ("log", "log-return") else values

    def transformed(self, forecast: ArrayLike, level: ArrayLike) -> Values:
        """Return a forecast (…, H, V) from a level (…, V) in transformed units: of logarithms where there are some."""
        found: Values = np.asarray(forecast, dtype=np.float64) * self.units + self.mean[: self.targets]
        found += np.asarray(level)[..., None, :]
        return found


def last_observed(values: Values) -> Values:
    """Return the last value (B, V) that is there, of values (B, L, V); NaN where none is."""
    there = ~np.isnan(values)
    place = values.shape[1] - 1 - np.argmax(there[:, ::-1], axis=1)  # (B, V)
    found: Values = np.take_along_axis(values, place[:, None], axis=1)[:, 0]
    return found


def measure(
    store: SeriesStore, begin: NDArray[np.int64], end: NDArray[np.int64], data: SeriesData
) -> tuple[list[float], list[float]]:
    """Return mean and deviation of each column over the training rows, begin (K,) to end (K,) of each series' own.

    Steps of one row to the next keep their mean: where nothing is known, the best forecast is to stay. A column that is
    constant has deviation 1, so that it is 0 to the model.
    """
    targets, width = len(data.targets), len(store.columns)
    with np.errstate(over="ignore", invalid="ignore"):  # squares of values that are too large
        count, mean, squares = _moments(store, begin, end, data)
    for place in np.flatnonzero(count[:targets] == 0):
        raise DataError(
            f"column {store.columns[place]!r} has no values in the training rows; leave it out of data.targets."
        )
    for place in np.flatnonzero(~np.isfinite(squares)):
        raise DataError(
            f"column {store.columns[place]!r} has values too large to be scaled in the training rows; mend them, or leave "
            "the cells empty."
        )
    if data.relative:
        squares[:targets] += count[:targets] * mean[:targets] ** 2
        mean[:targets] = 0.0
    deviation = np.sqrt(squares / np.maximum(count, 1))
    if data.paths:  # one unit for x and y, or a turned path would be another one
        deviation[:targets] = np.sqrt((deviation[:targets] ** 2).mean())
    deviation[deviation <= 1e-12 * np.maximum(np.abs(mean), 1.0)] = 1.0
    if data.scale == "none":
        mean, deviation = np.zeros(width), np.ones(width)
    return mean.tolist(), deviation.tolist()


def _moments(
    store: SeriesStore, begin: NDArray[np.int64], end: NDArray[np.int64], data: SeriesData
) -> tuple[Values, Values, Values]:
    """Return how many values each column has (C,), their mean, and the sum of squares of what is off it."""
    targets, width = len(data.targets), len(store.columns)
    count, mean, squares = np.zeros(width), np.zeros(width), np.zeros(width)
    for k, row, last in parts(store, begin, end):
        first = row - 1 if data.relative and row > store.offsets[k] + begin[k] else row  # the step into the first row
        values = np.array(store.values[first:last], dtype=np.float64)
        part = values[:, :targets]
        if data.transform in ("log", "log-return"):
            np.log(part, out=part)
        if data.relative:
            part[1:] = np.diff(part, axis=0)
            part[0] = np.nan
        values = values[row - first :]
        there = ~np.isnan(values)
        found = there.sum(axis=0)
        own = np.where(there, values, 0.0).sum(axis=0) / np.maximum(found, 1)
        off = np.where(there, values - own, 0.0)
        both = np.maximum(count + found, 1)
        squares += (off**2).sum(axis=0) + (own - mean) ** 2 * count * found / both
        mean += (own - mean) * found / both
        count += found
    return count, mean, squares
