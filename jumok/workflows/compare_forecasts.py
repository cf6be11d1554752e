"""Forecasters side by side on the same windows: scores, and the test of Diebold and Mariano against the first.

predictors and their windows → same targets, horizon and windows? → each run forecasts them, timed → ForecastComparison

Look-backs may differ, as long as the windows' targets are the same. Floors are those of the first run.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from jumok.data.series.windows import Windows
from jumok.errors import DataError
from jumok.evaluation.diebold_mariano import Origins
from jumok.evaluation.forecasts import Said, Tally
from jumok.predictors.forecaster import SeriesForecaster
from jumok.tasks.forecast_scores import (
    MODEL,
    best_floor,
    compare_losses,
    first_dates,
    levels_of,
    main_score,
    said_by,
    tally,
    training_windows,
)
from jumok.tasks.window_chunks import Chunk, Ground
from jumok.tasks.window_floors import Forecaster, floors_of
from jumok.workflows.compare_figure import Panel, draw_panels
from jumok.workflows.compared_runs import ComparedRun, Progress, SideBySide, advance_of, training_time

STEPS = 8  # of the horizon that a figure shows
TITLES = {"mse": "MSE", "distance": "distance"}


@dataclass(frozen=True)
class ForecastResult(ComparedRun):
    """One run's row of a comparison."""

    look_back: int
    scores: dict[str, Any]  # as `evaluate` has them
    tests: dict[str, dict[str, Any]]  # by score: skill and p against the first run, whose own is empty
    forecasting_seconds: float
    windows_per_second: float


@dataclass(frozen=True)
class ForecastComparison(SideBySide):
    """Forecasters side by side on one split."""

    windows: int
    horizon: int
    independent: float  # windows without overlap in time
    main: str  # the score that counts: mse, or ade of paths
    floor: str  # the best floor of the first run by that score, and what it has
    floor_score: float
    runs: list[ForecastResult]
    threads: int


def compare_forecasters(
    predictors: Mapping[str, SeriesForecaster],
    stores: Sequence[Mapping[str, Windows]],
    *,
    checkpoint: str = "best",
    progress: Progress = lambda name, done, total: None,
) -> dict[str, ForecastComparison]:
    """Return a comparison for each split of the first run; every run must have its windows."""
    same = same_windows(list(predictors), stores)  # before the first of them spends its time on forecasting
    return {
        label: _compare(predictors, of_runs, checkpoint=checkpoint, progress=progress)
        for label, of_runs in same.items()
    }


def same_windows(names: Sequence[str], stores: Sequence[Mapping[str, Windows]]) -> dict[str, list[Windows]]:
    """Return each run's windows by the first run's labels; refuse a run that forecasts something else."""
    found = {}
    for place, (label, wanted) in enumerate(stores[0].items()):
        found[label] = [wanted]
        for name, of_run in zip(names[1:], stores[1:], strict=True):
            windows = of_run.get(label) or list(of_run.values())[min(place, len(of_run) - 1)]
            unlike = difference(wanted, windows)
            if unlike:
                raise DataError(
                    f"{name} cannot be compared with {names[0]} ({label}): {unlike}; choose runs that forecast the same steps of "
                    "the same data"
                )
            found[label].append(windows)
    return found


def difference(wanted: Windows, found: Windows) -> str:
    """Say in what two runs' windows differ; '' where their targets are the same."""
    one, other = wanted.data, found.data
    if list(map(str, one.targets)) != list(map(str, other.targets)):
        return f"it forecasts {', '.join(map(str, other.targets))} instead of {', '.join(map(str, one.targets))}"
    if one.horizon != other.horizon:
        return f"its horizon is {other.horizon} steps instead of {one.horizon}"
    if one.transform.startswith("log") != other.transform.startswith("log") or one.scores != other.scores:
        return f"its scores are in other units (data.transform = '{other.transform}', data.scores = '{other.scores}')"
    if one.scores == "scaled" and not np.allclose(wanted.scaling.units, found.scaling.units):
        return "its values are scaled otherwise, with data.scores = 'scaled'"
    if len(wanted) != len(found):
        return f"it has {len(found):,} windows instead of {len(wanted):,} (look-back {other.look_back} and {one.look_back})"
    if not np.array_equal(first_dates(wanted), first_dates(found)):
        return "its windows begin at other dates"
    if not np.array_equal(_first_targets(wanted), _first_targets(found), equal_nan=True):
        return "its windows have other values"
    return ""


def _first_targets(windows: Windows) -> np.ndarray:
    """Return the targets (N, V) of each window's first step."""
    stretch, row = windows.locate(np.arange(len(windows)))
    return np.asarray(windows.store.values[windows.store.offsets[stretch] + row, : len(windows.data.targets)])


class Timed:
    """What a run says of windows, and how long it took."""

    def __init__(self, forecaster: Forecaster) -> None:
        self.forecaster, self.seconds = forecaster, 0.0

    def __call__(self, chunk: Chunk) -> Said:
        """Return what is said of windows."""
        started = time.perf_counter()
        said = self.forecaster(chunk)
        self.seconds += time.perf_counter() - started
        return said


def _compare(
    predictors: Mapping[str, SeriesForecaster], stores: Sequence[Windows], *, checkpoint: str, progress: Progress
) -> ForecastComparison:
    tallies: list[Tally] = []
    seconds = []
    floors: dict[str, Tally] = {}
    for (name, predictor), windows in zip(predictors.items(), stores, strict=True):
        levels, train = levels_of(predictor.task, predictor.model), training_windows(predictor.task)
        ground = Ground.of(windows, train)
        timed = Timed(partial(said_by, predictor.model, windows.scaling, levels))
        forecasters: dict[str, Forecaster] = {MODEL: timed}
        if not tallies:
            forecasters |= floors_of(windows, train, ground)[0]
        found = tally(windows, forecasters, ground, levels=levels, progress=advance_of(progress, name, len(windows)))
        tallies.append(found.pop(MODEL))
        floors = floors or found
        seconds.append(timed.seconds)
    first, main = stores[0], main_score(stores[0].data)
    origins, horizon = Origins(first_dates(first)), first.data.horizon
    runs = []
    for place, ((name, predictor), windows) in enumerate(zip(predictors.items(), stores, strict=True)):
        shared = [score for score in tallies[place].losses if place and score in tallies[0].losses]
        runs.append(
            ForecastResult(
                name=name,
                folder=str(predictor.run.folder),
                model=predictor.run.recipe.model.name,
                parameters=predictor.parameters,
                training_seconds=training_time(predictor.run.folder, checkpoint)[0],
                look_back=windows.data.look_back,
                scores=tallies[place].scores(),
                tests={
                    score: compare_losses(tallies[place].losses[score], tallies[0].losses[score], origins, horizon)
                    for score in shared
                },
                forecasting_seconds=seconds[place],
                windows_per_second=len(windows) / max(seconds[place], 1e-9),
            )
        )
    best = best_floor(main, floors)
    return ForecastComparison(
        windows=len(first),
        horizon=horizon,
        independent=len(origins) / horizon,
        main=main,
        floor=best,
        floor_score=floors[best].losses[main].mean,
        runs=runs,
        threads=torch.get_num_threads(),
    )


def draw_steps(comparisons: Mapping[str, ForecastComparison], path: Path) -> None:
    """Draw the score at some steps of the horizon as a PNG: one panel per split, one line per run."""
    panels = []
    for label, comparison in comparisons.items():
        score = "distance" if comparison.main == "ade" else "mse"
        steps = np.unique(np.geomspace(1, comparison.horizon, STEPS).round().astype(int)).tolist()
        panels.append(
            Panel(
                title=f"{label}, {comparison.windows:,} windows",
                across="steps ahead",
                upwards=TITLES[score],
                points=[str(step) for step in steps],
                lines={run.name: [run.scores["by_step"][score][step - 1] for step in steps] for run in comparison.runs},
            )
        )
    draw_panels(panels, path)
