"""Whether one forecaster is better than another, or may be so by chance: the test of Diebold and Mariano (1995).

losses of both, by window, and when each window begins → differences by origin (T,), in the order of time → DieboldMariano

Windows that overlap err together: the variance of the mean difference is Newey and West's, over 1.5 horizons, with the
correction of Harvey, Leybourne and Newbold (1997). A t of T / H − 1 degrees, not of T − 1, because only every H-th origin says
something of its own: of two equally good forecasters, that calls 4 to 11 % different at 0.05 (simulated moving averages of 141
to 2,785 origins, horizons of 5 to 720), the textbook's lag H − 1 and T − 1 degrees 10 to 20 %.
"""

from dataclasses import dataclass

import numpy as np

from jumok.evaluation.forecasts import Numbers, PerWindow, Values
from jumok.evaluation.student_t import tail

FEWEST = 2.0  # origins without overlap that a test needs


@dataclass(frozen=True)
class DieboldMariano:
    """What the test says of a mean difference of losses: below zero, the first forecaster is better."""

    difference: float
    statistic: float | None  # None where there are too few windows, or no difference at all
    p: float | None  # of a difference as large in either direction
    lag: int  # of the variance
    origins: int  # T

    @property
    def better(self) -> bool:
        """Whether the first forecaster is better, hardly by chance."""
        return self.p is not None and self.p < 0.05 and self.difference < 0


class Origins:
    """When windows begin, in the order of time; windows of several series may begin together."""

    def __init__(self, dates: Numbers) -> None:
        """Take the date (N,) of each window's first target."""
        self.dates, self.of_window = np.unique(dates, return_inverse=True)

    def __len__(self) -> int:
        return len(self.dates)

    def sums(self, of_windows: Values) -> Values:
        """Return (T,): the sum over the windows that begin together."""
        return np.bincount(self.of_window, of_windows, minlength=len(self)).astype(np.float64)

    def differences(self, one: PerWindow, other: PerWindow) -> Values:
        """Return (T,): how much more one loses than the other; the mean over origins is that over all values."""
        total = max(one.count.sum(), 1.0)
        return np.asarray(self.sums(one.total - other.total) * len(self) / total)


def diebold_mariano(differences: Values, horizon: int, *, rounding: float = 0.0) -> DieboldMariano:
    """Return the test of differences of losses (T,) in the order of time, of forecasts of so many steps.

    Differences that are nowhere larger than rounding are none.
    """
    count = len(differences)
    lag = min(int(1.5 * horizon) + int(count ** (1 / 3)) if horizon > 1 else int(count ** (1 / 3)), max(count - 1, 0))
    mean = float(differences.mean()) if count else 0.0
    variance = newey_west(differences, lag) / count if count else 0.0
    if count / horizon < FEWEST or np.abs(differences).max() <= rounding or variance <= np.finfo(float).tiny:
        return DieboldMariano(mean, None, None, lag, count)
    correction = (count + 1 - 2 * horizon + horizon * (horizon - 1) / count) / count
    statistic = float(mean / np.sqrt(variance) * np.sqrt(correction))
    return DieboldMariano(mean, statistic, 2 * tail(abs(statistic), count / horizon - 1), lag, count)


def newey_west(values: Values, lag: int) -> float:
    """Return the long-run variance of values (T,): their covariances up to a lag, each weighing less (Bartlett's kernel)."""
    count = len(values)
    spectrum = np.fft.rfft(values - values.mean(), 2 * count)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2)[: lag + 1] / count
    weights = 1 - np.arange(1, lag + 1) / (lag + 1)
    return float(covariance[0] + 2 * (weights * covariance[1:]).sum())
