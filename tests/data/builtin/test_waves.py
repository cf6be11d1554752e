"""The built-in set `waves` has what it says: a trend, a day, a week, noise and holidays."""

import numpy as np

from jumok.data.builtin import waves


def test_series_are_the_same_each_time_and_differ_from_each_other():
    found = [waves.series(number) for number in range(waves.SERIES)]
    assert all(np.array_equal(one, waves.series(number)) for number, one in enumerate(found))
    assert len({one.tobytes() for one in found}) == waves.SERIES
    table = waves.columns()
    assert {len(column) for column in table.values()} == {waves.SERIES * waves.STEPS}


def test_a_day_and_a_week_come_again():
    holidays = waves.holidays() == 1
    for number in range(waves.SERIES):
        values = waves.series(number)
        smooth = values - np.polyval(np.polyfit(np.arange(waves.STEPS), values, 1), np.arange(waves.STEPS))
        smooth[holidays] = 0
        power = np.abs(np.fft.rfft(smooth)) ** 2
        weeks, days = waves.STEPS // waves.WEEK, waves.STEPS // waves.DAY
        assert {days, weeks} <= set(np.argsort(power)[-4:].tolist())


def test_holidays_are_lower_and_known():
    holidays = waves.holidays().astype(bool)
    assert 0.02 < holidays.mean() < 0.1
    first_day = holidays.reshape(-1, waves.DAY)
    assert (first_day.all(axis=1) == first_day.any(axis=1)).all()
    for number in range(waves.SERIES):
        values = waves.series(number).reshape(-1, 7, waves.DAY)  # weeks, days, hours
        usual = np.median(values, axis=0)
        off = (values - usual).reshape(-1)
        assert off[holidays].mean() < off[~holidays].mean() - 3
