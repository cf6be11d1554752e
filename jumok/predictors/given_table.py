"""What a forecaster is given: a table's file or its content, columns, an array, as series and what is known ahead of them.

file, or content or columns written to one → read_new_table; array (L, V) → one series → NewTable
"""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from jumok.config import SeriesData
from jumok.data.series.new_table import NewTable, read_new_table, temporary_folder
from jumok.data.series.series_store import SeriesStore
from jumok.errors import DataError, counted

# L steps · V targets · K series


class ColumnsByName(Protocol):
    """A dict of lists, a data frame: whatever has columns by name."""

    def keys(self) -> Any:
        """Return the names."""

    def __getitem__(self, name: Any, /) -> Any:
        """Return a column."""


GivenTable = str | Path | bytes | ColumnsByName | NDArray[Any] | SeriesStore


def read_given(table: GivenTable, data: SeriesData) -> NewTable:
    """Return the series of a table for a model of data."""
    if isinstance(table, SeriesStore):
        return NewTable(table, np.zeros(len(table), dtype=np.int64), [])
    if isinstance(table, str | Path):
        return read_new_table(Path(table), data)
    if isinstance(table, bytes):
        return _of_bytes(table, data)
    if isinstance(table, np.ndarray):
        return _of_array(table, data)
    if not hasattr(table, "keys"):
        raise DataError(
            f"a table is a file, columns by name or an array (steps, columns), not {type(table).__name__}; give one, for "
            "example forecast('table.csv')"
        )
    return _of_columns(table, data)


def _of_bytes(content: bytes, data: SeriesData) -> NewTable:
    """Return the series of a table that came through a pipe, in CSV or, if it begins with a brace, in JSONL."""
    suffix = ".jsonl" if content.lstrip()[:1] == b"{" else ".csv"
    with _as_file("standard input", suffix) as path:
        path.write_bytes(content)
        return read_new_table(path, data)


def _of_columns(table: ColumnsByName, data: SeriesData) -> NewTable:
    columns = {str(name): _cells(table[name]) for name in table.keys()}  # noqa: SIM118 - of a data frame they differ
    lengths = {name: len(cells) for name, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length:,}" for name, length in list(lengths.items())[:5])
        raise DataError(f"the columns of the table have different lengths ({told}); give one value for each step")
    with _as_file("the table", ".csv") as path:
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])
        return read_new_table(path, data)


def _cells(column: Any) -> list[str]:
    """Return the values of a column as a file has them: a number with all its digits, nothing where one is missing."""
    values = np.asarray(column)
    if values.ndim != 1:
        raise DataError(
            f"a column of the table has the shape {values.shape}; a list of values, one per step, is needed"
        )
    if values.dtype.kind == "M":
        return ["" if np.isnat(value) else str(value) for value in values]
    return ["" if value is None or value != value else str(value) for value in values.tolist()]


def _of_array(values: NDArray[Any], data: SeriesData) -> NewTable:
    """Return one series of an array (L, V), or (L,) of a single target."""
    targets = list(map(str, data.targets))
    needed = [f"data.{name}" for name in ("past", "known", "static", "calendar") if getattr(data, name)]
    if needed:
        raise DataError(
            f"an array has only the columns to forecast, and the model also reads {' and '.join(needed)}; "
            "give a table with all columns: a file, or columns by name"
        )
    if values.dtype.kind not in "biuf":
        raise DataError(f"the array holds {values.dtype}; numbers are needed, NaN where one is missing")
    array = values.astype(np.float64)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] != len(targets):
        raise DataError(
            f"the array has the shape {values.shape}; the model needs (steps, {len(targets)}): "
            f"{counted(len(targets), 'column')}, {', '.join(targets[:8])}"
        )
    if np.isinf(array).any():
        raise DataError("the array holds infinite values; put NaN where no value is known")
    rows = len(array)
    offsets = np.array([0, rows], dtype=np.int64)
    store = SeriesStore(array, np.arange(rows), offsets, np.zeros((1, 0)), [""], targets, "row", [])
    return NewTable(store, np.zeros(1, dtype=np.int64), [])


@contextmanager
def _as_file(name: str, suffix: str) -> Iterator[Path]:
    """Yield where a table may be written; messages about it say its name."""
    with temporary_folder() as folder:
        path = folder / f"table{suffix}"
        try:
            yield path
        except DataError as error:
            raise DataError(str(error).replace(str(path), name)) from None
