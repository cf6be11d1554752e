"""A trained forecaster: tell what comes next of the series of a table, and score that.

table → series → the last steps of each, and what is known ahead → the model, block after block → the data's own units
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jumok.config import DecodingConfig, SeriesData, SeriesFile
from jumok.data.series.new_table import NewTable
from jumok.data.series.windows import Windows
from jumok.errors import ConfigError
from jumok.nn.forecast_heads import QuantileHead
from jumok.nn.model import SeriesReader
from jumok.nn.threads import one_thread_for
from jumok.predictors.base import Advance, ModelPredictor, Notice, Warn, ignore_notice, ignore_progress
from jumok.predictors.forecast import Forecast, Forecasts
from jumok.predictors.forecast_explaining import explain_forecast
from jumok.predictors.forecast_explanation import ForecastExplanation
from jumok.predictors.forecast_starts import Start, find_starts, history_of
from jumok.predictors.given_table import GivenTable, read_given
from jumok.predictors.rolling import Rolled, Roller
from jumok.tasks.base import Scores
from jumok.tasks.forecast_scores import score_forecasts
from jumok.tasks.forecasting import Forecasting

# L look-back · S steps ahead · C columns · V targets · K known columns

Values = NDArray[np.float64]
MOST_STEPS = 100_000
LEVELS = (0.1, 0.5, 0.9)  # quantiles of a distribution, where none are named


class SeriesForecaster(ModelPredictor[Forecasting, SeriesReader, Windows]):
    """Forecast the series of a table with a run's weights."""

    verb = "forecast"
    example = "table.csv"
    explains = "series"
    source_is = "here the table of --source is scored alone"

    @property
    def data(self) -> SeriesData:
        """The run's [data], with what was taken from the training rows."""
        return self.task.data

    def forecast(
        self,
        table: GivenTable,
        *,
        steps: int = 0,
        quantiles: Sequence[float] | None = None,
        series: str | Sequence[str] = (),
        at: str = "",
        progress: Advance = ignore_progress,
        warn: Warn = ignore_notice,
    ) -> Forecasts:
        """Return what comes next of each series of a table.

        A table is a file (CSV, TSV, JSONL, Parquet), columns by name (a dict, a data frame), an array (L, V) of one
        series, or the content of a CSV as bytes. steps is how far to forecast (0: as far as the model was trained for;
        more are made of its own forecasts), quantiles which levels to tell (None: the model's own, where it has some;
        (): none), series which series (none named: all), and at the last date or step number that is taken for known:
        what came after it is told beside the forecast.
        """
        data, levels = self.data, self._levels(quantiles)
        if not 0 <= steps <= MOST_STEPS:
            raise ConfigError(
                f"--steps {steps}: must be from 1 to {MOST_STEPS:,}, or 0 for the {self.data.horizon} of training"
            )
        steps = steps or data.horizon
        given = read_given(table, data)
        for note in given.notes:
            warn(Notice(None, note))
        named = [series] if isinstance(series, str) else series
        starts = find_starts(given, data, series=named, at=at, steps=steps, warn=warn)
        roller, found = Roller(self.model, data), Forecasts(run=self.run.folder.name, season=data.season)
        at_once = roller.at_once(steps, len(levels))
        for first in range(0, len(starts), at_once):
            some = starts[first : first + at_once]
            with one_thread_for(len(some) * len(data.targets), self.model), self.answering():
                rolled = roller.forecast(
                    np.stack([history_of(given, data, start) for start in some]),
                    np.stack([start.known for start in some]),
                    given.store.static[[start.number for start in some]],
                    steps=steps,
                    levels=levels,
                )
            found += [self._answer(given, start, rolled, place, levels) for place, start in enumerate(some)]
            progress(len(some))
        return found

    def explain(
        self,
        table: GivenTable,
        *,
        at: str = "",
        series: str = "",
        quantiles: Sequence[float] | None = None,
        occlude: bool = True,
        stretch: int = 0,
        warn: Warn = ignore_notice,
    ) -> ForecastExplanation:
        """Return the forecast of one series of a table, and where the model looked in the past.

        at is the last date or step number that is taken for known; series names one of several. occlude also tells how
        the forecast changes when stretches of so many steps are taken for missing (0: as the model cuts the past).
        """
        data, levels, given = self.data, self._levels(quantiles), read_given(table, self.data)
        for note in given.notes:
            warn(Notice(None, note))
        names = list(dict.fromkeys(given.store.names))
        if not series and len(names) > 1:
            some = ", ".join(names[:3])
            raise ConfigError(f"the table has {len(names):,} series, and one is looked at: --series NAME ({some}, …)")
        named = [series] if series else []
        [start] = find_starts(given, data, series=named, at=at, steps=data.horizon, warn=warn)
        history, static = history_of(given, data, start), given.store.static[start.number]
        roller = Roller(self.model, data)
        rolled = roller.forecast(history[None], start.known[None], static[None], steps=data.horizon, levels=levels)
        return explain_forecast(
            self.model,
            data,
            self._answer(given, start, rolled, 0, levels),
            history,
            start.known,
            static,
            columns=given.store.columns,
            name=self.run.folder.name,
            occlude=occlude,
            stretch=stretch,
        )

    def _levels(self, quantiles: Sequence[float] | None) -> list[float]:
        """Return the levels of quantiles to tell, rising."""
        head = self.model.head
        if quantiles is None:
            if isinstance(head, QuantileHead):
                return list(head.levels)
            return [] if head.kind == "point" or self.data.paths else list(LEVELS)
        levels = sorted(set(quantiles))
        if levels and head.kind == "point":
            raise ConfigError(
                f"{self.run.folder} forecasts one number for each value and knows no quantiles; train a model with "
                'model.head = "quantiles" or "student-t"'
            )
        if not all(0 < level < 1 for level in levels):
            raise ConfigError(f"quantiles {list(quantiles)}: must lie between 0 and 1, for example 0.1,0.9")
        if (
            levels
            and isinstance(head, QuantileHead)
            and not head.levels[0] <= levels[0] <= levels[-1] <= head.levels[-1]
        ):
            raise ConfigError(
                f"{self.run.folder} has learnt quantiles from {head.levels[0]:g} to {head.levels[-1]:g}, and "
                f"{levels[0] if levels[0] < head.levels[0] else levels[-1]:g} lies outside; choose others, or train a model "
                'with them in model.quantiles, or with model.head = "student-t"'
            )
        return levels

    def _answer(self, table: NewTable, start: Start, rolled: Rolled, place: int, levels: Sequence[float]) -> Forecast:
        store, targets = table.store, len(self.data.targets)
        point = rolled.point[place]
        came = store.values[start.end : min(start.behind, start.end + len(point)), :targets]
        truth = np.full_like(point, np.nan)
        truth[: len(came)] = came
        return Forecast(
            series=store.names[start.number],
            targets=list(map(str, store.columns[:targets])),
            date_kind=store.date_kind,
            history_dates=np.asarray(store.dates[start.begin : start.end]),
            history=np.asarray(store.values[start.begin : start.end, :targets]),
            dates=start.dates,
            point=point,
            quantiles={level: rolled.quantiles[place, ..., number] for number, level in enumerate(levels)},
            ways=None if rolled.ways is None else rolled.ways[place],
            likelihood=None if rolled.likelihood is None else rolled.likelihood[place],
            truth=truth if np.isfinite(truth).any() else None,
            paths=self.data.paths,
            trained_steps=self.data.horizon,
        )

    def own_data(self, source: Path, target: Path | None = None) -> Windows:
        """Return all windows of a table of one's own."""
        return self.task.corpora.own_store(SeriesFile(file=str(source.absolute())))

    def score(self, store: Windows, options: DecodingConfig, progress: Advance) -> Scores:
        """Return the scores of all windows, and of floors on the same ones."""
        return score_forecasts(self.task, self.model, store, progress)
