"""Where the forecasts of a table begin: the last steps of each series, the dates ahead, and what is known of them.

NewTable → series, each with the rows of its history → dates that go on as they did → known columns ahead → Start
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jumok.config import SeriesData
from jumok.data.series.dates import microseconds, parse_date
from jumok.data.series.new_table import NewTable
from jumok.data.series.steps import calendar_features, next_dates
from jumok.data.series.values import refuse_too_large
from jumok.errors import ConfigError, DataError, counted, did_you_mean
from jumok.predictors.base import Notice, Warn

# L look-back · S steps ahead · C columns · K known columns

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Start:
    """Where the forecast of one series begins."""

    number: int  # of the series in its store
    begin: int  # the rows of its history, at most as many as the look-back
    end: int
    behind: int  # the row after its last
    dates: NDArray[np.int64]  # (S,) of the steps ahead
    known: Values  # (S or more, K) ahead: a row for each step of every block of the model that is begun


def find_starts(
    table: NewTable, data: SeriesData, *, series: Sequence[str], at: str, steps: int, warn: Warn
) -> list[Start]:
    """Return where the forecast of each series begins, and tell what to know of them.

    A series without any value is left out and told; alone it is refused. at is the last date or step taken for known.
    """
    store = table.store
    last = None if not at else date_of(at, store.date_kind)
    if last is not None and len(store.dates) and last > store.dates.max():
        warn(Notice(None, f"the table ends before {at}; its last step is taken instead"))
    starts, empty = [], []
    for number in _chosen(table, series, last):
        begin, behind = int(store.offsets[number]), int(store.offsets[number + 1])
        end = behind - int(table.future_rows[number])
        if last is not None:
            end = min(begin + int(np.searchsorted(store.dates[begin:behind], last, side="right")), end)
        first = max(begin, end - data.look_back)
        if np.isnan(store.values[first:end, : len(data.targets)]).all():
            empty.append(number)
            continue
        refuse_too_large(store, number, first, end, data)
        starts.append(Start(number, first, end, behind, *_ahead(table, data, number, begin, end, behind, steps)))
    if empty:
        name = store.names[empty[0]] or "the table"
        until = f" up to {at}" if at else ""
        if not starts:
            if at:
                raise DataError(
                    f"{name} has no value among the {data.look_back} steps up to {at}, and a forecast is made of them; choose "
                    "a later --at, or give a table with earlier values"
                )
            raise DataError(
                f"{name} has no value among its last {data.look_back} steps, and a forecast is made of them; "
                f"give a table with values of {', '.join(map(str, data.targets[:8]))}"
            )
        warn(
            Notice(
                None,
                f"{counted(len(empty), 'series', 'series')} of {len(empty) + len(starts):,} left out: no value{until} "
                f"among the last {data.look_back} steps, for example of {name}",
            )
        )
    _tell(table, data, starts, steps, warn)
    return starts


def history_of(table: NewTable, data: SeriesData, start: Start) -> Values:
    """Return the last steps (L, C) of a series; what would lie before its first is missing."""
    values = np.full((data.look_back, len(table.store.columns)), np.nan)
    values[data.look_back - (start.end - start.begin) :] = table.store.values[start.begin : start.end]
    return values


def _chosen(table: NewTable, wanted: Sequence[str], last: int | None) -> list[int]:
    """Return the numbers of series, by name if some are named.

    Of a series with missing steps it is the last stretch that has a history, and begins no later than the last date known.
    """
    store = table.store
    found: dict[str, int] = {}
    for number, name in enumerate(store.names):
        begins = store.lengths[number] > table.future_rows[number]
        begins = begins and (last is None or store.dates[store.offsets[number]] <= last)
        if begins or name not in found:
            found[name] = number
    for name in wanted:
        if name not in found and list(found) == [""]:
            raise DataError(f"--series {name}: the table has one series, without a name; leave --series out")
        if name not in found:
            raise DataError(f"the table has no series '{name}'; {did_you_mean(name, list(found)[:1000])}")
    return [found[name] for name in dict.fromkeys(wanted)] if wanted else list(found.values())


def _ahead(
    table: NewTable, data: SeriesData, number: int, begin: int, end: int, behind: int, steps: int
) -> tuple[NDArray[np.int64], Values]:
    """Return the dates of the steps ahead (S,), and what is known of them (S or more, K)."""
    store = table.store
    rows = -(-steps // data.horizon) * data.horizon
    given = min(behind - end, rows)
    interval = "" if store.date_kind == "row" else data.interval
    further = next_dates(store.dates[begin : end + given], rows - given, store.date_kind, interval)
    dates = np.concatenate([store.dates[end : end + given], further])
    width = len(store.columns) - len(data.targets) - len(data.past)
    known = np.full((rows, width), np.nan)
    if width:
        known[:given] = store.values[end : end + given, -width:]
    if data.calendar:
        features = calendar_features(dates, data.calendar)
        known[:, width - features.shape[1] :] = features
    there = ~np.isnan(known[:steps, : len(data.known)]).any(axis=1)
    if not there.all():
        name = f" of {store.names[number]}" if store.names[number] else ""
        raise DataError(
            f"{', '.join(map(str, data.known))} must be known for each of the {steps:,} steps ahead{name}, and step "
            f"{int(np.argmin(there)) + 1:,} has no value; add rows with dates and these columns below the table, the "
            "columns to forecast left empty, or forecast fewer steps"
        )
    return dates[:steps], known


def _tell(table: NewTable, data: SeriesData, starts: Sequence[Start], steps: int, warn: Warn) -> None:
    """Tell what a user should know of the forecasts to come."""
    names = table.store.names
    short = [start for start in starts if start.end - start.begin < data.look_back]
    if short:
        least = min(short, key=lambda start: start.end - start.begin)
        length = least.end - least.begin
        if len(starts) == 1:
            text = (
                f"the table has {length:,} of the {data.look_back} steps that the model looks back; those before count as "
                "missing"
            )
        else:
            text = (
                f"{len(short):,} of {len(starts):,} series are shorter than the {data.look_back} steps that the model "
                f"looks back ({names[least.number]} has {length:,}); those before count as missing"
            )
        warn(Notice(None, text))
    for place, target in enumerate(data.targets):
        without = [one for one in starts if np.isnan(table.store.values[one.begin : one.end, place]).all()]
        if without:
            name = f" of {names[without[0].number]}" if len(starts) > 1 else ""
            warn(
                Notice(
                    None,
                    f"there is no value of {target} among the last {data.look_back} steps{name}; its forecast is a guess, "
                    "or left empty",
                )
            )
    if steps > data.horizon:
        past = f"; of {', '.join(map(str, data.past))} nothing is known there" if data.past else ""
        warn(
            Notice(
                None,
                f"the model was trained for {counted(data.horizon, 'step')}; those beyond are made of its own "
                f"forecasts, step by step less sure{past}",
            )
        )
    own = len(data.known)
    if own and any(np.isnan(start.known[:, :own]).any() for start in starts):
        warn(
            Notice(
                None,
                f"the model also reads {', '.join(map(str, data.known))} beyond the steps that are forecast, up to step "
                f"{len(starts[0].known)}; where they are not known they count as average",
            )
        )


def date_of(text: str, kind: str) -> int:
    """Return a date, or a step number, as a table has it."""
    try:
        return microseconds(parse_date(text)) if kind == "date" else int(text)
    except ValueError:
        wanted = "a date such as 2016-07-01 or 2016-07-01 13:00" if kind == "date" else "the number of a step"
        raise ConfigError(f"--at {text}: must be {wanted}") from None
