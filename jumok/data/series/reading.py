"""Tables of numbers and dates, read column by column and block by block, so that a long one needs no more memory.

.csv, .tsv, .jsonl (plain or .gz) or .parquet → header, separator → blocks: the cells of each wanted column, and their lines
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.config.series_data import Column
from jumok.data.files import read_blocks
from jumok.data.series.numbers import is_number
from jumok.data.tables import TABLE_SUFFIXES, json_objects, open_parquet
from jumok.errors import DataError, counted, did_you_mean

Cells = list[Any] | NDArray[Any]  # of text files bytes, of JSONL whatever stands there, of Parquet arrays

SEPARATORS = (";", "\t", ",", "|")  # the first of these that the first line has
LONGEST_ROW = 1 << 25  # bytes that quotation marks may hold together; blocks of 4 MB are read
ROWS = 1 << 15  # of a block of JSONL or Parquet
LIKE_A_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{4}-\d\d|\d{4}년")


@dataclass(frozen=True)
class Block:
    """Some rows of a table."""

    columns: list[Cells]  # the cells of each wanted column
    lines: Sequence[int]  # where each row stands in the file


@dataclass(frozen=True)
class Table:
    """A table whose columns are known."""

    path: Path
    names: list[str]
    has_names: bool  # a header, or a format that names its columns
    separator: str = ""
    zones: Mapping[str, str] = field(default_factory=dict)  # of columns of times, where the format knows them

    def number(self, column: Column, use: str) -> int:
        """Return the number of a column that is given by number or name; use is the key of [data] that names it."""
        if isinstance(column, int):
            if 0 <= column < len(self.names):
                return column
            raise DataError(
                f"{self.path} has no column {column}, which {use} names: it has {counted(len(self.names), 'column')}, "
                "counted from 0."
            )
        if self.names.count(column) > 1:
            raise DataError(
                f"{self.path} has {self.names.count(column)} columns named {column!r}; rename all but one of them."
            )
        if column not in self.names:
            near = did_you_mean(column, self.names)
            near += "" if near.endswith("?") else "."
            raise DataError(
                f"{self.path} has no column {column!r}, which {use} names; {near} "
                "Name the columns as the table does, or rename them there."
            )
        return self.names.index(column)

    @property
    def decimal_comma(self) -> bool:
        """Whether a comma in a number stands before its decimals."""
        return self.separator == ";"

    def blocks(self, wanted: Sequence[int]) -> Iterator[Block]:
        """Yield the wanted columns of all rows."""
        name = self.path.name.lower().removesuffix(".gz")
        if name.endswith(".parquet"):
            return _parquet_blocks(self, wanted)
        if name.endswith(".jsonl"):
            return _json_blocks(self, wanted)
        return _text_blocks(self, wanted)


@dataclass(frozen=True)
class MadeTable(Table):
    """A table that is made on the spot."""

    columns: tuple[Cells, ...] = ()

    @classmethod
    def of(cls, name: Path, columns: Mapping[str, Cells]) -> "MadeTable":
        """Return the table of columns by their names."""
        return cls(name, list(columns), True, columns=tuple(columns.values()))

    def blocks(self, wanted: Sequence[int]) -> Iterator[Block]:
        """Yield the wanted columns of all rows."""
        yield Block([self.columns[column] for column in wanted], range(1, len(self.columns[0]) + 1))


def open_table(path: Path, *, by_name: bool) -> Table:
    """Return a table with the names of its columns; by_name says that [data] names some, so that there is a header.

    Otherwise the first row of a text file is a header if none of its cells is a number or a date.
    """
    name = path.name.lower().removesuffix(".gz")
    if not name.endswith(TABLE_SUFFIXES):
        raise DataError(
            f"{path} is no table that jumok knows; a name ending in {', '.join(TABLE_SUFFIXES)} (or .gz) is needed."
        )
    if name.endswith(".parquet"):
        with open_parquet(path) as file:
            schema = file.schema_arrow
            zones = {column.name: zone for column in schema if (zone := _zone_of(column.type))}
            return Table(path, list(schema.names), True, zones=zones)
    if name.endswith(".jsonl"):
        first = next((row for _, row in json_objects(path)), None)
        if first is None:
            raise _no_rows(path)
        return Table(path, list(first), True)
    block = next((block for _, block in read_blocks(path, 1 << 16) if block.strip()), None)
    if block is None:
        raise _no_rows(path)
    line = block.lstrip(b"\n").partition(b"\n")[0].decode("utf-8")
    plain = re.sub(r'"[^"]*"', "", line)
    separator = "\t" if name.endswith(".tsv") else next((mark for mark in SEPARATORS if mark in plain), ",")
    rows = [line.split("\t")] if name.endswith(".tsv") else csv.reader([line], delimiter=separator)
    if "\r" in line:
        raise DataError(
            f"{path} has the line ends of old Macs, a carriage return alone; save it with those of Unix or Windows."
        )
    try:
        cells = [cell.strip() for cell in next(iter(rows))]
    except csv.Error as error:
        raise DataError(f"{path} line 1 cannot be read as a row ({error}); mend the line.") from None
    found = by_name or not any(is_number(cell) or LIKE_A_DATE.match(cell) for cell in cells)
    if not found:
        return Table(path, [f"column {number}" for number in range(len(cells))], False, separator)
    return Table(path, [cell or f"column {number}" for number, cell in enumerate(cells)], True, separator)


def _no_rows(path: Path) -> DataError:
    return DataError(f"{path} has no rows; a table with a row for each step is needed.")


# --- text


def _text_blocks(table: Table, wanted: Sequence[int]) -> Iterator[Block]:
    begun = not table.has_names  # past the header
    quoting = not table.path.name.lower().removesuffix(".gz").endswith(".tsv")
    for number, text in _whole_rows(table.path, quoting):
        if not begun:
            empty = len(text) - len(text.lstrip(b"\n"))
            header, _, text = text[empty:].partition(b"\n")
            begun = bool(header)
            number += empty + begun
            if not text:
                continue
        cells = None if quoting and b'"' in text else _cells(text, table.separator.encode(), len(table.names))
        if cells is None:
            yield _slow_block(table, text, number, wanted, quoting=quoting)
        else:
            width = len(table.names)
            lines = range(number, number + len(cells) // width)
            yield Block([cells[column::width] for column in wanted], lines)


def _whole_rows(path: Path, quoting: bool) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of lines; one that ends inside quotation marks goes on with the next."""
    held: list[bytes] = []
    first, odd = 1, False  # the line that held begins with; whether its quotation marks are odd
    for number, block in read_blocks(path):
        first, odd = number if not held else first, odd ^ bool(quoting and block.count(b'"') % 2)
        held.append(block)
        if not odd:
            yield first, b"".join(held)
            held = []
        elif sum(map(len, held)) > LONGEST_ROW:
            raise DataError(
                f"{path}: an opening quotation mark after line {first:,} has no closing one within {LONGEST_ROW:,} bytes. Mend "
                "the line."
            )
    if held:
        raise DataError(f"{path} ends inside quotation marks; an opening one has no closing one. Mend the line.")


def _cells(text: bytes, separator: bytes, width: int) -> list[bytes] | None:
    """Return all cells of rows that have as many as the table's width, else None."""
    letters = np.frombuffer(text, dtype=np.uint8)
    ends = letters[(letters == ord("\n")) | (letters == ord(separator))]
    if len(ends) % width:
        return None
    last = ends.reshape(-1, width) == ord("\n")
    if not last[:, -1].all() or last[:, :-1].any():
        return None
    if width == 1 and (text.startswith(b"\n") or b"\n\n" in text):  # a blank line is no row
        return None
    cells = text.replace(b"\n", separator).split(separator)
    cells.pop()
    return cells


def _slow_block(table: Table, text: bytes, number: int, wanted: Sequence[int], *, quoting: bool) -> Block:
    """Return the rows of lines that have quotation marks or blank lines among them; one of another width is refused."""
    rows, lines, width = [], [], len(table.names)
    reader = csv.reader(
        _lines(text),
        delimiter=table.separator,
        quoting=csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE,
        strict=True,
    )
    try:
        for row in reader:
            if not row or row == [""]:
                continue
            line = number + reader.line_num - 1
            if len(row) != width:
                commas = " Are there commas in its numbers?" if table.separator == "," and len(row) > width else ""
                raise DataError(
                    f"{table.path} line {line:,} has {counted(len(row), 'column')}, the first row has {width}; mend the "
                    f"line.{commas}"
                )
            rows.append(row)
            lines.append(line)
    except csv.Error as error:
        raise DataError(
            f"{table.path} line {number + reader.line_num - 1:,} cannot be read as a row ({error}); mend the line."
        ) from None
    return Block([[row[column].encode("utf-8") for row in rows] for column in wanted], lines)


def _lines(text: bytes) -> Iterator[str]:
    return (line + "\n" for line in text.decode("utf-8").removesuffix("\n").split("\n"))


# --- JSONL and Parquet


def _json_blocks(table: Table, wanted: Sequence[int]) -> Iterator[Block]:
    rows = json_objects(table.path)
    names = [table.names[column] for column in wanted]
    while some := list(islice(rows, ROWS)):
        yield Block([[row.get(name) for _, row in some] for name in names], [line for line, _ in some])


def _parquet_blocks(table: Table, wanted: Sequence[int]) -> Iterator[Block]:
    names = [table.names[column] for column in wanted]
    first = 1
    with open_parquet(table.path) as file:
        for batch in file.iter_batches(batch_size=ROWS, columns=list(dict.fromkeys(names))):
            lines = range(first, first + batch.num_rows)
            yield Block([_of_arrow(batch.column(name)) for name in names], lines)
            first += batch.num_rows


def _zone_of(kind: Any) -> str:
    """Return the time zone of a type of Arrow's, '' where it has none."""
    import pyarrow

    return str(kind.tz) if pyarrow.types.is_timestamp(kind) and kind.tz else ""


def _of_arrow(column: Any) -> Cells:
    """Return numbers and times (in UTC, where they have a zone) as arrays, anything else as a list."""
    import pyarrow

    kind = column.type
    if pyarrow.types.is_timestamp(kind) or pyarrow.types.is_date(kind):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) or pyarrow.types.is_boolean(kind):
        if column.null_count and not pyarrow.types.is_floating(kind):
            column = column.cast(pyarrow.float64() if not pyarrow.types.is_boolean(kind) else pyarrow.int8())
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return list(column.to_pylist())
