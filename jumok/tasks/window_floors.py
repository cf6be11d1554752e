"""Floors on the windows of a split: what every forecaster must be seen beside, fitted on the training windows alone.

windows, training windows → forecasters by name, repeating first → what each says of a Chunk
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import torch

from jumok.data.corpora import ProgressCallback
from jumok.data.series.scaling import Scaling
from jumok.data.series.windows import Windows
from jumok.evaluation import forecast_floors as floors
from jumok.evaluation.forecasts import Said, Values
from jumok.tasks.path_ridge import fit_path_ridge
from jumok.tasks.ridge import MOST_WINDOWS, Ridge, fit_ridge
from jumok.tasks.window_chunks import Chunk, Ground, chunks

# B windows · L look-back · H horizon · V targets · Q levels

RESIDUALS = 2048  # training windows on which the ridge regression's errors are measured
SEED = 20  # of the directions of turned velocities

Forecaster = Callable[[Chunk], Said]


def floors_of(
    windows: Windows,
    train: Windows | None,
    ground: Ground,
    levels: Sequence[float] = (),
    *,
    ways: int = 0,
    told: ProgressCallback = lambda what, done: None,
) -> tuple[dict[str, Forecaster], list[str]]:
    """Return what needs no Transformer, by name: repeating first; and what a reader must know of it.

    levels are those of quantiles; ways how many ways a path may go: with none, what spreads is left out.
    """
    data = windows.data
    horizon, season, back = data.horizon, data.season, data.look_back
    found: dict[str, Forecaster] = {}
    if data.paths:
        turns = np.random.default_rng(SEED)
        found["stay"] = lambda chunk: Said(floors.repeat_last(chunk.complete, horizon))
        found["constant velocity"] = lambda chunk: Said(floors.constant_velocity(chunk.complete, horizon))
        found["mean velocity"] = lambda chunk: Said(floors.drift(chunk.complete[:, -back:], horizon))
        if ways:
            found["constant velocity, turned"] = lambda chunk: Said(
                floors.constant_velocity(chunk.complete, horizon),
                ways=floors.turned_velocities(
                    chunk.complete, horizon, floors.draw_turns(turns, len(chunk.numbers), ways)
                ),
            )
    else:
        found["repeat last"] = lambda chunk: Said(floors.repeat_last(chunk.complete, horizon))
        if 1 < season <= back:
            found["seasonal naive"] = lambda chunk: Said(floors.seasonal_naive(chunk.complete, horizon, season))
        found["drift"] = lambda chunk: Said(floors.drift(chunk.complete[:, -back:], horizon))
    if levels:
        normal, student = floors.normal_draws(levels), floors.student_draws(levels)

        def constant(chunk: Chunk) -> Said:
            point = floors.repeat_last(chunk.complete, horizon)
            return Said(point, floors.random_walk(point, ground.deviation[ground.of_stretch[chunk.stretch]], normal))

        def ewma(chunk: Chunk) -> Said:
            point = floors.repeat_last(chunk.complete, horizon)
            late = floors.ewma_deviation(chunk.past)
            late = np.where(np.isfinite(late), late, ground.deviation[ground.of_stretch[chunk.stretch]])
            return Said(point, floors.random_walk(point, late, student))

        found["constant normal"], found["EWMA, Student-t"] = constant, ewma
    notes = []
    if season > back and not data.paths:
        notes.append(f"a season of {season} steps is longer than the look-back: seasonal naive is left out")
    if train is None:
        return found, [*notes, "the training tables are not at hand: the ridge regression is left out"]
    fitting = partial(told, "fitting the ridge regression")
    if data.paths:
        joint = fit_path_ridge(paths_of(train), fitting)
        found["ridge"] = lambda chunk: Said(joint.forecast(chunk.complete[:, -back:]))
        return found, notes
    ridge = fit_ridge(train, progress=fitting)
    found["ridge"] = lambda chunk: Said(ridge_point(ridge, chunk, windows.scaling))
    if levels:
        spread = residual_deviation(ridge, train)

        def ridge_normal(chunk: Chunk) -> Said:
            point = ridge_point(ridge, chunk, windows.scaling)
            return Said(point, floors.around(point, spread, normal))

        found["ridge, normal"] = ridge_normal
    return found, notes


def ridge_point(ridge: Ridge, chunk: Chunk, scaling: Scaling) -> Values:
    """Return the ridge regression's forecast (B, H, V) in transformed units."""
    past, observed = (
        torch.from_numpy(np.ascontiguousarray(each[..., : scaling.targets]))
        for each in (chunk.arrays.past, chunk.arrays.observed)
    )
    return scaling.transformed(ridge.forecast(past, observed, relative=scaling.relative).numpy(), chunk.arrays.level)


def residual_deviation(ridge: Ridge, train: Windows) -> Values:
    """Return the deviation (H, V) of a regression's errors on training windows at even distances."""
    squares, count = np.zeros((train.data.horizon, len(train.data.targets))), 0.0
    chosen = np.unique(np.linspace(0, len(train) - 1, RESIDUALS).astype(np.int64))
    for chunk in chunks(train, chosen):
        error = np.where(chunk.observed, ridge_point(ridge, chunk, train.scaling) - chunk.future, 0.0)
        squares, count = squares + (error**2).sum(axis=0), count + chunk.observed.sum(axis=0)
    return np.asarray(np.sqrt(squares / np.maximum(count, 1)))


def paths_of(train: Windows) -> Iterator[tuple[Values, Values]]:
    """Yield positions (n, L, 2) and what came (n, H, 2) of training windows, at even distances where there are very many."""
    chosen = np.unique(np.linspace(0, len(train) - 1, min(len(train), MOST_WINDOWS)).astype(np.int64))
    for chunk in chunks(train, chosen):
        yield chunk.complete[:, -train.data.look_back :], np.where(chunk.observed, chunk.future, np.nan)
