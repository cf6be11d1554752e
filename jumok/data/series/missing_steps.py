"""Missing steps of series: where there are some, a series is split in two, or rows without values are filled in.

values, dates and offsets of a folder → the same with stretches as series, or with rows filled in; and what to tell of it
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jumok.config.series_data import Calendar
from jumok.data.series.dates import Dates, shown
from jumok.data.series.steps import Interval, calendar_features, looked_at, usual_interval
from jumok.data.store import map_array
from jumok.errors import DataError, counted

# N rows · C columns · K series

ROWS = 1 << 16
MOST_FILLED = 10  # times as many rows as there are
HOLIDAYS = 0.06  # share of business days that may be missing


@dataclass(frozen=True)
class UnevenSteps:
    """Steps that are not the usual one."""

    usual: Interval
    count: int
    steps: int  # in all
    longest: str  # where the longest is, in words

    def __str__(self) -> str:
        return f"{self.count:,} of {self.steps:,} steps are not the usual {self.usual} (the longest is {self.longest})"


def uneven_steps(dates: Dates, offsets: NDArray[np.int64], names: list[str], kind: str) -> UnevenSteps | None:
    """Return what to know of steps that are not all alike; holidays among business days are no matter."""
    usual = usual_interval(looked_at(dates, offsets), kind)
    if kind == "row" or usual is None:
        return None
    count, longest, place = 0, 0, 0
    for begin in range(0, len(dates) - 1, ROWS):
        part = np.array(dates[begin : begin + ROWS + 1])
        far, whole = usual.places(part)
        inside = ~np.isin(np.arange(begin + 1, begin + len(part)), offsets)
        count += int((inside & ((far != 1) | ~whole)).sum())
        steps = np.where(inside, np.diff(part), 0)
        if steps.max() > longest:
            longest, place = int(steps.max()), begin + int(steps.argmax())
    in_all = len(dates) - len(names)
    if count <= (HOLIDAYS * in_all if usual.unit == "business" else 0):
        return None
    name = names[int(np.searchsorted(offsets, place, side="right")) - 1]
    where = f"after {shown(int(dates[place]), kind)}" + (f" in series {name}" if name else "")
    return UnevenSteps(usual, count, in_all, where)


def divide(
    dates: Dates, offsets: NDArray[np.int64], interval: Interval
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Return new offsets, so that no stretch has a missing step, the old series of each stretch, and notes."""
    breaks = [offsets]
    for begin in range(0, len(dates) - 1, ROWS):
        far, whole = interval.places(np.array(dates[begin : begin + ROWS + 1]))
        breaks.append(begin + 1 + np.flatnonzero((far != 1) | ~whole))
    found = np.unique(np.concatenate(breaks))
    series = np.searchsorted(offsets, found[:-1], side="right") - 1
    uneven = len(found) - len(offsets)
    note = f"{counted(uneven, 'step')} of more or less than {interval}: series are split there, into {len(series):,}"
    return found, series, [note] if uneven else []


def fill(
    folder: Path,
    offsets: NDArray[np.int64],
    names: list[str],
    interval: Interval,
    *,
    columns: int,
    kind: str,
    calendar: list[Calendar],
) -> tuple[NDArray[np.int64], list[str]]:
    """Write a row of missing values for each step that is missing in a folder's files; return new offsets, and notes.

    What the calendar tells, the last columns, is there in such rows, too.
    """
    filled, new = 0, [0]
    old_rows = int(offsets[-1])
    with (folder / "values.filled").open("wb") as to_values, (folder / "dates.filled").open("wb") as to_dates:
        for k, name in enumerate(names):
            length = 0
            for begin in range(int(offsets[k]), int(offsets[k + 1]), ROWS):
                end = min(begin + ROWS, int(offsets[k + 1]))
                more = end < int(offsets[k + 1])
                dates = np.array(map_array(folder / "dates", "<i8")[begin : end + more])
                values = map_array(folder / "values", "<f8").reshape(-1, columns)[begin:end]
                far, whole = interval.places(dates)
                _refuse_uneven(dates, far, whole, interval, name=name, kind=kind)
                places = np.concatenate([[0], np.cumsum(far)])
                rows = int(places[-1]) if more else int(places[-1]) + 1
                filled += rows - (end - begin)
                if filled > MOST_FILLED * old_rows:
                    raise DataError(
                        f"data.missing = 'fill' would make more than {MOST_FILLED} times as many rows of steps of {interval}; "
                        "is data.interval right? Or set data.missing = 'split'."
                    )
                for first in range(0, rows, ROWS):
                    steps = np.arange(first, min(first + ROWS, rows))
                    found, when = _rows(dates, values, places[: end - begin], steps, interval)
                    if calendar:
                        found[:, -2 * len(calendar) :] = calendar_features(when, calendar)
                    to_values.write(found.astype("<f8").data)
                    to_dates.write(when.astype("<i8").data)
                length += rows
            new.append(new[-1] + length)
    for name in ("values", "dates"):
        (folder / f"{name}.filled").replace(folder / name)
    return np.array(new, dtype=np.int64), [
        f"{counted(filled, 'missing step')} of {interval} filled in as missing"
    ] * bool(filled)


def _rows(
    dates: Dates, values: NDArray[np.float64], places: NDArray[np.int64], steps: NDArray[np.int64], interval: Interval
) -> tuple[NDArray[np.float64], Dates]:
    """Return the values and dates of steps (n,), of rows that stand at some places of a series; NaN where none does."""
    before = np.searchsorted(places, steps, side="right") - 1  # the last row that is there
    there = places[before] == steps
    found = np.full((len(steps), values.shape[1]), np.nan)
    found[there] = values[before[there]]
    return found, interval.after(dates[before], steps - places[before])


def _refuse_uneven(
    dates: Dates, far: NDArray[np.int64], whole: NDArray[np.bool_], interval: Interval, *, name: str, kind: str
) -> None:
    """Refuse a date that is no whole number of steps after the one before."""
    wrong = np.flatnonzero(~whole | (far < 1))
    if not len(wrong):
        return
    one, other = (shown(int(dates[wrong[0] + after]), kind) for after in (0, 1))
    raise DataError(
        f"{f'series {name}: ' if name else ''}from {one} to {other} is no whole number of steps of {interval}, so what is "
        "missing cannot be filled in; set data.interval to what lies between two steps, or data.missing = 'split'."
    )
