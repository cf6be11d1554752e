"""Rows of series on their way from tables to a store: appended to files as they come, then put into the order of time.

blocks of rows → files of values, dates and series, in the order of the tables → values and dates, series by series

Memory holds a block of rows, and one number for each row of a series that is not in order.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from jumok.data.series.dates import Dates, shown
from jumok.data.store import map_array
from jumok.errors import DataError, counted

# N rows · C columns · K series

ROWS = 1 << 16  # moved at a time
Key = tuple[str, ...]


@dataclass
class Gathered:
    """Rows in files of a folder, in the order they came."""

    folder: Path
    columns: int  # C
    kind: str = "row"  # of dates; found out by the first table
    names: list[str] = field(default_factory=list)  # (K,)
    counts: list[int] = field(default_factory=list)  # rows (K,)
    firsts: list[int] = field(default_factory=list)  # the first date (K,)
    begins: list[int] = field(default_factory=list)  # where rows without dates begin to count (K,)
    rows: int = 0
    in_order: bool = True  # series by series, each date after the one before
    jumps_back: int = 0  # dates before the one that stands above them
    _last: tuple[int, int] = (-1, 0)  # series and date of the last row
    _files: dict[str, IO[bytes]] = field(default_factory=dict)

    def __enter__(self) -> "Gathered":
        for name in ("values", "dates", "series"):
            self._files[name] = (self.folder / f"{name}.rows").open("wb")
        return self

    def __exit__(self, *error: object) -> None:
        for file in self._files.values():
            file.close()

    def series(self, name: str) -> int:
        """Return the number of a series, a new one where the name is new."""
        self.names.append(name)
        self.counts.append(0)
        self.firsts.append(np.iinfo(np.int64).max)
        return len(self.names) - 1

    def add(
        self, series: NDArray[np.int64], dates: Dates, values: NDArray[np.float64], *, watched: bool = True
    ) -> None:
        """Append rows: the series (n,), date (n,) and values (n, C) of each; watched rows should be in order."""
        if not len(series):
            return
        grouped = np.argsort(series, kind="stable")
        numbers, begins, counts = np.unique(series[grouped], return_index=True, return_counts=True)
        for number, count, first in zip(numbers, counts, np.minimum.reduceat(dates[grouped], begins), strict=True):
            self.counts[number] += int(count)
            self.firsts[number] = min(self.firsts[number], int(first))
        whole = np.concatenate([[self._last[0]], series])
        same = whole[1:] == whole[:-1]
        later = np.diff(np.concatenate([[self._last[1]], dates]))
        self.in_order &= bool(((whole[1:] > whole[:-1]) | (same & (later > 0))).all())
        if watched:
            self.jumps_back += int((same & (later < 0)).sum())
        self._last = int(series[-1]), int(dates[-1])
        self.rows += len(series)
        for name, array, dtype in (("values", values, "<f8"), ("dates", dates, "<i8"), ("series", series, "<i8")):
            self._files[name].write(np.ascontiguousarray(array, dtype=dtype).data)

    def mapped(self, name: str) -> NDArray[np.generic]:
        """Return the values, dates or series of all rows, as they came."""
        for file in self._files.values():
            file.flush()
        found = map_array(self.folder / f"{name}.rows", "<f8" if name == "values" else "<i8")
        return found.reshape(-1, self.columns) if name == "values" else found

    def put_in_order(self) -> tuple[NDArray[np.int64], list[str]]:
        """Write values and dates series by series in the order of time; return offsets (K + 1,), and notes.

        A row that stands there twice is left out. Two different rows of one date are refused.
        """
        offsets = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)
        if self.in_order:
            self.__exit__()
            for name in ("values", "dates"):
                (self.folder / f"{name}.rows").rename(self.folder / name)
            (self.folder / "series.rows").unlink()
            return offsets, []
        order, dates = self._grouped(offsets)
        kept = np.ones(len(self.names), dtype=np.int64)
        dropped = 0
        for k in range(len(self.names)):
            span = slice(int(offsets[k]), int(offsets[k + 1]))
            steps = np.diff(dates[span])
            if (steps < 0).any():
                by_date = np.argsort(dates[span], kind="stable")
                order[span], dates[span] = order[span][by_date], dates[span][by_date]
                steps = np.diff(dates[span])
            if (steps == 0).any():
                dropped += self._drop_equal(k, order[span], dates[span])
            kept[k] = int((order[span] >= 0).sum())
        self._write(order, dates)
        notes = []
        if self.jumps_back:
            notes.append(
                f"rows are not in the order of time ({counted(self.jumps_back, 'step')} back); they are sorted"
            )
        if dropped:
            notes.append(f"left out, as they stand there twice: {counted(dropped, 'row')}")
        return np.concatenate([[0], np.cumsum(kept)]).astype(np.int64), notes

    def _grouped(self, offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], Dates]:
        """Return the row and the date of each place of the ordered store, in files; dates of a series may be unordered."""
        order, dates = (_room(self.folder / name, self.rows) for name in ("order.rows", "dates.grouped"))
        free = offsets[:-1].copy()  # the next free place of each series
        for begin in range(0, self.rows, ROWS):
            series = np.array(self.mapped("series")[begin : begin + ROWS], dtype=np.int64)
            grouped = np.argsort(series, kind="stable")
            numbers, first, counts = np.unique(series[grouped], return_index=True, return_counts=True)
            within = np.arange(len(series)) - np.repeat(first, counts)
            places = free[series[grouped]] + within
            order[places] = begin + grouped
            dates[places] = self.mapped("dates")[begin : begin + ROWS][grouped]
            free[numbers] += counts
        return order, dates

    def _drop_equal(self, k: int, order: NDArray[np.int64], dates: Dates) -> int:
        """Mark rows of series k that repeat the one before with -1, and count them; other rows of one date are refused."""
        values = self.mapped("values")
        twice = np.flatnonzero(np.diff(dates) == 0)
        for place in twice:
            if not np.array_equal(values[order[place]], values[order[place + 1]], equal_nan=True):
                name = f"series {self.names[k]}" if self.names[k] else "the table"
                raise DataError(
                    f"{name} has the date {shown(int(dates[place]), self.kind)} twice, with different values "
                    f"({counted(len(twice), 'date')} in all); remove one row of each, or name the columns that tell series "
                    "apart in data.id."
                )
        order[twice + 1] = -1
        return len(twice)

    def _write(self, order: NDArray[np.int64], dates: Dates) -> None:
        with (self.folder / "values").open("wb") as to_values, (self.folder / "dates").open("wb") as to_dates:
            for begin in range(0, self.rows, ROWS):
                chosen = np.array(order[begin : begin + ROWS])
                there = chosen >= 0
                to_values.write(np.ascontiguousarray(self.mapped("values")[chosen[there]]).data)
                to_dates.write(np.ascontiguousarray(dates[begin : begin + ROWS][there]).data)
        self.__exit__()
        for name in ("values.rows", "dates.rows", "series.rows", "order.rows", "dates.grouped"):
            (self.folder / name).unlink()


def _room(path: Path, count: int) -> NDArray[np.int64]:
    """Return a file of so many numbers to write into; its room is taken first, for a full disk kills who writes to a map."""
    with path.open("wb") as file:
        for begin in range(0, count, ROWS):
            file.write(bytes(8 * min(ROWS, count - begin)))
    return np.memmap(path, "<i8", "r+").view(np.ndarray)


def grouped_ranks(series: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of each row (n,) in its series, which has so many rows (K,) already."""
    order = np.argsort(series, kind="stable")
    _, first, found = np.unique(series[order], return_index=True, return_counts=True)
    ranks = np.empty(len(series), dtype=np.int64)
    ranks[order] = np.arange(len(series)) - np.repeat(first, found)
    return ranks + counts[series]
