"""What `jumok check` finds wrong with series, and that it is silent where nothing is."""

import numpy as np
import pytest

from jumok.config import SeriesData
from jumok.data.series.scaling import measure
from jumok.data.series.series_store import SeriesStore
from jumok.data.series.windows import Windows
from jumok.tasks.series_problems import series_problems

HOUR = 3600 * 10**6


def walk(seed, count=600):
    return np.random.default_rng(seed).normal(size=count).cumsum()


def windows_of(*columns, targets=1, past=0, dates=None, begin=0, end=None, **data):
    """Return windows of one series whose columns are given, the first of them targets."""
    values = np.stack(columns, axis=1)
    dates = np.arange(len(values)) * HOUR if dates is None else dates
    names = [f"c{number}" for number in range(len(columns))]
    store = SeriesStore(values, dates, np.array([0, len(values)]), np.zeros((1, 0)), [""], names, "date", [])
    given = SeriesData(
        date="date",
        targets=names[:targets],
        past=names[targets : targets + past],
        known=names[targets + past :],
        **{"look_back": 24, "horizon": 6, "season": 24, **data},
    )
    first, last = np.array([begin]), np.array([len(values) if end is None else end])
    mean, deviation = measure(store, first, last, given)
    return Windows(store, given.model_copy(update={"mean": mean, "deviation": deviation}), first, last)


def problems(train, **held_out):
    return [what for what, cure in series_problems(train, held_out) if cure]


def test_nothing_is_wrong_with_sound_series():
    columns = walk(1), walk(2), walk(3)
    train, val = (windows_of(*columns, past=1, begin=begin, end=end) for begin, end in ((0, 480), (480, 600)))
    assert problems(train, val=val) == []


def test_uneven_steps_are_a_problem_unless_an_interval_is_named():
    dates = np.arange(600) * HOUR
    dates[300:] += 5 * HOUR
    (what,) = problems(windows_of(walk(1), dates=dates))
    assert what == "1 of 599 steps are not the usual 1h (the longest is after 1970-01-13 11:00)"
    assert problems(windows_of(walk(1), dates=dates, interval="1h")) == []


def test_constant_and_missing_columns():
    holes = walk(2)
    holes[::3] = np.nan
    (constant, missing) = problems(windows_of(walk(1), np.full(600, 7.0), holes, past=1))
    assert constant == "column 'c1' is constant in the training rows"
    assert missing == "33% of column 'c2' are missing in the training rows"


def test_too_little_history():
    assert problems(windows_of(walk(1, 100))) == ["there are only 71 training windows of 24 + 6 steps"]
    assert problems(windows_of(walk(1), look_back=12)) == ["data.look_back (12) is shorter than a season (24 steps)"]


@pytest.mark.parametrize("use", ["past", "known"])
@pytest.mark.parametrize("shift", [1, 3])
def test_a_column_that_is_the_target_of_later_is_a_leak(use, shift):
    target = walk(1)
    ahead = 2 - 3 * np.roll(target, -shift)
    (what,) = problems(windows_of(target, ahead, past=int(use == "past")))
    assert (
        what
        == f"column 'c1' moves as the target 'c0' does, {shift} step{'s' * (shift > 1)} ahead: it tells what is to be forecast"
    )


@pytest.mark.parametrize(("shift", "found"), [(0, "at the same step"), (2, "2 steps later"), (6, "")])
def test_what_is_known_ahead_may_not_be_the_target_itself(shift, found):
    """A known column is seen for all 6 steps to come; what the target was 6 steps before the last of them is known."""
    target = walk(1)
    before = np.concatenate([walk(9, shift), target[: len(target) - shift]])
    told = problems(windows_of(target, before))
    assert [found in what for what in told] == ([True] if found else [])
    assert problems(windows_of(target, before, past=1)) == []  # of the past, that is no secret


def test_val_that_was_learnt_is_told():
    train = windows_of(walk(1))
    again = windows_of(walk(1), begin=300)
    (what,) = problems(train, val=again)
    assert what == "300 of 300 steps of val stand in train with the same values"
    assert problems(train, val=windows_of(walk(2))) == []
