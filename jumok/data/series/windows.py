"""Windows of series, made on the fly: what was, and what comes next.

number of a window → series and row of its first target → rows before and after it (B, L + H, C) → scaled arrays
A window belongs to the split that its targets lie in; its look-back may reach before the split.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jumok.config import SeriesData
from jumok.data.series.scaling import Scaling, Values
from jumok.data.series.series_store import SeriesStore

# B windows · L look-back · H horizon · C columns · V targets · K series · F static features

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class WindowArrays:
    """Some windows as a model sees them; 0 where a value is missing, and told so."""

    past: NDArray[np.float32]  # (B, L, C)
    observed: NDArray[np.bool_]  # (B, L, C)
    known: NDArray[np.float32]  # (B, H, known columns)
    static: NDArray[np.float32]  # (B, F)
    future: NDArray[np.float32]  # (B, H, V)
    future_observed: NDArray[np.bool_]  # (B, H, V)
    level: Values  # (B, V) that targets start from, in transformed units


class Windows:
    """The windows of a split."""

    def __init__(self, store: SeriesStore, data: SeriesData, begin: Numbers, end: Numbers) -> None:
        """Take the rows begin (K,) to end (K,), of each series' own, that targets may lie in; data is filled in."""
        self.store, self.data, self.begin, self.end = store, data, begin, end
        first = np.maximum(begin, data.look_back)  # the row of the first window's first target
        self.first = first
        self.counts = np.maximum(end - data.horizon + 1 - first, 0)  # (K,)
        self._ends = np.cumsum(self.counts)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    @cached_property
    def scaling(self) -> Scaling:
        """How values become what a model sees."""
        return Scaling.of(self.data)

    def locate(self, numbers: Numbers) -> tuple[Numbers, Numbers]:
        """Return the series (B,) of windows, and the row of its own (B,) that is the first target."""
        series = np.searchsorted(self._ends, numbers, side="right")
        return series, numbers - (self._ends - self.counts)[series] + self.first[series]

    def values(self, numbers: Numbers) -> Values:
        """Return the rows (B, L + H, C) of windows as the table has them."""
        series, row = self.locate(numbers)
        start = self.store.offsets[series] + row - self.data.look_back
        found: Values = self.store.values[start[:, None] + np.arange(self.data.look_back + self.data.horizon)]
        return found

    def dates(self, numbers: Numbers) -> Numbers:
        """Return the dates (B, L + H) of windows."""
        series, row = self.locate(numbers)
        start = self.store.offsets[series] + row - self.data.look_back
        found: Numbers = self.store.dates[start[:, None] + np.arange(self.data.look_back + self.data.horizon)]
        return found

    def arrays(self, numbers: Numbers) -> WindowArrays:
        """Return windows as a model sees them."""
        return scaled(self.values(numbers), self.store.static[self.locate(numbers)[0]], self.data, self.scaling)

    def in_order(self, size: int) -> Iterator[Numbers]:
        """Yield the numbers of all windows, so many at a time."""
        for first in range(0, len(self), size):
            yield np.arange(first, min(first + size, len(self)))


def scaled(values: Values, static: Values, data: SeriesData, scaling: Scaling) -> WindowArrays:
    """Return rows (B, L + H, C) and static features (B, F) as a model sees them; H may be less than data.horizon."""
    past, future, level = scaling.apply(values, data.look_back)
    targets, known = len(data.targets), values.shape[2] - len(data.targets) - len(data.past)
    wanted = future[..., :targets]
    return WindowArrays(
        past=np.nan_to_num(past, nan=0.0).astype(np.float32),
        observed=~np.isnan(past),
        known=np.nan_to_num(future[..., values.shape[2] - known :], nan=0.0).astype(np.float32),
        static=static.astype(np.float32),
        future=np.nan_to_num(wanted, nan=0.0).astype(np.float32),
        future_observed=~np.isnan(wanted),
        level=level,
    )
