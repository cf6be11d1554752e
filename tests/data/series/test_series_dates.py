"""Dates in all their forms become the same numbers; what is unclear is refused."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.data.series.dates import DateReader, microseconds, parse_date, shown
from jumok.data.series.steps import (
    DAY,
    Interval,
    calendar_features,
    next_dates,
    season_of,
    usual_interval,
)
from jumok.errors import ConfigError, DataError

PATH = Path("table.csv")
SOME = datetime(2016, 7, 21, 13, 5)


def read(*texts, reader=None):
    reader = reader or DateReader("date")
    return reader.read([text.encode() for text in texts], range(2, 2 + len(texts)), PATH).tolist()


@pytest.mark.parametrize(
    "text",
    [
        "2016-07-21 13:05", "2016-07-21T13:05:00", "2016-07-21 13:05:00.000", "2016/07/21 13:05", "2016.7.21 13:05:00",
        "21/07/2016 13:05", "7/21/2016 1:05 PM", "21.07.2016 13:05", "20160721130500", "21 Jul 2016 13:05",
        "Jul 21, 2016 1:05 pm", "July 21 2016, 13:05", "2016년 7월 21일 13시 5분", "2016년 7월 21일 오후 1시 5분",
        "2016-07-21T13:05:00Z", "2016-07-21 22:05+09:00", "2016/07/21 15:05 +0200", "1469106300", "1469106300000",
        "1469106300000000", "1469106300000000000",
    ],
)  # fmt: skip
def test_every_form_of_a_date_is_the_same_time(text):
    assert read(text) == [microseconds(SOME)]


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2016-07-21", datetime(2016, 7, 21)), ("20160721", datetime(2016, 7, 21)), ("2016-07", datetime(2016, 7, 1)),
        ("2016-Q3", datetime(2016, 7, 1)), ("Jul 2016", datetime(2016, 7, 1)), ("2016년 7월", datetime(2016, 7, 1)),
    ],
)  # fmt: skip
def test_days_months_and_quarters(text, date):
    assert read(text) == [microseconds(date)]


@given(st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)), st.sampled_from(["", "Z", "+09:00", "-03:30"]))
def test_iso_dates_are_read_back(date, zone):
    offset = timedelta() if zone in ("", "Z") else timedelta(hours=9) if zone == "+09:00" else -timedelta(hours=3.5)
    aware = date.replace(tzinfo=timezone(offset))
    wanted = (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert read(date.isoformat(sep=" ") + zone) == [wanted]
    assert microseconds(parse_date(date.isoformat() + zone)) == wanted


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1))
def test_step_numbers_stay_themselves(steps):
    reader = DateReader("frame")
    assert read(*map(str, steps), reader=reader) == steps
    assert reader.kind == "number"
    assert read(*(f"{step}.0" for step in steps)) == steps


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["2016-07-21", "yesterday"], "table.csv line 3: 'yesterday' in column 'date' is no date that jumok can read; write"),
        (["2016-07-21", "2016-02-30"], "line 3: '2016-02-30'"),
        (["2016-07-21", ""], "table.csv line 3 has no date in column 'date'; give it one"),
        (["", "2016-07-21"], "table.csv line 2 has no date"),
        (["3/4/2016", "5/6/2016"], "dates such as 3/4/2016 in column 'date' are not clear"),
        (["13/4/2016", "4/13/2016"], "some begin with the day, some with the month"),
        (["2016-07-21T00:00Z", "2016-07-22T00:00"], "line 3: some dates of column 'date' have a time zone and some have none"),
        (["2016-07-21T00:00", "2016-07-22T00:00Z"], "have a time zone and some have none"),
        (["1", "2.5"], "'2.5' in column 'date' is no whole step number; write whole numbers"),
        (["1", "x"], "'x' in column 'date' is no whole step number"),
        (["2016-07-21", "today"], "table.csv line 3: 'today' in column 'date' is no date that jumok can read"),
        (["2016-07-21", "now"], "table.csv line 3: 'now' in column 'date' is no date that jumok can read"),
        (["2016-07-21", "99999-07-21"], "table.csv line 3: '99999-07-21' in column 'date' is no date"),
        (["2016-07-21", "NaT"], "table.csv line 3 has no date in column 'date'"),
        (["1", "9" * 30], "is no whole step number"),
        (["1", "9" * 17], "is no whole step number"),
        (["1469106300", "9" * 17], "table.csv line 3: '99999999999999999' in column 'date' is no date"),
    ],
)  # fmt: skip
def test_what_is_no_date_is_refused_with_its_line(texts, told):
    with pytest.raises(DataError) as error:
        read(*texts)
    assert told in str(error.value)


@pytest.mark.parametrize(("wrong", "told"), [(np.nan, "line 3 has no date"), (np.inf, "'inf' in column 'date' is no")])
def test_step_numbers_of_parquet_are_refused_with_their_line(wrong, told):
    with pytest.raises(DataError, match=told):
        DateReader("date").read(np.array([7.0, wrong]), range(2, 4), PATH)
    assert DateReader("date").read(np.array([7.0, 9.0]), range(2, 4), PATH).tolist() == [7, 9]


def test_dates_of_two_tables_are_of_one_kind():
    reader = DateReader("date")
    read("2016-07-21", reader=reader)
    with pytest.raises(DataError, match=r"has step numbers in column 'date' \(5\), the tables before it dates"):
        read("5", reader=reader)


def test_zones_are_remembered_to_be_told():
    reader = DateReader("date")
    read("2016-07-21T00:00+09:00", "2016-07-21T00:00+01:00", reader=reader)
    assert reader.zones == {"+0900", "+0100"}


def test_dates_for_people():
    assert shown(microseconds(SOME), "date") == "2016-07-21 13:05"
    assert shown(microseconds(datetime(2016, 7, 21)), "date") == "2016-07-21"
    assert shown(780, "number") == "780"


# --- steps


def dates(begin, unit, steps):
    return (np.datetime64(begin) + np.asarray(steps) * np.timedelta64(1, unit)).astype("M8[us]").astype(np.int64)


@pytest.mark.parametrize(
    ("found", "interval", "season"),
    [
        (dates("2020-01-01", "h", range(50)), "1h", 24),
        (dates("2020-01-01", "m", range(0, 900, 15)), "15min", 96),
        (dates("2020-01-01", "D", range(50)), "1d", 7),
        (dates("2020-01-01", "W", range(50)), "1w", 52),
        (dates("2020-01", "M", range(50)), "1mo", 12),
        (dates("2020-01", "M", range(0, 150, 3)), "3mo", 4),
        (dates("2020", "Y", range(50)), "1y", 1),
        (dates("2020-01-01", "s", range(50)), "1s", 1),
        (np.busday_offset("2020-01-01", range(50)).astype("M8[us]").astype(np.int64), "1b", 5),
        ((dates("2020-02", "M", range(50)) - DAY), "1mo", 12),  # the last day of each month
    ],
)
def test_the_usual_step_its_season_and_the_dates_that_follow(found, interval, season):
    usual = usual_interval([found[:40]], "date")
    assert str(usual) == interval
    assert season_of(usual) == season
    assert next_dates(found[:40], len(found) - 40, "date").tolist() == found[40:].tolist()
    far, whole = usual.places(found)
    assert (far == 1).all()
    assert whole.all()
    assert Interval.parse(interval, "date") == usual


def test_rows_and_step_numbers_go_on():
    assert next_dates(np.arange(9), 3, "row").tolist() == [9, 10, 11]
    assert next_dates(np.arange(0, 90, 10), 2, "number").tolist() == [90, 100]
    assert next_dates(np.array([5]), 2, "number", "10").tolist() == [15, 25]


@pytest.mark.parametrize(
    ("text", "kind"), [("often", "date"), ("", "date"), ("0h", "date"), ("10", "date"), ("1h", "number")]
)
def test_what_is_no_interval_is_refused(text, kind):
    with pytest.raises(ConfigError, match=r"data.interval"):
        Interval.parse(text, kind)


@given(st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)))
def test_calendar_features_are_places_on_circles(date):
    (found,) = calendar_features(np.array([microseconds(date)]), ["minute", "hour", "weekday", "day", "week", "month"])
    pairs = found.reshape(-1, 2)
    np.testing.assert_allclose(np.hypot(*pairs.T), 1)
    shares = np.arctan2(*pairs.T) / (2 * np.pi) % 1
    parts = [None, date.hour / 24, date.weekday() / 7, (date.day - 1) / 31, None, (date.month - 1) / 12]
    for share, wanted in zip(shares, parts, strict=True):
        assert wanted is None or abs(share - wanted) < 1e-9 or abs(share - wanted) > 1 - 1e-9
