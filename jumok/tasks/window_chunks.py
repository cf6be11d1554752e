"""Windows as scores and floors see them: levels, chunk by chunk, and what the training rows tell of each series.

windows → chunks of levels (B, R + H, V), transformed: logarithms where the transform has some
training rows → seasonal naive error and deviation of steps of each series → Ground
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jumok.data.series.windows import WindowArrays, Windows
from jumok.evaluation.forecast_floors import EWMA_STEPS, carried
from jumok.evaluation.forecasts import Mask, Numbers, Values

# B windows · L look-back · R steps of the past that floors read · H horizon · V targets · S series · K stretches of them

VALUES = 1 << 20  # numbers of an array, about: a bound on memory
MOST_ROWS = 512  # windows of a chunk


@dataclass(frozen=True)
class Chunk:
    """Some windows, as floors and as a model see them."""

    numbers: Numbers  # (B,)
    stretch: Numbers  # (B,): series of the store
    past: Values  # (B, R, V) transformed; NaN where missing
    complete: Values  # (B, R, V) without missing values
    future: Values  # (B, H, V) transformed; NaN where missing
    observed: Mask  # (B, H, V)
    arrays: WindowArrays


def chunks(windows: Windows, numbers: Numbers | None = None, width: int = 1) -> Iterator[Chunk]:
    """Yield windows in their order, or those of some numbers; width is how many numbers are said of a value."""
    data, store = windows.data, windows.store
    before = max(data.look_back, data.season, EWMA_STEPS)
    targets = len(data.targets)
    rows = max(min(VALUES // ((before + data.horizon * width) * targets), MOST_ROWS), 1)
    numbers = np.arange(len(windows)) if numbers is None else numbers
    for first in range(0, len(numbers), rows):
        some = numbers[first : first + rows]
        stretch, row = windows.locate(some)
        places = row[:, None] + np.arange(-before, data.horizon)  # (B, R + H)
        read = store.values[store.offsets[stretch][:, None] + np.maximum(places, 0)]
        values = transformed(read, data.transform, targets)
        values[places < 0] = np.nan
        arrays = windows.arrays(some)
        past, future = values[:, :before], values[:, before:]
        complete = carried(past, windows.scaling.mean[:targets])
        observed = arrays.future_observed & ~np.isnan(future)
        yield Chunk(some, stretch, past, complete, future, observed, arrays)


def transformed(rows: Values, transform: str, targets: int) -> Values:
    """Return the targets (…, V) of rows (…, C): their logarithms where the transform has some."""
    values = np.array(rows[..., :targets], dtype=np.float64)
    if transform in ("log", "log-return"):
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.log(values)
        values[~np.isfinite(values)] = np.nan
    return values


@dataclass(frozen=True)
class Ground:
    """What the training rows tell of each series that is scored."""

    names: list[str]  # (S,)
    of_stretch: Numbers  # (K,): which series each stretch of the store belongs to
    naive: Values  # (S, V): the seasonal naive error, mean absolute; 0 where there is no such row
    deviation: Values  # (S, V) of one step to the next; of all series together where there is none

    @classmethod
    def of(cls, windows: Windows, train: Windows | None) -> "Ground":
        """Measure the training rows, block by block; without any, those that stand before the windows' targets."""
        names = list(dict.fromkeys(windows.store.names))
        number = {name: place for place, name in enumerate(names)}
        targets = len(windows.data.targets)
        naive, naives, squares, steps = (np.zeros((len(names) + 1, targets)) for _ in range(4))
        for name, overlap, rows in rows_before(windows, train):
            series = number.get(name, -1)  # the last place is for series that are not scored
            change, step = (
                np.abs(rows[lag:] - rows[:-lag])[max(overlap - lag, 0) :] for lag in (max(windows.data.season, 1), 1)
            )
            naive[series] += np.nansum(change, axis=0)
            naives[series] += (~np.isnan(change)).sum(axis=0)
            squares[series] += np.nansum(step**2, axis=0)
            steps[series] += (~np.isnan(step)).sum(axis=0)
        together = np.sqrt(squares.sum(axis=0) / np.maximum(steps.sum(axis=0), 1))
        return cls(
            names,
            np.array([number[name] for name in windows.store.names], dtype=np.int64),
            (naive / np.maximum(naives, 1))[:-1],
            np.where(steps > 0, np.sqrt(squares / np.maximum(steps, 1)), together)[:-1],
        )


def rows_before(windows: Windows, train: Windows | None) -> Iterator[tuple[str, int, Values]]:
    """Yield blocks of training rows: the name of their series, how many stood in the block before, and targets (n, V)."""
    data, chosen = windows.data, train or windows
    store, season = chosen.store, max(windows.data.season, 1)
    size = max(VALUES // len(data.targets), 2 * season)
    for stretch, name in enumerate(store.names):
        begin, end = (chosen.begin[stretch], chosen.end[stretch]) if train else (0, chosen.begin[stretch])
        first = int(store.offsets[stretch])
        for place in range(int(begin), int(end), size):
            overlap = min(place - int(begin), season)
            rows = store.values[first + place - overlap : first + min(place + size, int(end))]
            yield name, overlap, transformed(rows, data.transform, len(data.targets))
