"""From tables to a store of series: columns by their use, rows by series and date, missing steps, calendar.

tables → blocks → numbers, dates, series → files (gathering.py) → in the order of time → missing steps → SeriesStore
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.config import SeriesData
from jumok.config.series_data import Column
from jumok.data.series.dates import DateReader, Dates, shown
from jumok.data.series.gathering import Gathered, grouped_ranks
from jumok.data.series.missing_steps import divide, fill, uneven_steps
from jumok.data.series.numbers import NumberReader
from jumok.data.series.reading import Block, Cells, Table
from jumok.data.series.series_store import SeriesStore
from jumok.data.series.steps import Interval, calendar_columns, calendar_features
from jumok.data.store import map_array
from jumok.errors import DataError, counted

# n rows of a block · C columns · K series

JOINED = " / "  # between the parts of a series' name


def names_columns(data: SeriesData) -> bool:
    """Return whether [data] names a column, so that tables must have a header."""
    used = [data.date, *data.id, *data.targets, *data.past, *data.known, *data.static]
    return any(isinstance(column, str) and column != "" for column in used)


def with_targets(data: SeriesData, table: Table) -> SeriesData:
    """Return [data] with its targets: where it names none, all columns of the table that have no other use."""
    if data.targets:
        return data
    others = {table.number(column, use) for column, use in used_columns(data)}
    left = [number for number in range(len(table.names)) if number not in others]
    if not left:
        raise DataError(f"{table.path} has no column left to forecast; name one in data.targets.")
    targets: list[Column] = [table.names[number] if table.has_names else number for number in left]
    if data.paths and len(targets) != 2:
        raise DataError(
            f"data.paths needs two targets, x and y, and {table.path} has {counted(len(targets), 'column')} without another "
            "use; name the two in data.targets."
        )
    return data.model_copy(update={"targets": targets})


def used_columns(data: SeriesData) -> list[tuple[Column, str]]:
    """Return the columns that [data] names, each with the key that names it, in the order they are read in."""
    dates: list[tuple[Column, str]] = [(data.date, "data.date")] if data.date != "" else []
    for key in ("id", "static", "targets", "past", "known"):
        dates += [(column, f"data.{key}") for column in getattr(data, key)]
    return dates


class Book(dict[tuple[Any, ...], int]):
    """The number of each series by the cells that name it and those that are constant in it."""

    def __init__(self, gathered: Gathered, data: SeriesData) -> None:
        super().__init__()
        self.gathered, self.data = gathered, data
        self.statics: list[list[str]] = []  # (K, static columns)
        self._by_id: dict[tuple[str, ...], int] = {}

    def __missing__(self, key: tuple[Any, ...]) -> int:
        texts = [_text(cell) for cell in key]
        name, static = tuple(texts[: len(self.data.id)]), texts[len(self.data.id) :]
        if name not in self._by_id:
            if any(not part for part in name):
                raise KeyError(key)
            self._by_id[name] = self.gathered.series(JOINED.join(name))
            self.statics.append(static)
        number = self._by_id[name]
        for column, one, other in zip(self.data.static, self.statics[number], static, strict=True):
            if one != other:
                where = f" within series {JOINED.join(name)}" if name else ""
                raise DataError(
                    f"the static column '{column}' changes{where} ({one!r}, {other!r}); name it in data.past or data.known "
                    "instead, or mend it."
                )
        self[key] = number
        return number

    def read(self, columns: Sequence[Cells], lines: Sequence[int], path: Path) -> NDArray[np.int64]:
        """Return the series (n,) of rows with these cells in the columns that tell it."""
        if not columns:
            return np.full(len(lines), self[()], dtype=np.int64)
        cells = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns]
        try:
            return np.fromiter(map(self.__getitem__, zip(*cells, strict=True)), np.int64, len(lines))
        except KeyError as error:
            (key,) = error.args
            line = next(line for line, row in zip(lines, zip(*cells, strict=True), strict=True) if row == key)
            raise DataError(
                f"{path} line {line:,} does not say which series it belongs to; fill in "
                f"{', '.join(map(str, self.data.id))}, or leave the row out."
            ) from None


def _text(cell: Any) -> str:
    if isinstance(cell, bytes):
        return cell.decode("utf-8").strip()
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return "" if cell is None or cell != cell else str(cell).strip()


def build_store(
    folder: Path,
    tables: Sequence[Table],
    data: SeriesData,
    *,
    history: SeriesStore | None = None,
    look_back: int = 0,
    progress: Callable[[int], None] = lambda rows: None,
) -> None:
    """Write the series of tables into folder, each after the last look_back steps of its history.

    data has its targets. History is what came before: rows that are no later than it are refused.
    """
    width = len(data.targets) + len(data.past) + len(data.known) + 2 * len(data.calendar)
    before = {} if history is None else {name: k for k, name in enumerate(history.names)}  # the last stretch of each
    notes: list[str] = []
    with Gathered(folder, width) as gathered:
        book = Book(gathered, data)
        reader = DateReader(str(data.date)) if data.date != "" else None
        for table in tables:
            numbers = NumberReader(table.path, decimal_comma=table.decimal_comma)
            for block in table.blocks([table.number(column, use) for column, use in used_columns(data)]):
                _add(gathered, book, reader, numbers, table, block, data, history=history, before=before)
                progress(gathered.rows)
            if numbers.thousands:
                notes.append(f"{table.path.name}: commas stand between thousands, as in {numbers.thousands}")
        if not gathered.rows:
            raise DataError(f"{tables[0].path} has no rows; a table with a row for each step is needed.")
        gathered.kind = reader.kind if reader else "row"
        if history is not None:
            if reader and reader.zoned is not None and reader.zoned != history.zoned:
                raise DataError(
                    f"{tables[0].path}: its dates have a time zone and those of earlier tables have none; write them alike."
                    if reader.zoned
                    else f"{tables[0].path}: its dates have no time zone and those of earlier tables have one; write them alike."
                )
            _refuse_overlap(gathered, history, before, tables[0].path)
            _add_history(gathered, history, before, look_back)
            unknown = [name for name in gathered.names if name not in before]
            if unknown:
                notes.append(
                    f"{counted(len(unknown), 'series', 'series')} that the training tables lack, such as {unknown[0]!r}: "
                    "what comes before a window is in their own rows only"
                )
        offsets, told = gathered.put_in_order()
        notes += told
    if reader and reader.zones:
        notes.append(f"dates have time zones ({', '.join(sorted(reader.zones))}); they are kept in UTC")
    names, statics = gathered.names, book.statics
    if data.interval:
        interval = Interval.parse(data.interval, gathered.kind)
        if data.missing == "split":
            offsets, series, told = divide(map_array(folder / "dates", "<i8"), offsets, interval)
            names, statics = [names[k] for k in series], [statics[k] for k in series]
        else:
            offsets, told = fill(
                folder, offsets, names, interval, columns=width, kind=gathered.kind, calendar=data.calendar
            )
    else:
        uneven = uneven_steps(map_array(folder / "dates", "<i8"), offsets, names, gathered.kind)
        told = [f"{uneven}; each row counts as the next step"] if uneven else []
    (folder / "offsets").write_bytes(offsets.astype("<i8").tobytes())
    (folder / "static").write_bytes(b"")
    first = tables[0]
    columns = [first.names[first.number(column, "")] for column in (*data.targets, *data.past, *data.known)]
    SeriesStore(
        values=np.empty((0, width)),
        dates=np.empty(0, dtype=np.int64),
        offsets=offsets,
        static=np.empty((len(names), 0)),
        names=names,
        columns=columns + calendar_columns(data.calendar),
        date_kind=gathered.kind,
        notes=notes + told,
        zoned=bool(reader and reader.zoned),
        static_texts=statics,
    ).save_facts(folder)


def _add(
    gathered: Gathered,
    book: Book,
    reader: DateReader | None,
    numbers: NumberReader,
    table: Table,
    block: Block,
    data: SeriesData,
    *,
    history: SeriesStore | None,
    before: dict[str, int],
) -> None:
    """Append the rows of a block."""
    cells, lines = iter(block.columns), block.lines
    dates: Dates | None = None
    if reader:
        zone = table.zones.get(table.names[table.number(data.date, "data.date")], "")
        dates = reader.read(next(cells), lines, table.path, zone=zone)
    if reader and reader.kind == "number" and data.calendar:
        raise DataError(
            f"{table.path}: column '{data.date}' has step numbers, so there is no calendar; leave data.calendar out."
        )
    known_series = len(book.statics)
    telling = [next(cells) for _ in (*data.id, *data.static)]
    series = book.read(telling, lines, table.path)
    if dates is None:
        for name in gathered.names[known_series:] if history is not None else []:
            # Rows without dates go on counting where the history ends.
            k = before.get(name)
            gathered.begins.append(
                0 if k is None or history is None else int(history.dates[history.offsets[k + 1] - 1]) + 1
            )
        gathered.begins += [0] * (len(gathered.names) - len(gathered.begins))
        dates = grouped_ranks(series, np.array(gathered.begins) + np.array(gathered.counts))
    values = np.empty((len(lines), gathered.columns))
    chosen = [*data.targets, *data.past, *data.known]
    for place, (column, found) in enumerate(zip(chosen, cells, strict=True)):
        values[:, place] = numbers.read(found, lines, table.names[table.number(column, "")])
    if data.calendar:
        values[:, len(chosen) :] = calendar_features(dates, data.calendar)
    gathered.add(series, dates, values)


def _refuse_overlap(gathered: Gathered, history: SeriesStore, before: dict[str, int], path: Path) -> None:
    """Refuse rows that are no later than the history of their series."""
    if gathered.kind != history.date_kind:
        words = {"number": "step numbers", "date": "dates", "row": "no dates"}
        raise DataError(
            f"{path} has {words[gathered.kind]}, the training tables have {words[history.date_kind]}; write them alike."
        )
    overlapping = []
    for name, first in zip(gathered.names, gathered.firsts, strict=True):
        if name in before:
            last = int(history.dates[history.offsets[before[name] + 1] - 1])
            if first <= last:
                overlapping.append((name, first, last))
    if overlapping:
        name, first, last = overlapping[0]
        series = f" of series {name}" if name else ""
        raise DataError(
            f"{path} overlaps what comes before it in {counted(len(overlapping), 'series', 'series')}: its rows{series} "
            f"begin at {shown(first, gathered.kind)}, and the earlier ones end at {shown(last, gathered.kind)}. What was "
            "learnt would be scored; take the rows out of one of the two."
        )


def _add_history(gathered: Gathered, history: SeriesStore, before: dict[str, int], look_back: int) -> None:
    """Append the last steps of each series' history."""
    for number, name in enumerate(list(gathered.names)):
        if name in before:
            begin, end = (int(place) for place in history.offsets[before[name] : before[name] + 2])
            begin = max(begin, end - look_back)
            series = np.full(end - begin, number, dtype=np.int64)
            gathered.add(series, history.dates[begin:end], history.values[begin:end], watched=False)
