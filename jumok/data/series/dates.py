"""Dates of a table as numbers: microseconds since 1970, or step numbers.

cells → DateReader, which finds out how a column writes its dates → (n,) int64
Dates that have a time zone are kept in UTC; those that have none, as they stand.
"""

import re
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.data.series.numbers import is_missing
from jumok.errors import DataError

Dates = NDArray[np.int64]

SECOND = 1_000_000  # microseconds
UNIX_UNITS = {10: SECOND, 13: 1000, 16: 1, 19: 0}  # digits of a unix time → microseconds of one; 19: nanoseconds
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
UTC_NAMES = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")
WHOLE = re.compile(r"[+-]?\d+(\.0*)?")
ISO = re.compile(rb"\d{4}-\d\d(-\d\d)?([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")
TIME = r"(?:[ T,]+(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*([AaPp][Mm])?)?\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)?"
YEAR_FIRST = re.compile(r"(\d{4})[-/. ](\d{1,2})[-/. ](\d{1,2})\.?" + TIME)
YEAR_LAST = re.compile(r"(\d{1,2})([-/. ])(\d{1,2})[-/. ](\d{4})" + TIME)
MONTH_NAMED = re.compile(
    r"(?:[A-Za-z]{3,9},? )?(?:(\d{1,2})[-/. ]+)?([A-Za-z]{3,9})\.?[-/. ]+(?:(\d{1,2}),? +)?(\d{4})" + TIME
)
KOREAN = re.compile(
    r"(\d{4})년 ?(\d{1,2})월(?: ?(\d{1,2})일)?(?: ?(오전|오후)? ?(\d{1,2})시(?: ?(\d{1,2})분)?(?: ?(\d{1,2})초)?)?"
)
EARLIEST, LATEST = (int(np.datetime64(year, "us").astype(np.int64)) for year in ("0001-01-01", "9999-12-31T23:59:59"))
LARGEST = 1 << 53  # step number: differences stay whole numbers
COMPACT = re.compile(r"((?:19|20)\d\d)(0[1-9]|1[0-2])([0-3]\d)(?:([0-2]\d)([0-5]\d)([0-5]\d))?")


class DateReader:
    """Reads the dates of a column, or of the same column of several tables: all must be written in one way."""

    def __init__(self, column: str) -> None:
        self.column = column
        self.kind = ""  # "date" or "number" once a table was read
        self.zoned: bool | None = None  # whether dates have a time zone
        self.zones: set[str] = set()  # other than UTC
        self._form = ""  # "iso", "text", "compact", "number" or "unix"
        self._unit = 0  # microseconds of a unix time
        self._day_first: bool | None = None  # of 3/4/2016
        self._known: dict[str, int] = {}  # dates that were read one by one

    def read(self, cells: list[Any] | NDArray[Any], lines: Sequence[int], path: Path, *, zone: str = "") -> Dates:
        """Return the dates of cells; lines and path are for messages.

        zone is that of times which numpy holds: they are in UTC already ('': they have none).
        """
        if isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
            return self._of_times(cells, lines, path, zone)
        if isinstance(cells, np.ndarray) and cells.dtype.kind in "iuf":
            cells = [f"{cell:.0f}" if float(cell).is_integer() else str(cell) for cell in cells.tolist()]
        if not len(cells):
            return np.empty(0, dtype=np.int64)
        texts = [cell if isinstance(cell, bytes) else _text(cell) for cell in cells]
        self._decide(texts, path, lines)
        if self._form == "iso":
            found = _read_iso(texts)
            if found is not None:
                return self._checked(found, lines, path, zoned=False)
        if self._form in ("number", "unix"):
            return self._numbers(texts, lines, path)
        return self._one_by_one(texts, lines, path)

    def _decide(self, texts: list[bytes], path: Path, lines: Sequence[int]) -> None:
        """Find out, by the first date, how dates are written."""
        first = texts[0].decode("utf-8").strip()
        if is_missing(first):
            raise self._missing(path, lines[0])
        if WHOLE.fullmatch(first) and not COMPACT.fullmatch(first):
            digits = len(first.lstrip("+-").partition(".")[0])
            form, self._unit = ("unix", UNIX_UNITS[digits]) if digits in UNIX_UNITS else ("number", 1)
        else:
            form = "compact" if COMPACT.fullmatch(first) else "iso" if ISO.match(texts[0]) else "text"
        kind = "number" if form == "number" else "date"
        if self.kind and kind != self.kind:
            words = {"number": "step numbers", "date": "dates"}
            raise DataError(
                f"{path} has {words[kind]} in column {self.column!r} ({first}), the tables before it {words[self.kind]}; "
                "write them alike in all tables."
            )
        self.kind, self._form = kind, form
        if form == "text" and self._day_first is None:
            self._day_first = _day_first(texts, path, self.column)

    def _checked(self, dates: Dates, lines: Sequence[int], path: Path, *, zoned: bool) -> Dates:
        missing = dates == np.iinfo(np.int64).min
        if missing.any():
            raise self._missing(path, lines[int(np.argmax(missing))])
        if self.zoned is not None and self.zoned != zoned:
            raise self._mixed(path, lines[0])
        self.zoned = zoned
        return dates

    def _of_times(self, cells: NDArray[Any], lines: Sequence[int], path: Path, zone: str) -> Dates:
        if self.kind == "number":
            raise DataError(
                f"{path} has dates in column {self.column!r}, the tables before it step numbers; write them alike."
            )
        self.kind = "date"
        if zone and zone not in UTC_NAMES:
            self.zones.add(zone)
        return self._checked(cells.astype("M8[us]").astype(np.int64), lines, path, zoned=bool(zone))

    def _numbers(self, texts: list[bytes], lines: Sequence[int], path: Path) -> Dates:
        try:
            found = np.fromiter(map(int, texts), np.int64, len(texts))
        except (ValueError, OverflowError):
            found = np.empty(len(texts), dtype=np.int64)
            for place, text in enumerate(texts):
                shown = text.decode("utf-8").strip()
                if is_missing(shown):
                    raise self._missing(path, lines[place]) from None
                whole = shown.partition(".")[0]
                if not WHOLE.fullmatch(shown) or len(whole) > 20 or abs(int(whole)) >= 1 << 63:
                    raise self._no_date(path, lines[place], shown) from None
                found[place] = int(whole)
        first, last = -LARGEST, LARGEST
        if self._form == "unix":
            first, last = (date // self._unit if self._unit else date * 1000 for date in (EARLIEST, LATEST))
            first, last = max(first, np.iinfo(np.int64).min + 1), min(last, np.iinfo(np.int64).max)
        wrong = (found < first) | (found > last)
        if wrong.any():
            place = int(np.argmax(wrong))
            raise self._no_date(path, lines[place], texts[place].decode("utf-8").strip())
        if self._form == "unix":
            return found * self._unit if self._unit else found // 1000
        return found

    def _one_by_one(self, texts: list[bytes], lines: Sequence[int], path: Path) -> Dates:
        found = np.empty(len(texts), dtype=np.int64)
        if len(self._known) > 1 << 17:
            self._known.clear()
        for place, raw in enumerate(texts):
            text = raw.decode("utf-8").strip()
            date = self._known.get(text)
            if date is None:
                date = self._known[text] = self._parse(text, path, lines[place])
            found[place] = date
        return found

    def _parse(self, text: str, path: Path, line: int) -> int:
        if is_missing(text):
            raise self._missing(path, line)
        try:
            date = parse_date(text, day_first=bool(self._day_first))
        except ValueError:
            raise self._no_date(path, line, text) from None
        zone = date.utcoffset()
        if self.zoned is not None and self.zoned != (zone is not None):
            raise self._mixed(path, line)
        self.zoned = zone is not None
        if zone:
            self.zones.add(date.strftime("%z"))
        return microseconds(date)

    def _missing(self, path: Path, line: int) -> DataError:
        return DataError(
            f"{path} line {line:,} has no date in column {self.column!r}; give it one, or leave the row out."
        )

    def _mixed(self, path: Path, line: int) -> DataError:
        return DataError(
            f"{path} line {line:,}: some dates of column {self.column!r} have a time zone and some have none; write all of "
            "them with a zone, or none."
        )

    def _no_date(self, path: Path, line: int, text: str) -> DataError:
        shown = text if len(text) <= 40 else text[:37] + "…"
        if self.kind == "number":
            return DataError(
                f"{path} line {line:,}: {shown!r} in column {self.column!r} is no whole step number; write whole numbers, "
                "or dates such as 2016-07-01 13:00, or leave data.date out."
            )
        return DataError(
            f"{path} line {line:,}: {shown!r} in column {self.column!r} is no date that jumok can read; write dates such as "
            "2016-07-01 or 2016-07-01 13:00."
        )


def _text(cell: Any) -> bytes:
    return b"" if cell is None else str(cell).encode("utf-8", "replace")  # JSON may hold half a letter


def _read_iso(texts: list[bytes]) -> Dates | None:
    """Return plain ISO dates all at once, None where one is something else; numpy would also take 'today' and year 99999."""
    array = np.array(texts)
    letters = array.view(np.uint8).reshape(len(array), -1)
    words = (letters > ord(":")) & (letters != ord("T"))
    if words.any() or not np.isin(letters[:, 4:5], (ord("-"), 0)).all():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy's answer to a time zone
        try:
            found: Dates = array.astype("M8[us]").astype(np.int64)
        except (ValueError, UserWarning):
            return None
    return found


def _day_first(texts: list[bytes], path: Path, column: str) -> bool:
    """Return whether dates such as 3/4/2016 begin with the day, as one of these tells."""
    matches = [match for text in texts if (match := YEAR_LAST.match(text.decode("utf-8").strip()))]
    if not matches:
        return False
    day_first = any(int(match[1]) > 12 for match in matches)
    month_first = any(int(match[3]) > 12 for match in matches)
    if day_first == month_first and matches[0][2] != ".":
        why = (
            "some begin with the day, some with the month" if day_first else "they may begin with the day or the month"
        )
        raise DataError(
            f"{path}: dates such as {matches[0].string} in column {column!r} are not clear ({why}); write them as 2016-07-01."
        )
    return not month_first


def parse_date(text: str, *, day_first: bool = False) -> datetime:
    """Return the date of a text; ValueError where it is none."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    if match := COMPACT.fullmatch(text):
        return datetime(*(int(part or 0) for part in match.groups()))  # type: ignore[arg-type]
    if match := YEAR_FIRST.fullmatch(text):
        return _joined(match[1], match[2], match[3], match.groups()[3:])
    if match := YEAR_LAST.fullmatch(text):
        day, month = (match[1], match[3]) if day_first else (match[3], match[1])
        return _joined(match[4], month, day, match.groups()[4:])
    if match := MONTH_NAMED.fullmatch(text):
        month = str(MONTHS.index(match[2][:3].lower()) + 1)
        return _joined(match[4], month, match[1] or match[3] or "1", match.groups()[4:])
    if match := KOREAN.fullmatch(text):
        year, month, day, half, hour, minute, second = match.groups()
        halves = {"오전": "AM", "오후": "PM", None: None}
        return _joined(year, month, day or "1", (hour, minute or "0", second, None, halves[half], None))
    if match := re.fullmatch(r"(\d{4})[-/.]?(?:Q([1-4])|(\d{1,2}))", text):  # a quarter or a month
        return datetime(int(match[1]), int(match[2]) * 3 - 2 if match[2] else int(match[3]), 1)
    raise ValueError(text)


def _joined(year: str, month: str, day: str, time: Sequence[str | None]) -> datetime:
    hour, minute, second, fraction, half, zone = time
    hours = int(hour or 0)
    if half:
        if not 1 <= hours <= 12:
            raise ValueError(f"{hours} {half}")
        hours = hours % 12 + (12 if half.lower() == "pm" else 0)
    date = datetime(int(year), int(month), int(day), hours, int(minute or 0), int(second or 0))
    date += timedelta(microseconds=int((fraction or "0").ljust(6, "0")[:6]))
    if zone is None:
        return date
    if zone in ("Z", "UTC", "GMT"):
        return date.replace(tzinfo=UTC)
    return datetime.fromisoformat(f"{date.isoformat()}{zone[:3]}:{zone[-2:]}")


def microseconds(date: datetime) -> int:
    """Return a date as microseconds since 1970, in UTC where it has a zone."""
    begin = datetime(1970, 1, 1, tzinfo=UTC if date.tzinfo else None)
    return (date - begin) // timedelta(microseconds=1)


def shown(date: int, kind: str) -> str:
    """Return a date for people."""
    if kind != "date":
        return f"{int(date):,}" if kind == "row" else str(int(date))
    text = str(np.datetime64(int(date), "us")).replace("T", " ")
    text = text.removesuffix(".000000").removesuffix(":00")
    return text.removesuffix(" 00:00")
