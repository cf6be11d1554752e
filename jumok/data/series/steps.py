"""The time from one step of a series to the next: how it is written, found out, and gone on with into the future.

'15min', '1h', '2mo', '10' → Interval; dates → the usual one, by which future dates, seasons and missing steps are told
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from jumok.config.series_data import Calendar
from jumok.data.series.dates import SECOND, Dates
from jumok.errors import ConfigError

DAY = 86_400 * SECOND
UNITS = {"ms": 1000, "s": SECOND, "min": 60 * SECOND, "h": 3600 * SECOND, "d": DAY, "w": 7 * DAY}
MONTHS = {"mo": 1, "q": 3, "y": 12}
WRITTEN = re.compile(r"(\d*)\s*(ms|s|sec|min|t|h|hour|d|day|w|week|mo|month|q|y|year|b)?s?", re.IGNORECASE)
SAME = {"sec": "s", "t": "min", "hour": "h", "day": "d", "week": "w", "month": "mo", "year": "y"}
LOOKED_AT = 20_000  # steps, at most, that tell which is the usual one
WEEKENDS = 14  # days without a weekend: business days


@dataclass(frozen=True)
class Interval:
    """The time between two steps: so many units, which are microseconds, numbers, months or business days."""

    count: int
    unit: str  # "us", "number", "month" or "business"

    @classmethod
    def parse(cls, text: str, kind: str) -> "Interval":
        """Return the interval that data.interval names, for dates of a kind."""
        match = WRITTEN.fullmatch(text.strip())
        count = int(match[1] or 1) if match else 0
        if not match or not text.strip() or not count:
            raise ConfigError(
                f"data.interval = '{text}' is no time between two steps; write 10, '15min', '1h', '1d', '1w' or '1mo'"
            )
        unit = (match[2] or "").lower()
        unit = SAME.get(unit, unit)
        if (kind == "number") != (unit == ""):
            cure = "write a number, such as 10" if kind == "number" else "write a time, such as '15min', '1h' or '1d'"
            what = "step numbers" if kind == "number" else "dates"
            raise ConfigError(f"data.interval = '{text}' does not fit {what}; {cure}")
        if unit == "":
            return cls(count, "number")
        if unit == "b":
            return cls(count, "business")
        return cls(count * MONTHS[unit], "month") if unit in MONTHS else cls(count * UNITS[unit], "us")

    def __str__(self) -> str:
        if self.unit == "number":
            return str(self.count)
        if self.unit == "month":
            return f"{self.count // 12}y" if self.count % 12 == 0 else f"{self.count}mo"
        if self.unit == "business":
            return f"{self.count}b"
        letters, size = next(
            (name, size) for name, size in reversed(UNITS.items()) if self.count % size == 0 or name == "ms"
        )
        return f"{self.count / size:g}{letters}"

    def places(self, dates: Dates) -> tuple[Dates, NDArray[np.bool_]]:
        """Return how many steps (n - 1,) lie from each date to the next, and whether that is a whole number of them."""
        if self.unit == "month":
            months, rest = _months(dates)
            far = np.diff(months)
            near_end = _days_left(dates) == 0  # the last day of a month follows the last day of the one before
            fits = (np.diff(rest) == 0) | (near_end[1:] & near_end[:-1])
            return far // self.count, fits & (far % self.count == 0)
        if self.unit == "business":
            days = dates.astype("M8[us]").astype("M8[D]")
            far = np.busday_count(days[:-1], days[1:]).astype(np.int64)
            return far // self.count, (np.diff(dates % DAY) == 0) & (far % self.count == 0)
        far = np.diff(dates)
        return far // self.count, far % self.count == 0

    def after(self, dates: Dates, steps: NDArray[np.int64]) -> Dates:
        """Return the dates so many steps (n,) after dates (n,)."""
        if self.unit == "month":
            months, since = _months(dates)
            later = months + steps * self.count
            begins, ends = (_begin(month) for month in (later, later + 1))
            last = ends - begins - DAY + since % DAY  # the time of day on the last day of the month
            return begins + np.where(_days_left(dates) == 0, last, np.minimum(since, last))
        if self.unit == "business":
            days = np.busday_offset(dates.astype("M8[us]").astype("M8[D]"), steps * self.count, roll="backward")
            return np.asarray(days.astype("M8[us]").astype(np.int64) + dates % DAY)
        return dates + steps * self.count


def _begin(months: Dates) -> Dates:
    """Return when months, counted from 1970, begin."""
    return months.astype("M8[M]").astype("M8[us]").astype(np.int64)


def _months(dates: Dates) -> tuple[Dates, Dates]:
    """Return the month of each date, counted from 1970, and the microseconds since it began."""
    months = dates.astype("M8[us]").astype("M8[M]")
    return months.astype(np.int64), dates - months.astype("M8[us]").astype(np.int64)


def _days_left(dates: Dates) -> Dates:
    """Return how many days of its month follow each date."""
    days = dates.astype("M8[us]").astype("M8[D]")
    ends = (days.astype("M8[M]") + 1).astype("M8[D]")
    left: Dates = (ends - days).astype(np.int64) - 1
    return left


def usual_interval(stretches: Sequence[Dates], kind: str) -> Interval | None:
    """Return the most frequent step of some stretches of dates, None where there is none: fewer than two dates."""
    steps = np.concatenate([np.diff(dates) for dates in stretches]) if stretches else np.empty(0, dtype=np.int64)
    steps = steps[steps > 0]
    if not len(steps):
        return None
    found, counts = np.unique(steps, return_counts=True)
    usual = int(found[np.argmax(counts)])
    if kind != "date":
        return Interval(usual, "number")
    days = usual / DAY
    if 28 <= days <= 366 and int(found.min()) >= 28 * DAY:
        far = np.concatenate([np.diff(_months(dates)[0]) for dates in stretches])
        months = int(np.bincount(far[far > 0]).argmax())
        monthly = Interval(months, "month")
        if np.mean(np.concatenate([monthly.places(dates)[1] for dates in stretches])) > 0.5:
            return monthly
    if usual == DAY and _never_on_weekends(stretches):
        return Interval(1, "business")
    return Interval(usual, "us")


def _never_on_weekends(stretches: Sequence[Dates]) -> bool:
    """Return whether dates of two weeks or more, a day apart at least, leave out all weekends."""
    longest = max(int(dates[-1] - dates[0]) for dates in stretches if len(dates))
    days = np.concatenate([dates.astype("M8[us]").astype("M8[D]") for dates in stretches])
    return longest >= WEEKENDS * DAY and bool(np.is_busday(days).all())


def looked_at(dates: Dates, offsets: NDArray[np.int64], most: int = LOOKED_AT) -> list[Dates]:
    """Return the first dates of the first series, enough to tell their usual step."""
    found: list[Dates] = []
    for begin, end in pairwise(offsets):
        if most <= 0:
            break
        found.append(np.array(dates[begin : min(int(end), int(begin) + most)]))
        most -= len(found[-1])
    return found


def season_of(interval: Interval | None) -> int:
    """Return the steps of a season: a day of hours or minutes, a week of days, a year of weeks or months; else 1."""
    if interval is None or interval.unit == "number":
        return 1
    if interval.unit == "business":
        return 5
    if interval.unit == "month":
        return max(12 // interval.count, 1) if 12 % interval.count == 0 else 1
    if interval.count == DAY:
        return 7
    if interval.count == 7 * DAY:
        return 52
    return DAY // interval.count if 60 * SECOND <= interval.count < DAY and DAY % interval.count == 0 else 1


def next_dates(dates: Dates, count: int, kind: str, interval: str = "") -> Dates:
    """Return the dates of the next steps (count,) after those of one series: by data.interval, or by the usual step."""
    if interval:
        step = Interval.parse(interval, kind)
    elif kind == "row":
        step = Interval(1, "number")
    else:
        recent = np.array(dates[-LOOKED_AT:])
        step = usual_interval([recent], kind) or Interval(DAY if kind == "date" else 1, "us")
    return step.after(np.repeat(np.asarray(dates[-1:]), count), np.arange(1, count + 1))


# --- features


def calendar_columns(calendar: Sequence[Calendar]) -> list[str]:
    """Return the names of the columns that calendar_features gives."""
    return [f"{name} {wave}" for name in calendar for wave in ("sine", "cosine")]


def calendar_features(dates: Dates, calendar: Sequence[Calendar]) -> NDArray[np.float64]:
    """Return features (n, 2 × calendar) of dates (n,): each a place on a circle, so that December is beside January."""
    times = dates.astype("M8[us]")
    days, months = times.astype("M8[D]"), times.astype("M8[M]")
    found = np.empty((len(dates), 2 * len(calendar)))
    for number, name in enumerate(calendar):
        if name == "minute":
            share = dates % UNITS["h"] / UNITS["h"]
        elif name == "hour":
            share = dates % DAY // UNITS["h"] / 24
        elif name == "weekday":
            share = (days.astype(np.int64) + 3) % 7 / 7  # 1970-01-01 was a Thursday
        elif name == "day":
            share = (days - months.astype("M8[D]")).astype(np.int64) / 31
        elif name == "week":
            share = (days - times.astype("M8[Y]").astype("M8[D]")).astype(np.int64) // 7 / 53
        else:
            share = months.astype(np.int64) % 12 / 12
        found[:, 2 * number], found[:, 2 * number + 1] = np.sin(2 * np.pi * share), np.cos(2 * np.pi * share)
    return found
