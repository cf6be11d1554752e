"""A forecaster's scores on the windows of a split, and those of floors on the same windows, in one pass.

windows → chunks of levels (B, R + H, V), transformed → what model and floors say of them → a Tally each
        → scores, skill against the best floor, tests, stretches of time

Everything is compared in transformed units (logarithms where the transform has some), where forecasts of every transform mean
the same; scores then count in deviations of the training data, or as they are (data.scores).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from jumok.config import SeriesData
from jumok.data.series.dates import shown
from jumok.data.series.scaling import Scaling
from jumok.data.series.windows import Windows
from jumok.errors import DataError
from jumok.evaluation.copy_test import CopySums
from jumok.evaluation.diebold_mariano import DieboldMariano, Origins, diebold_mariano
from jumok.evaluation.forecasts import Numbers, PerWindow, Said, Tally
from jumok.nn.forecast_heads import MixtureHead, QuantileHead
from jumok.nn.model import SeriesReader
from jumok.tasks.base import Scores
from jumok.tasks.forecasting import Forecasting
from jumok.tasks.window_batches import batch_of
from jumok.tasks.window_chunks import Chunk, Ground, chunks
from jumok.tasks.window_floors import Forecaster, floors_of

# B windows · L look-back · R steps of the past that floors read · H horizon · V targets · Q levels · K ways

LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)  # at which a head with a spread is scored that has none of its own
WAYS = 20  # the most likely ones of a mixture that count for best of K
STRETCHES = 5
ROUNDING = 1e-5  # of a loss: what float32 leaves between two ways to compute the same forecast
MOST_ORIGINS = 10_000  # that are told one by one
MODEL = "this model"


def score_forecasts(
    task: Forecasting, model: SeriesReader, windows: Windows, progress: Callable[[int], None] = lambda done: None
) -> Scores:
    """Return all scores of a split's windows, as plain values; progress is told windows done since the last call."""
    if not len(windows):
        raise DataError(
            f"there is no window of {windows.data.look_back} steps in and {windows.data.horizon} out to score; give longer "
            "series, or a run with a shorter look-back and horizon"
        )
    levels, train = levels_of(task, model), training_windows(task)
    ground = Ground.of(windows, train)
    beside, notes = floors_of(windows, train, ground, levels, ways=ways_of(model), told=task.corpora.progress)
    copies = CopySums(horizon=task.data.horizon, steps=task.data.look_back, season=task.data.season)
    forecasters: dict[str, Forecaster] = {MODEL: partial(said_by, model, windows.scaling, levels), **beside}
    tallies = tally(windows, forecasters, ground, levels=levels, copies=copies, progress=progress)
    own = tallies.pop(MODEL)
    data, origins = task.data, Origins(first_dates(windows))
    main = main_score(data)
    scored = [name for name in (main, "pinball", "best_ade") if name in own.losses]
    repeat = next(iter(tallies))  # the first floor stays where the series is
    copied = copies.result()
    against = compare_losses(own.losses[main], tallies[repeat].losses[main], origins, data.horizon)
    return {
        "windows": len(windows),
        "series": len(ground.names),
        "look_back": data.look_back,
        "horizon": data.horizon,
        "season": data.season,
        "units": data.scores,
        "targets": list(map(str, data.targets)),
        "origins": len(origins),
        "independent": len(origins) / data.horizon,
        **own.scores(),
        "floors": {name: found.scores() for name, found in tallies.items()},
        "skills": [skill(name, own, tallies, origins, data.horizon) for name in scored],
        "repeat": {"floor": repeat, "score": main, **against},
        "copy": {**asdict(copied), "copies": copied.copies},
        "stretches": stretches(windows, main, own, tallies, origins),
        "by_origin": by_origin(windows, main, own, tallies, origins),
        "notes": notes,
    }


# --- what is said


def levels_of(task: Forecasting, model: SeriesReader) -> tuple[float, ...]:
    """Return the levels at which a model's quantiles are scored; none where it has no spread, or ways of paths instead."""
    if isinstance(model.head, QuantileHead):
        return tuple(model.head.levels)
    return () if model.head.kind == "point" or task.data.paths else LEVELS


def ways_of(model: SeriesReader) -> int:
    """Return how many of a model's ways count for best of K; 0 where it has one."""
    return min(model.head.count, WAYS) if isinstance(model.head, MixtureHead) else 0


@torch.inference_mode()
def said_by(model: SeriesReader, scaling: Scaling, levels: Sequence[float], chunk: Chunk) -> Said:
    """Return what a model says of windows, in transformed units."""
    parameters = model(batch_of(chunk.arrays).to(model.device)).float()
    head, level = model.head, chunk.arrays.level
    found = head.ways(parameters)
    ways = None
    if found is not None:
        places, weights = (each.cpu().numpy() for each in found)
        likely = np.argsort(-weights, axis=1, kind="stable")[:, :WAYS]
        ways = scaling.transformed(np.take_along_axis(places, likely[..., None, None], axis=1), level[:, None])
    quantiles = None
    if levels:
        told = head.quantiles(parameters, levels).movedim(-1, 1).cpu().numpy()  # (B, Q, H, V)
        quantiles = np.moveaxis(scaling.transformed(told, level[:, None]), 1, -1)
    return Said(scaling.transformed(head.point(parameters).cpu().numpy(), level), quantiles, ways)


def training_windows(task: Forecasting) -> Windows | None:
    """Return the training windows; None where their tables are not at hand, as with a model that was sent elsewhere."""
    try:
        return task.corpora.train
    except DataError:
        return None


def tally(
    windows: Windows,
    forecasters: Mapping[str, Forecaster],
    ground: Ground,
    *,
    levels: Sequence[float] = (),
    copies: CopySums | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, Tally]:
    """Return the sums of each forecaster over all windows; the first is tested for copies."""
    data = windows.data
    unit = windows.scaling.units if data.scores == "scaled" else np.ones(len(data.targets))
    found = {
        name: Tally(len(windows), unit=unit, scale=ground.naive, horizon=data.horizon, levels=levels, paths=data.paths)
        for name in forecasters
    }
    for chunk in chunks(windows, width=max(len(levels), WAYS if data.paths else 1)):
        for place, (name, forecaster) in enumerate(forecasters.items()):
            said = forecaster(chunk)
            found[name].add(chunk.numbers, ground.of_stretch[chunk.stretch], chunk.future, chunk.observed, said)
            if not place and copies is not None:
                past, future, point = (
                    each / windows.scaling.units
                    for each in (chunk.complete[:, -data.look_back :], chunk.future, said.point)
                )
                copies.add(past, future, chunk.observed, point)
        progress(len(chunk.numbers))
    return found


# --- what the sums say


def first_dates(windows: Windows) -> Numbers:
    """Return the date (N,) of each window's first target."""
    stretch, row = windows.locate(np.arange(len(windows)))
    return np.asarray(windows.store.dates[windows.store.offsets[stretch] + row])


def main_score(data: SeriesData) -> str:
    """Return the score that counts."""
    return "ade" if data.paths else "mse"


def compare_losses(one: PerWindow, other: PerWindow, origins: Origins, horizon: int) -> dict[str, Any]:
    """Return the skill of one against the other, and the test of Diebold and Mariano."""
    test: DieboldMariano = diebold_mariano(
        origins.differences(one, other), horizon, rounding=ROUNDING * max(one.mean, other.mean)
    )
    skill = 1 - one.mean / other.mean if other.mean else None
    return {"skill": skill, "statistic": test.statistic, "p": test.p, "lag": test.lag, "better": test.better}


def best_floor(score: str, tallies: Mapping[str, Tally]) -> str:
    """Return the name of the floor with the smallest score."""
    return min(
        (name for name in tallies if score in tallies[name].losses), key=lambda name: tallies[name].losses[score].mean
    )


def skill(score: str, own: Tally, tallies: Mapping[str, Tally], origins: Origins, horizon: int) -> dict[str, Any]:
    """Return the skill by a score against the best floor of it."""
    best = best_floor(score, tallies)
    told = compare_losses(own.losses[score], tallies[best].losses[score], origins, horizon)
    return {"score": score, "floor": best, **told}


def stretches(
    windows: Windows, score: str, own: Tally, tallies: Mapping[str, Tally], origins: Origins
) -> list[dict[str, Any]]:
    """Return a score in consecutive stretches of time, beside the floor that is best of all: a rolling-origin backtest."""
    best = tallies[best_floor(score, tallies)].losses[score]
    many = min(int(len(origins) / windows.data.horizon), STRETCHES)
    if many < 2:
        return []
    found = []
    borders = np.linspace(0, len(origins), many + 1).astype(np.int64)
    for begin, end in pairwise(borders.tolist()):
        inside = (origins.of_window >= begin) & (origins.of_window < end)
        mine, floor = (PerWindow(loss.total[inside], loss.count[inside]).mean for loss in (own.losses[score], best))
        found.append(
            {
                "from": shown(int(origins.dates[begin]), windows.store.date_kind),
                "to": shown(int(origins.dates[end - 1]), windows.store.date_kind),
                "windows": int(inside.sum()),
                score: mine,
                "floor": floor,
                "skill": 1 - mine / floor if floor else None,
            }
        )
    return found


def by_origin(
    windows: Windows, score: str, own: Tally, tallies: Mapping[str, Tally], origins: Origins
) -> dict[str, list[Any]]:
    """Return a score's sums by origin, in the order of time, for tests of one's own; nothing where there are very many."""
    if len(origins) > MOST_ORIGINS:
        return {}
    best = best_floor(score, tallies)
    return {
        "origin": [shown(int(date), windows.store.date_kind) for date in origins.dates],
        "values": origins.sums(own.losses[score].count).astype(int).tolist(),
        MODEL: origins.sums(own.losses[score].total).tolist(),
        best: origins.sums(tallies[best].losses[score].total).tolist(),
    }
