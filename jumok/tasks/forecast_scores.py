"""A forecaster's scores on the windows of a split, and those of floors on the same windows."""

from collections.abc import Callable

from jumok.data.series.windows import Windows
from jumok.nn.model import SeriesReader
from jumok.tasks.base import Scores
from jumok.tasks.forecasting import Forecasting


def score_forecasts(
    task: Forecasting, model: SeriesReader, windows: Windows, progress: Callable[[int], None] = lambda done: None
) -> Scores:
    """Return all scores of a split's windows, as plain values; progress is told windows done since the last call."""
    raise NotImplementedError
