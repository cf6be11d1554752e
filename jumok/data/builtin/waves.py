"""The built-in set `waves`: hourly series with a trend, a daily and a weekly season, noise and the effect of holidays.

number of a series → seeded draw → level, trend, two seasons, noise; holidays are the same for all and known ahead
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

VERSION = 1  # raise it when the numbers change
DATE, ID, TARGET, KNOWN = "date", "series", "value", "holiday"
SERIES = 4
STEPS = 24 * 7 * 20  # 20 weeks of hours
BEGIN = np.datetime64("2024-01-01T00:00:00", "us")  # a Monday
DAY, WEEK = 24, 24 * 7
HOLIDAY_SHARE = 0.05  # of days


def name(number: int) -> str:
    """Return the name of a series."""
    return f"wave-{number}"


def dates() -> NDArray[np.datetime64]:
    """Return the hours (STEPS,) of all series."""
    found: NDArray[np.datetime64] = BEGIN.astype("M8[s]") + np.arange(STEPS) * np.timedelta64(3600, "s")
    return found


def holidays() -> NDArray[np.float64]:
    """Return 1 for each step (STEPS,) of a holiday, else 0."""
    days = np.random.default_rng(17).random(STEPS // DAY) < HOLIDAY_SHARE
    return np.repeat(days, DAY).astype(np.float64)


def series(number: int) -> NDArray[np.float64]:
    """Return the values (STEPS,) of a series: a pure function of its number."""
    draw = np.random.default_rng([17, number])
    step = np.arange(STEPS)
    level, trend = draw.uniform(20, 60), draw.uniform(-8, 12)  # units, and units in all
    day = sum(draw.uniform(2, 6) / wave * np.sin(2 * np.pi * wave * (step / DAY + draw.random())) for wave in (1, 2))
    week = draw.uniform(2, 5) * np.sin(2 * np.pi * (step / WEEK + draw.random()))
    noise = np.zeros(STEPS)
    shocks = draw.normal(scale=0.6, size=STEPS)
    for now in range(1, STEPS):  # what is a little off stays so for a while
        noise[now] = 0.7 * noise[now - 1] + shocks[now]
    effect = -draw.uniform(4, 8) * holidays()
    return np.round(level + trend * step / STEPS + day + week + effect + noise, 3)


def columns() -> dict[str, Any]:
    """Return the set as the columns of a long table."""
    return {
        ID: [each for number in range(SERIES) for each in [name(number)] * STEPS],
        DATE: np.tile(dates(), SERIES),
        TARGET: np.concatenate([series(number) for number in range(SERIES)]),
        KNOWN: np.tile(holidays(), SERIES),
    }
