"""Whether a forecaster only copies what it saw last.

past (B, R, V), future (B, H, V) and point forecasts (B, H, V) → sums → CopyTest

correlation   of the changes that are forecast, from the last value on, with those that came: 0 where they have nothing to do
              with each other, however well the levels agree
lag           by how many steps the forecasts of the first step trail the real series, where both correlate best: 0 is on time,
              1 is one step late, as copies are; counted from the mean of the window, so that levels alone do not correlate
"""

from dataclasses import dataclass

import numpy as np

from jumok.evaluation.forecasts import Mask, Values

# B windows · R steps of the past · H horizon · V targets

AHEAD = 3  # steps by which a forecast may be early
MOST_LATE = 48  # steps
FAINT = 0.1  # below this, changes do not correlate


@dataclass(frozen=True)
class CopyTest:
    """What the test found; None where one of the two sides does not change at all."""

    correlation: float | None
    first_step: float | None
    lag: int | None
    at_lag: float | None

    @property
    def copies(self) -> bool:
        """Whether forecasts are one step late, and their changes have nothing to do with the real ones."""
        return self.lag == 1 and (self.correlation is None or self.correlation < FAINT)


class Correlation:
    """Pearson's correlation, while its sums are taken."""

    def __init__(self) -> None:
        self.sums = np.zeros(6)

    def add(self, one: Values, other: Values, there: Mask) -> None:
        """Take in pairs of values, where they are there."""
        x, y = one[there], other[there]
        self.sums += [x.size, x.sum(), y.sum(), (x * x).sum(), (y * y).sum(), (x * y).sum()]

    @property
    def value(self) -> float | None:
        """The correlation; None where one of the two never changes."""
        count, x, y, xx, yy, xy = self.sums
        if count < 2:
            return None
        own, others = xx - x * x / count, yy - y * y / count
        if own <= 1e-12 * xx or others <= 1e-12 * yy:
            return None
        return float((xy - x * y / count) / np.sqrt(own * others))


class CopySums:
    """The copy test, while its sums are taken."""

    def __init__(self, *, horizon: int, steps: int, season: int) -> None:
        """Take how many steps of the past are at hand, and those of a season."""
        self.lags = range(-min(AHEAD, horizon - 1), min(steps, max(MOST_LATE, season)) + 1)
        self.changes, self.first = Correlation(), Correlation()
        self.at_lag = {lag: Correlation() for lag in self.lags}

    def add(self, past: Values, future: Values, observed: Mask, point: Values) -> None:
        """Take in windows, in units that make targets comparable; the past is complete."""
        last = past[:, -1:]
        self.changes.add(point - last, future - last, observed)
        self.first.add((point - last)[:, :1], (future - last)[:, :1], observed[:, :1])
        middle = past.mean(axis=1)
        forecast = point[:, 0] - middle
        for lag, found in self.at_lag.items():
            real, there = (past[:, -lag], observed[:, 0]) if lag > 0 else (future[:, -lag], observed[:, -lag])
            found.add(forecast, real - middle, there & observed[:, 0])

    def result(self) -> CopyTest:
        """Return what was found."""
        values = {lag: found.value for lag, found in self.at_lag.items()}
        known = {lag: value for lag, value in values.items() if value is not None}
        lag = max(known, key=lambda each: (round(known[each], 12), -abs(each))) if known else None
        return CopyTest(self.changes.value, self.first.value, lag, None if lag is None else known[lag])
