"""A forecast as charts and pages show it: what was, what is forecast, and how sure that is.

dates of steps → labels no longer than they need to be: 2018-03-01, or 2018-03-01 14:00
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

# L steps of history · H steps ahead · V targets · K ways

Values = NDArray[np.float64]
Dates = NDArray[np.int64]
DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True)
class ForecastView:
    """What is forecast of one series, in the data's own units; NaN where a value is missing."""

    series: str  # its name; '' where there is one without a name
    targets: list[str]
    date_kind: str  # of dates: "date" (microseconds since 1970), "number" or "row"
    history_dates: Dates  # (L,)
    history: Values  # (L, V): the steps that the forecast is made of
    dates: Dates  # (H,)
    point: Values  # (H, V)
    quantiles: dict[float, Values]  # by level, rising: (H, V)
    ways: Values | None  # (K, H, V): the ways it may go, of a mixture
    likelihood: Values | None  # (K,)
    truth: Values | None  # (H, V): what came, where it is known
    paths: bool  # the targets are the places x and y
    trained_steps: int  # of the model: what lies beyond them was forecast from forecasts

    def __len__(self) -> int:
        """Return how many steps are forecast."""
        return len(self.dates)

    @property
    def history_labels(self) -> list[str]:
        """The dates of history as text."""
        return self._labels[: len(self.history_dates)]

    @property
    def labels(self) -> list[str]:
        """The dates of the forecast as text."""
        return self._labels[len(self.history_dates) :]

    @cached_property
    def _labels(self) -> list[str]:
        return date_labels(np.concatenate([self.history_dates, self.dates]), self.date_kind)

    def bands(self) -> list[tuple[float, float]]:
        """Return the pairs of levels that lie as far from the middle (0.1 and 0.9), the widest first."""
        levels = sorted(self.quantiles)
        return [(low, high) for low in levels for high in levels if low < 0.5 and abs(low + high - 1) < 1e-9]


def date_labels(dates: Dates, kind: str) -> list[str]:
    """Return dates as text, all of them as fine as the finest needs: days, minutes, seconds."""
    if kind != "date":
        return [str(date) for date in dates.tolist()]
    if not (dates % DAY).any():
        texts = np.datetime_as_string(dates.astype("datetime64[us]"), unit="D")
    elif not (dates % 60_000_000).any():
        texts = np.datetime_as_string(dates.astype("datetime64[us]"), unit="m")
    else:
        precise = dates.astype("datetime64[us]")
        if not (dates % 1_000_000).any():
            precise = precise.astype("datetime64[s]")
        texts = np.datetime_as_string(precise)
    return [text.replace("T", " ") for text in texts.tolist()]
