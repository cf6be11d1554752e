"""A trained forecaster: tell what comes next of the series of a table, and score that.

table → series → the last steps of each, and what is known ahead → the model, block after block → the data's own units
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jumok.config import DecodingConfig, SeriesData, SeriesFile
from jumok.data.series.dates import microseconds, parse_date
from jumok.data.series.new_table import NewTable
from jumok.data.series.steps import calendar_features, next_dates
from jumok.data.series.windows import Windows
from jumok.errors import ConfigError, DataError, counted, did_you_mean
from jumok.nn.forecast_heads import QuantileHead
from jumok.nn.model import SeriesReader
from jumok.nn.threads import one_thread_for
from jumok.predictors.base import Advance, ModelPredictor, Notice, Warn, ignore_notice, ignore_progress
from jumok.predictors.forecast import Forecast, Forecasts
from jumok.predictors.forecast_explaining import explain_forecast
from jumok.predictors.forecast_explanation import ForecastExplanation
from jumok.predictors.given_table import GivenTable, read_given
from jumok.predictors.rolling import Rolled, Roller
from jumok.tasks.base import Scores
from jumok.tasks.forecast_scores import score_forecasts
from jumok.tasks.forecasting import Forecasting

# L look-back · S steps ahead · C columns · V targets · K known columns

Values = NDArray[np.float64]
LEVELS = (0.1, 0.5, 0.9)  # quantiles of a distribution, where none are named


@dataclass(frozen=True)
class Start:
    """Where the forecast of one series begins."""

    number: int  # of the series in its store
    begin: int  # the rows of its history, at most as many as the look-back
    end: int
    behind: int  # the row after its last
    dates: NDArray[np.int64]  # (S,) of the steps ahead
    known: Values  # (S or more, K) ahead: a row for each step of every block of the model that is begun


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
        series, or the content of a CSV as bytes. steps is how far to forecast (0: as far as the model was trained for; more is rolled on), quantiles
        which levels to tell (None: the model's own, where it has some; (): none), series which series (none named: all),
        and at the last date or step number that is taken for known: what came after it is told beside the forecast.
        """
        data, levels = self.data, self._levels(quantiles)
        if steps < 0:
            raise ConfigError(f"--steps {steps}: must be 1 or more, or 0 for the {self.data.horizon} of training")
        steps = steps or data.horizon
        given = read_given(table, data)
        for note in given.notes:
            warn(Notice(None, note))
        starts = self._starts(given, [series] if isinstance(series, str) else series, at=at, steps=steps, warn=warn)
        self._tell(given, starts, steps, warn)
        roller, found = Roller(self.model, data), Forecasts(run=self.run.folder.name, season=data.season)
        at_once = roller.at_once(steps, len(levels))
        for first in range(0, len(starts), at_once):
            some = starts[first : first + at_once]
            with one_thread_for(len(some) * len(data.targets), self.model):
                rolled = roller.forecast(
                    np.stack([self._history(given, start) for start in some]),
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
        [start] = self._starts(given, [series] if series else [], at=at, steps=data.horizon, warn=warn)
        self._tell(given, [start], data.horizon, warn)
        history, static = self._history(given, start), given.store.static[start.number]
        roller = Roller(self.model, data)
        rolled = roller.forecast(history[None], start.known[None], static[None], steps=data.horizon, levels=levels)
        return explain_forecast(
            self.model,
            data,
            self.run.recipe.model,
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
        if levels and not 0 < levels[0] <= levels[-1] < 1:
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

    def _starts(self, table: NewTable, series: Sequence[str], *, at: str, steps: int, warn: Warn) -> list[Start]:
        """Return the series to forecast; one without any value is left out and told, alone refused."""
        store, data = table.store, self.data
        last = None if not at else date_of(at, store.date_kind)
        if last is not None and len(store.dates) and last > store.dates.max():
            warn(Notice(None, f"the table ends before {at}; its last step is taken instead"))
        starts, empty = [], []
        for number in self._chosen(table, series, last):
            begin, behind = int(store.offsets[number]), int(store.offsets[number + 1])
            end = behind - int(table.future_rows[number])
            if last is not None:
                end = min(begin + int(np.searchsorted(store.dates[begin:behind], last, side="right")), end)
            first = max(begin, end - data.look_back)
            if np.isnan(store.values[first:end, : len(data.targets)]).all():
                empty.append(number)
                continue
            starts.append(Start(number, first, end, behind, *self._ahead(table, number, begin, end, behind, steps)))
        if empty:
            name = store.names[empty[0]] or "the table"
            until = f" up to {at}" if at else ""
            if not starts:
                raise DataError(
                    f"{name} has no value{until} among its last {data.look_back} steps, and a forecast is made of them; "
                    f"give a table with values of {', '.join(map(str, data.targets[:8]))}"
                )
            warn(
                Notice(
                    None,
                    f"{counted(len(empty), 'series', 'series')} of {len(empty) + len(starts):,} left out: no value{until} "
                    f"among the last {data.look_back} steps, for example of {name}",
                )
            )
        return starts

    def _chosen(self, table: NewTable, wanted: Sequence[str], last: int | None) -> list[int]:
        """Return the numbers of series, by name if some are named.

        Of a series with gaps it is the last stretch that has a history, and begins no later than the last date known.
        """
        store = table.store
        found: dict[str, int] = {}
        for number, name in enumerate(store.names):
            begins = store.lengths[number] > table.future_rows[number]
            begins = begins and (last is None or store.dates[store.offsets[number]] <= last)
            if begins or name not in found:
                found[name] = number
        for name in wanted:
            if name not in found:
                raise DataError(f"the table has no series '{name}'; {did_you_mean(name, list(found)[:1000])}")
        return [found[name] for name in dict.fromkeys(wanted)] if wanted else list(found.values())

    def _ahead(
        self, table: NewTable, number: int, begin: int, end: int, behind: int, steps: int
    ) -> tuple[NDArray[np.int64], Values]:
        """Return the dates of the steps ahead (S,), and what is known of them (S or more, K)."""
        store, data = table.store, self.data
        rows = -(-steps // data.horizon) * data.horizon
        given = min(behind - end, rows)
        interval = "" if store.date_kind == "row" else data.interval
        further = next_dates(store.dates[begin : end + given], rows - given, store.date_kind, interval)
        dates = np.concatenate([store.dates[end : end + given], further])
        width = len(store.columns) - len(data.targets) - len(data.past)
        known = np.full((rows, width), np.nan)
        if width:
            known[:given] = store.values[end : end + given, -width:]
        if data.calendar:
            features = calendar_features(dates, data.calendar)
            known[:, width - features.shape[1] :] = features
        there = ~np.isnan(known[:steps, : len(data.known)]).any(axis=1)
        if not there.all():
            name = f" of {store.names[number]}" if store.names[number] else ""
            raise DataError(
                f"{', '.join(map(str, data.known))} must be known for each of the {steps:,} steps ahead{name}, and step "
                f"{int(np.argmin(there)) + 1:,} has no value; add rows with dates and these columns below the table, the "
                "columns to forecast left empty, or forecast fewer steps"
            )
        return dates[:steps], known

    def _history(self, table: NewTable, start: Start) -> Values:
        """Return the last steps (L, C) of a series; what would lie before its first is missing."""
        values = np.full((self.data.look_back, len(table.store.columns)), np.nan)
        values[self.data.look_back - (start.end - start.begin) :] = table.store.values[start.begin : start.end]
        return values

    def _tell(self, table: NewTable, starts: Sequence[Start], steps: int, warn: Warn) -> None:
        """Tell what a user should know of the forecasts to come."""
        data, names = self.data, table.store.names
        short = [start for start in starts if start.end - start.begin < data.look_back]
        if short:
            least = min(short, key=lambda start: start.end - start.begin)
            length = least.end - least.begin
            if len(starts) == 1:
                text = f"the table has {length:,} of the {data.look_back} steps that the model looks back; those before count as missing"
            else:
                text = (
                    f"{len(short):,} of {len(starts):,} series are shorter than the {data.look_back} steps that the model "
                    f"looks back ({names[least.number]} has {length:,}); those before count as missing"
                )
            warn(Notice(None, text))
        for place, target in enumerate(data.targets):
            without = [one for one in starts if np.isnan(table.store.values[one.begin : one.end, place]).all()]
            if without:
                name = f" of {names[without[0].number]}" if len(starts) > 1 else ""
                warn(
                    Notice(
                        None,
                        f"there is no value of {target} among the last {data.look_back} steps{name}; its forecast is a guess, "
                        "or left empty",
                    )
                )
        if steps > data.horizon:
            past = f"; of {', '.join(map(str, data.past))} nothing is known there" if data.past else ""
            warn(
                Notice(
                    None,
                    f"the model was trained for {counted(data.horizon, 'step')}; those beyond are made of its own "
                    f"forecasts, step by step less sure{past}",
                )
            )
        own = len(data.known)
        if own and any(np.isnan(start.known[:, :own]).any() for start in starts):
            warn(
                Notice(
                    None,
                    f"the model also reads {', '.join(map(str, data.known))} beyond the steps that are forecast, up to step "
                    f"{len(starts[0].known)}; where they are not known they count as average",
                )
            )

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


def date_of(text: str, kind: str) -> int:
    """Return a date, or a step number, as a table has it."""
    try:
        return microseconds(parse_date(text)) if kind == "date" else int(text)
    except ValueError:
        wanted = "a date such as 2016-07-01 or 2016-07-01 13:00" if kind == "date" else "the number of a step"
        raise ConfigError(f"--at {text}: must be {wanted}") from None
