"""A table of dates and numbers: which column is the date, which tell series apart, which are forecast, from which others.

first rows → dates, numbers, names → the [data] of a recipe → all rows read once → Material
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from jumok.config import SeriesData
from jumok.config.series_data import Column
from jumok.data.series.build import used_columns
from jumok.data.series.dates import DateReader
from jumok.data.series.numbers import is_missing, is_number
from jumok.data.series.reading import Table, open_table
from jumok.data.series.series_corpora import SeriesCorpora
from jumok.data.series.static_features import MOST_NAMES
from jumok.data.series.steps import DAY, looked_at, season_of, usual_interval
from jumok.errors import ConfigError, DataError, counted, did_you_mean
from jumok.workflows.new.columns import Choice
from jumok.workflows.new.material import Material, SeriesFacts
from jumok.workflows.new.places import Places

FORECASTING = "forecasting"
LOOKED_AT = 5000  # rows that tell what columns hold
NEARLY_ALL = 0.9
MOST_WORDS = 4  # of a name, on average
DATES = re.compile(r"(.*[_ ])?(date|dates|datetime|ds|time|timestamp|day|month|hour|날짜|일자|일시|시간)", re.I)
STEPS = re.compile(r"(.*[_ ])?(frame|step|t|index|idx|year)", re.I)
IDS = re.compile(r"(unique_id|series|series_id|symbol|ticker|id|item|item_id|store|store_id|(.*_)?id|종목|지점)", re.I)
TARGETS = ("y", "target", "value", "adj_close", "close", "sales", "demand", "load", "price", "값", "판매량", "수요")


@dataclass(frozen=True)
class Looks:
    """What the columns of a table look like, by its first rows."""

    table: Table
    dates: list[int]
    numbers: list[int]
    names: list[int]  # short texts that come again
    texts: list[int]  # anything else
    cells: list[list[str]]  # of each column

    @property
    def are_series(self) -> bool:
        """Whether there are dates, numbers to forecast, and no running text."""
        return bool(self.dates) and bool(set(self.numbers) - set(self.dates)) and not self.texts

    def key(self, number: int) -> Column:
        """Return how a recipe names a column."""
        return self.table.names[number] if self.table.has_names else number

    def find(self, wanted: str, option: str) -> int:
        """Return the column that an option names, by its name or its number."""
        for number, name in enumerate(self.table.names):
            if wanted in (name, str(number)):
                return number
        cure = did_you_mean(wanted, [str(self.key(number)) for number in range(len(self.table.names))])
        raise ConfigError(f"{option} {wanted}: {self.table.path.name} has no such column; {cure}")


def series_at(path: Path) -> Looks | None:
    """Return what a table looks like that holds series, None where it holds something else or cannot be read."""
    try:
        looks = look_at_columns(path)
    except DataError:  # told by whoever reads it as something else
        return None
    return looks if looks.are_series else None


def look_at_columns(path: Path) -> Looks:
    """Return what the first rows of a table hold."""
    table = open_table(path, by_name=False)
    cells: list[list[str]] = [[] for _ in table.names]
    for block in table.blocks(range(len(table.names))):
        for found, column in zip(cells, block.columns, strict=True):
            found += [_text(cell) for cell in column[: LOOKED_AT - len(found)]]
        if len(cells[0]) >= LOOKED_AT:
            break
    looks = Looks(table, [], [], [], [], cells)
    for number, column in enumerate(cells):
        there = [cell for cell in column if not is_missing(cell)]
        if _are_dates(there, table.names[number], table.path):
            looks.dates.append(number)
        elif sum(is_number(cell, decimal_comma=table.decimal_comma) for cell in there) >= NEARLY_ALL * max(
            len(there), 1
        ):
            looks.numbers.append(number)
        elif _are_names(there):
            looks.names.append(number)
        else:
            looks.texts.append(number)
    return looks


def _text(cell: Any) -> str:
    return cell.decode("utf-8").strip() if isinstance(cell, bytes) else "" if cell is None else str(cell).strip()


def _are_dates(cells: list[str], name: str, path: Path) -> bool:
    """Return whether all cells are dates; plain numbers are some only under a name that says so."""
    if not cells or (all(map(is_number, cells[:20])) and not DATES.fullmatch(name) and not STEPS.fullmatch(name)):
        return False
    reader = DateReader(name)
    try:
        reader.read([cell.encode("utf-8", "replace") for cell in cells], range(len(cells)), path)
    except DataError:
        return False
    return reader.kind == "date" or bool(STEPS.fullmatch(name) or DATES.fullmatch(name))


def _are_names(cells: list[str]) -> bool:
    words = sum(len(cell.split()) for cell in cells)
    return len(set(cells)) <= max(len(cells) // 2, 1) and words <= MOST_WORDS * len(cells)


# --- a recipe's [data]


def look_at_series(places: Places, choice: Choice, looks: Looks | None = None) -> Material:
    """Return the series of a table: its columns by their use, how long it is, and how far apart its steps are."""
    path = places["train"][0]
    looks = looks or look_at_columns(path)
    uses = _uses(looks, choice)
    data = SeriesData.parse({"train": str(path.absolute()), **uses}, "data")
    store = SeriesCorpora(data, []).train_rows
    interval = usual_interval(looked_at(store.dates, store.offsets), store.date_kind)
    targets = np.array(store.values[:LOOKED_AT, : len(data.targets)])
    header = "the first row names the columns" if looks.table.has_names else "no header, so columns are numbered"
    series = f"{counted(len(set(store.names)), 'series', 'series')} of " if data.id else ""
    business = interval is not None and interval.unit == "business"
    steps = "" if store.date_kind == "row" else f" of {interval} (business days)" if business else f" of {interval}"
    dated = "" if data.date == "" else f"dates are in '{data.date}', "
    told = f"series are told apart by {_listed(data.id)}, " if data.id else ""
    return Material(
        FORECASTING,
        {split: paths[0] for split, paths in places.items()},
        [
            f"{path.name}: {series}{store.rows:,} steps{steps}",
            header,
            f"{dated}{told}to forecast: {_listed(data.targets)}",
            *_told_beside(looks, data),
            *store.notes,
        ],
        count=store.rows,
        example=str(path),
        series=SeriesFacts(
            uses=uses,
            length=int(np.median(store.lengths)),
            count=len(store),
            season=season_of(interval),
            unit="" if interval is None or store.date_kind != "date" else interval.unit,
            hours=bool(interval and interval.unit == "us" and interval.count < DAY),
            positive=bool((targets[~np.isnan(targets)] > 0).all()),
            horizon=choice.horizon,
        ),
    )


def _listed(columns: list[Column]) -> str:
    return ", ".join(f"'{column}'" if isinstance(column, str) else f"column {column}" for column in columns)


def _told_beside(looks: Looks, data: SeriesData) -> list[str]:
    """Return what is assumed of columns that are not forecast, a line for each use."""
    used = {str(column) for column, _ in used_columns(data)}
    unused = [key for number in range(len(looks.table.names)) if str(key := looks.key(number)) not in used]
    lines = {
        f"known only up to the last step: {_listed(data.past)}": data.past,
        f"constant in each series: {_listed(data.static)}": data.static,
        f"left out (constant, or words or dates that change): {_listed(unused)}": unused,
    }
    return [line for line, columns in lines.items() if columns]


def _uses(looks: Looks, choice: Choice) -> dict[str, Any]:
    """Return the keys of [data] that say what columns are for."""
    date = looks.find(choice.date, "--date") if choice.date else _date(looks)
    ids = [looks.find(name, "--id") for name in choice.id.split(",")] if choice.id else _ids(looks, date)
    used = {date, *ids}
    if choice.target:
        targets = [looks.find(name.strip(), "--target") for name in choice.target.split(",")]
    else:
        free = [number for number in looks.numbers if number not in used]
        called = {looks.table.names[number].strip().lower().replace(" ", "_"): number for number in reversed(free)}
        likely = next((called[name] for name in TARGETS if name in called), None)
        targets = [likely] if likely is not None and ids else free
    if not targets:
        raise DataError(f"{looks.table.path} has no column of numbers to forecast; name one with --target COLUMN")
    free = [number for number in (*looks.numbers, *looks.names) if number not in used and number not in targets]
    constant = _constant_in_series(looks, ids, free)
    found: dict[str, Any] = {"date": looks.key(date)} if date is not None else {}
    if ids:
        found["id"] = [looks.key(number) for number in ids]
    found["targets"] = [looks.key(number) for number in targets]
    if past := [number for number in free if number in looks.numbers and number not in constant]:
        found["past"] = [looks.key(number) for number in past]
    if static := [number for number, values in constant.items() if _is_of_use(values, number in looks.names)]:
        found["static"] = [looks.key(number) for number in static]
    return found


def _constant_in_series(looks: Looks, ids: list[int], columns: list[int]) -> dict[int, dict[tuple[str, ...], str]]:
    """Return those of the columns that never change within a series, and the value of each series."""
    found: dict[int, dict[tuple[str, ...], str]] = {column: {} for column in columns}
    # All rows are read only where the first ones, which are at hand, leave a column in question.
    for cells in chain([dict(enumerate(looks.cells))], _all_cells(looks.table, [*ids, *columns])):
        rows = len(next(iter(cells.values())))
        series = list(zip(*(cells[number] for number in ids), strict=True)) if ids else [()] * rows
        for column, values in list(found.items()):
            pairs = zip(series, cells[column], strict=True)
            if any(is_missing(text) or values.setdefault(name, text) != text for name, text in pairs):
                del found[column]
        if not found:
            break
    return found


def _all_cells(table: Table, wanted: list[int]) -> Iterator[dict[int, list[str]]]:
    for block in table.blocks(wanted):
        columns = ([_text(cell) for cell in column] for column in block.columns)
        yield dict(zip(wanted, columns, strict=True))


def _is_of_use(values: dict[tuple[str, ...], str], are_names: bool) -> bool:
    """Return whether a value of each series tells them apart; names of which each series has its own tell nothing more."""
    different = len(set(values.values()))
    return different > 1 and not (are_names and (different == len(values) or different > MOST_NAMES))


def _date(looks: Looks) -> int | None:
    """Return the column of dates, one whose name says so before others; None where there is none."""
    if not looks.dates:
        return None
    return next((number for number in looks.dates if DATES.fullmatch(looks.table.names[number])), looks.dates[0])


def _ids(looks: Looks, date: int | None) -> list[int]:
    """Return the columns that tell series apart: names, or numbers that are called so, where dates come more than once."""
    rows = list(dict.fromkeys(zip(*looks.cells, strict=True)))  # one that stands there twice is left out
    if date is None or len({row[date] for row in rows}) == len(rows):  # the first series may be a long one
        return [number for number in looks.names if IDS.fullmatch(looks.table.names[number])]
    found = [number for number in looks.names if number != date]
    called = [
        number for number in range(len(looks.cells)) if IDS.fullmatch(looks.table.names[number]) and number != date
    ]
    for columns in ([number for number in found if number in called], found, called, sorted({*found, *called})):
        keys = {tuple(row[number] for number in (*columns, date)) for row in rows}
        if columns and len(keys) == len(rows):
            return columns
    raise ConfigError(
        f"{looks.table.path} has some dates more than once, so there are several series; name the column that tells them "
        "apart: --id COLUMN"
    )
