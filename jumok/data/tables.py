"""Tables with named columns: TSV, CSV and JSONL (each plain or .gz), and Parquet."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jumok.data.files import read_lines, unreadable
from jumok.errors import DataError, MissingExtraError, counted
from jumok.reading import json_of

Columns = Mapping[str, int | str]  # a recipe's keys, and the column that each names
TABLE_SUFFIXES = (".tsv", ".csv", ".jsonl", ".parquet")
NAMED_SUFFIXES = (".jsonl", ".parquet")  # whose columns have names; the first row of the others may be data


def is_table(path: Path) -> bool:
    """Return whether a file's name is that of a table."""
    return path.name.lower().removesuffix(".gz").endswith(TABLE_SUFFIXES)


def read_columns(path: Path, columns: Columns) -> Iterator[tuple[str, ...]]:
    """Yield the wanted columns of each row, in the order they are asked for; what is no text is refused."""
    for number, row in read_values(path, columns):
        yield tuple(_as_text(value, path, number) for value in row)


def read_values(path: Path, columns: Columns) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield line or row, and the wanted columns of each as they are: in JSONL and Parquet, whatever they hold."""
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".parquet"):
        return _read_parquet(path, columns)
    if name.endswith(".jsonl"):
        return _read_jsonl(path, columns)
    if name.endswith((".tsv", ".csv")):
        return _read_rows(path, columns)
    raise DataError(
        f"{path} is no table that jumok knows; a name ending in {', '.join(TABLE_SUFFIXES)} (or .gz) is needed."
    )


def read_whole_rows(path: Path) -> Iterator[list[str]]:
    """Yield all columns of each row, whatever they hold; of JSONL and Parquet, the columns' names first.

    A value that is no text, such as a list, is left empty.
    """
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".jsonl"):
        yield from _whole_objects(row for _, row in json_objects(path))
    elif name.endswith(".parquet"):
        yield from _whole_objects(_parquet_objects(path))
    else:
        yield from (row for _, row in _split_rows(path))


def _whole_objects(rows: Iterator[dict[str, Any]]) -> Iterator[list[str]]:
    names: list[str] = []
    for row in rows:
        if not names:
            names = list(row)
            yield names
        yield [str(row[name]) if _is_text(row.get(name)) else "" for name in names]


def _numbers(path: Path, columns: Columns, names: Sequence[str]) -> list[int]:
    """Return the numbers of columns given by number or name."""
    numbers = []
    for wanted in columns.values():
        if isinstance(wanted, str) and names.count(wanted) > 1:
            raise DataError(f"{path} has {names.count(wanted)} columns named {wanted!r}; rename all but one of them.")
        if isinstance(wanted, str) and wanted in names:
            numbers.append(names.index(wanted))
        elif isinstance(wanted, int) and 0 <= wanted < len(names):
            numbers.append(wanted)
        else:
            raise DataError(f"{path} has no column {wanted!r}; it has {_listed(names)}. Set {_joined(columns)}.")
    return numbers


def _joined(parts: Iterable[object]) -> str:
    *before, last = map(str, parts)
    return f"{', '.join(before)} and {last}" if before else last


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"{number} ({name})" for number, name in enumerate(names)) or "none"


def _read_rows(path: Path, columns: Columns) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield rows of a TSV (no quoting: a quotation mark is text) or CSV (quoted) file."""
    rows = _split_rows(path)
    if any(isinstance(wanted, str) for wanted in columns.values()):
        _, header = next(rows, (0, []))
        numbers = _numbers(path, columns, header)
    else:
        numbers = [int(wanted) for wanted in columns.values()]
    for number, row in rows:
        if min(numbers) < 0 or max(numbers) >= len(row):
            needed = f"columns {_joined(numbers)}, counted from 0, are" if numbers[1:] else f"column {numbers[0]} is"
            raise DataError(
                f"{path} line {number:,} has {counted(len(row), 'column')} ({_shortened(row)}); {needed} "
                f"needed. Set {_joined(columns)}, or mend the line."
            )
        yield number, tuple(row[column] for column in numbers)


def _split_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and columns of each row that is not blank."""
    lines = read_lines(path)
    if path.name.lower().removesuffix(".gz").endswith(".tsv"):
        yield from ((number, line.split("\t")) for number, line in enumerate(lines, start=1) if line)
        return
    rows = csv.reader((line + "\n" for line in lines), strict=True)
    try:
        yield from ((rows.line_num, row) for row in rows if row)
    except csv.Error as error:
        raise DataError(f"{path} line {rows.line_num:,} cannot be read as a row ({error}); mend the line.") from None


def _shortened(row: Sequence[str]) -> str:
    text = " | ".join(row)
    return text if len(text) <= 60 else text[:57] + "…"


def _read_jsonl(path: Path, columns: Columns) -> Iterator[tuple[int, tuple[Any, ...]]]:
    for number, row in json_objects(path):
        yield number, values_of(row, columns, Path(f"{path} line {number:,}"))


def values_of(row: Mapping[str, Any], columns: Columns, place: Path) -> tuple[Any, ...]:
    """Return the wanted columns of a JSON object, by name or by number."""
    names = list(row)
    return tuple(row[names[column]] for column in _numbers(place, columns, names))


def json_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line number and object of each line that is not blank."""
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            row = json_of(line)
        except ValueError as error:
            raise DataError(f"{path} line {number:,} is no JSON ({error}); each line must be one object.") from None
        if not isinstance(row, dict):
            raise DataError(
                f'{path} line {number:,} is no JSON object: {line[:60]}; each line must be like {{"en": …}}.'
            )
        yield number, row


def _is_text(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _as_text(value: Any, path: Path, number: int) -> str:
    if value is None:
        return ""
    if _is_text(value):
        return str(value)
    raise DataError(f"{path} row {number:,} holds {type(value).__name__} {str(value)[:40]!r}; text is needed.")


def _read_parquet(path: Path, columns: Columns) -> Iterator[tuple[int, tuple[Any, ...]]]:
    with open_parquet(path) as file:
        names = file.schema_arrow.names
        wanted = [names[column] for column in _numbers(path, columns, names)]
        number = 0
        for batch in file.iter_batches(batch_size=4096, columns=list(dict.fromkeys(wanted))):
            for row in zip(*(batch.column(name).to_pylist() for name in wanted), strict=True):
                number += 1
                yield number, row


def _parquet_objects(path: Path) -> Iterator[dict[str, Any]]:
    with open_parquet(path) as file:
        for batch in file.iter_batches(batch_size=4096):
            yield from batch.to_pylist()


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file; what is wrong with it is a DataError, while it is read, too."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet", f"Reading {path.name}") from None
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield file
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno:
            raise unreadable(path, error) from None
        raise DataError(
            f"{path} is no whole Parquet file; write it again."
        ) from None  # the library's words help nobody
