"""Forecasts that need no learning: what every forecaster's scores must be seen beside.

past (B, R, V), complete, or (B, 2) for paths → forecast (B, H, V), quantiles (B, H, V, Q), or ways (B, K, H, 2)

repeat last         the last value, for all steps
seasonal naive      the value one season before, or as many seasons as it takes
drift               on along the line from the first value to the last; of a path: its mean velocity
constant velocity   on by the last step
turned velocities   constant velocity, in directions turned at random (Schöller et al. 2020)
random walk         the last value, and a spread that grows with the root of the steps: constant, or of late (EWMA)
"""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from jumok.evaluation.forecasts import Values
from jumok.evaluation.student_t import quantile

# B windows · R steps of the past · H horizon · V targets · Q levels · K ways

EWMA = 0.94  # of the variance of one step to the next (RiskMetrics 1996)
EWMA_STEPS = 200  # that count: 0.94 to their power is 4e-6
FREEDOM = 5  # degrees of Student's t around it
TURN = 25.0  # degrees, the deviation of turned velocities' directions


def carried(past: Values, otherwise: Values) -> Values:
    """Return a past without missing values: each becomes the value before it, or the first there is, or otherwise (V,)."""
    there = ~np.isnan(past)
    if there.all():
        return past
    places = np.arange(past.shape[1])[:, None]
    before = np.maximum.accumulate(np.where(there, places, -1), axis=1)
    place = np.where(before >= 0, before, there.argmax(axis=1)[:, None])
    found = np.take_along_axis(past, place, axis=1)
    return np.where(np.isnan(found), otherwise, found)


def repeat_last(past: Values, horizon: int) -> Values:
    """Return the last value for all steps."""
    return np.repeat(past[:, -1:], horizon, axis=1)


def seasonal_naive(past: Values, horizon: int, season: int) -> Values:
    """Return the last season again and again."""
    return np.asarray(past[:, past.shape[1] - season + np.arange(horizon) % season])


def drift(past: Values, horizon: int) -> Values:
    """Return the line through the first and the last value."""
    slope = (past[:, -1:] - past[:, :1]) / (past.shape[1] - 1)
    return np.asarray(past[:, -1:] + slope * _steps(horizon))


def constant_velocity(past: Values, horizon: int) -> Values:
    """Return the last step again and again."""
    return past[:, -1:] + (past[:, -1:] - past[:, -2:-1]) * _steps(horizon)


def turned_velocities(past: Values, horizon: int, angles: Values) -> Values:
    """Return the ways (B, K, H, 2) that the last step leads to, turned by angles (B, K)."""
    x, y = (past[:, -1, axis, None] - past[:, -2, axis, None] for axis in (0, 1))  # (B, 1)
    cosine, sine = np.cos(angles), np.sin(angles)
    turned = np.stack([cosine * x - sine * y, sine * x + cosine * y], axis=-1)  # (B, K, 2)
    return np.asarray(past[:, -1][:, None, None] + turned[:, :, None] * _steps(horizon))


def draw_turns(generator: np.random.Generator, windows: int, ways: int) -> Values:
    """Return angles (B, K) of so many further windows."""
    return generator.normal(0.0, np.deg2rad(TURN), (windows, ways))


def ewma_deviation(past: Values) -> Values:
    """Return the deviation (B, V) of one step to the next, the late ones weighing most; NaN where there is no step.

    Steps from or to a missing value of past (B, R, V) do not count.
    """
    squares = np.diff(past, axis=1) ** 2
    weights = EWMA ** np.arange(squares.shape[1])[::-1, None] * ~np.isnan(squares)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sqrt((weights * np.nan_to_num(squares)).sum(axis=1) / weights.sum(axis=1)))


def random_walk(point: Values, deviation: Values, draws: Values) -> Values:
    """Return quantiles (B, H, V, Q) around a point: deviation (B, V) of one step, draws (Q,) in deviations."""
    spread = np.sqrt(_steps(point.shape[1])) * deviation[:, None]
    return around(point, spread, draws)


def around(point: Values, spread: Values, draws: Values) -> Values:
    """Return quantiles (B, H, V, Q) around a point (B, H, V), of spreads (…, H, V)."""
    return np.asarray(point[..., None] + spread[..., None] * draws)


def normal_draws(levels: Sequence[float]) -> Values:
    """Return the quantiles (Q,) of a normal of deviation 1."""
    return np.array([NormalDist().inv_cdf(level) for level in levels])


def student_draws(levels: Sequence[float]) -> Values:
    """Return the quantiles (Q,) of Student's t of 5 degrees, scaled to deviation 1."""
    return np.array([quantile(level, FREEDOM) / np.sqrt(FREEDOM / (FREEDOM - 2)) for level in levels])


def _steps(horizon: int) -> Values:
    return np.arange(1.0, horizon + 1)[:, None]
