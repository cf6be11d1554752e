"""Where val and test begin in a table: at a date, at a row of each series, or after a share of the rows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jumok.data.series.dates import microseconds, parse_date
from jumok.data.series.series_store import SeriesStore
from jumok.errors import ConfigError

# K series

MOST_DATES = 1_000_000  # that are sorted to find a share


@dataclass(frozen=True)
class Border:
    """The first date of a split, or where dates are those of rows, or a row is named, a row of each series."""

    date: int | None = None
    row: int | None = None
    share: float | None = None


def border_of(store: SeriesStore, given: int | float | str, key: str) -> Border:
    """Return where data.key divides a store: by date, row or share.

    With dates a share becomes one date for all series, for what one series does at a time may tell of another.
    """
    if isinstance(given, str):
        if store.date_kind == "row":
            raise ConfigError(
                f"data.{key} = '{given}' is a date, and data.date names no column; give a row, or a share"
            )
        if store.date_kind == "number":
            if not given.strip().lstrip("+-").isdigit():
                raise ConfigError(
                    f"data.{key} = '{given}': column data.date has step numbers; give one, such as '1200'"
                )
            return Border(date=int(given))
        try:
            return Border(date=microseconds(parse_date(given.strip())))
        except ValueError:
            raise ConfigError(
                f"data.{key} = '{given}' is no date that jumok can read; write it as 2016-07-01"
            ) from None
    if isinstance(given, int):
        if given < 1:
            raise ConfigError(f"data.{key} = {given}: must be a row of each series, 1 or later, a date or a share")
        return Border(row=given)
    if not 0 < given < 1:
        raise ConfigError(f"data.{key} = {given}: a share must be above 0 and below 1")
    if store.date_kind == "row":
        return Border(share=given)
    if len(set(store.names)) == 1:
        return Border(date=int(store.dates[min(int(given * store.rows), store.rows - 1)]))
    dates = np.array(store.dates[:: max(store.rows // MOST_DATES, 1)])
    place = min(int(given * len(dates)), len(dates) - 1)
    return Border(date=int(np.partition(dates, place)[place]))


def rows_before(store: SeriesStore, border: Border) -> NDArray[np.int64]:
    """Return how many rows (K,) of each series come before a border."""
    lengths = store.lengths
    if border.row is not None:
        return np.minimum(lengths, border.row)
    if border.share is not None:
        return (lengths * border.share).astype(np.int64)
    assert border.date is not None
    spans = zip(store.offsets[:-1], store.offsets[1:], strict=True)
    return np.array([np.searchsorted(store.dates[begin:end], border.date) for begin, end in spans], dtype=np.int64)
