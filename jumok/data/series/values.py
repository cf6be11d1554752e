"""What is wrong, or worth telling, of the values of a store: no logarithm, too large, columns that never change."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from jumok.config import SeriesData
from jumok.data.series.dates import shown
from jumok.data.series.series_store import SeriesStore
from jumok.errors import DataError, counted

# K series · C columns

ROWS = 1 << 16

LARGEST = 1e18  # deviations from the mean of the training rows; the square of more is no float32

Numbers = NDArray[np.int64]


def parts(store: SeriesStore, begin: Numbers, end: Numbers) -> Iterator[tuple[int, int, int]]:
    """Yield series and rows of the store, from one to another, of the rows begin (K,) to end (K,) of each series.

    A part has ROWS rows at most.
    """
    for k in range(len(store)):
        first, last = int(store.offsets[k] + begin[k]), int(store.offsets[k] + end[k])
        for row in range(first, last, ROWS):
            yield k, row, min(row + ROWS, last)


def refuse_no_logarithm(store: SeriesStore, begin: Numbers, end: Numbers, data: SeriesData) -> None:
    """Refuse values to forecast that have no logarithm, where data.transform takes it; looks back as far as windows do."""
    if data.transform not in ("log", "log-return"):
        return
    found, first = 0, None
    for k, row, last in parts(store, np.maximum(begin - data.look_back, 0), end):
        wrong = store.values[row:last, : len(data.targets)] <= 0
        if wrong.any():
            found += int(wrong.sum())
            first = first or (k, row + int(np.argmax(wrong.any(axis=1))))
    if first is None:
        return
    k, row = first
    column = store.columns[int(np.argmax(store.values[row, : len(data.targets)] <= 0))]
    name = f" of series {store.names[k]}" if store.names[k] else ""
    raise DataError(
        f"{counted(found, 'value')} to forecast {'is' if found == 1 else 'are'} zero or negative, which has no logarithm "
        f"({column!r}{name}, {shown(int(store.dates[row]), store.date_kind)}); set data.transform = 'difference' or 'none', "
        "or leave the cells empty."
    )


def refuse_too_large(store: SeriesStore, series: int, first: int, last: int, data: SeriesData) -> None:
    """Refuse values in rows of the store, of one series, that a model cannot tell from infinity; data is filled in."""
    large = np.abs(store.values[first:last] - data.mean) > LARGEST * np.asarray(data.deviation)
    if large.any():
        row, column = (int(place) for place in np.argwhere(large)[0])
        name = f" of series {store.names[series]}" if store.names[series] else ""
        raise DataError(
            f"column {store.columns[column]!r}{name} is {store.values[first + row, column]:g} at "
            f"{shown(int(store.dates[first + row]), store.date_kind)}, far beyond all that the training rows hold; mend the "
            "value, or leave the cell empty."
        )


def constant_notes(store: SeriesStore, data: SeriesData) -> list[str]:
    """Return a note of the columns that never change in the training rows; data is filled in."""
    if data.scale == "none":
        return []
    constant = [name for name, deviation in zip(store.columns, data.deviation, strict=True) if deviation == 1.0]
    return [f"columns that are constant in the training rows: {', '.join(constant)}"] if constant else []
