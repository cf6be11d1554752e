"""A forecaster's scores on the windows of a split, and those of floors on the same windows, in one pass.

windows → chunks of levels (B, R + H, V), transformed → what model and floors say of them → a Tally each
        → scores, skill against the best floor, tests, stretches of time

Everything is compared in transformed units (logarithms where the transform has some), where forecasts of every transform mean
the same; scores then count in deviations of the training data, or as they are (data.scores).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from jumok.data.series.scaling import Scaling
from jumok.data.series.windows import WindowArrays, Windows
from jumok.errors import DataError
from jumok.evaluation import forecast_floors as floors
from jumok.evaluation.copy_test import CopySums
from jumok.evaluation.diebold_mariano import DieboldMariano, Origins, diebold_mariano
from jumok.evaluation.forecasts import Mask, Numbers, PerWindow, Said, Tally, Values
from jumok.nn.forecast_heads import QuantileHead
from jumok.nn.model import SeriesReader
from jumok.tasks.base import Scores
from jumok.tasks.forecasting import Forecasting
from jumok.tasks.path_ridge import fit_path_ridge
from jumok.tasks.ridge import MOST_WINDOWS, Ridge, fit_ridge
from jumok.tasks.window_batches import batch_of

# B windows · L look-back · R steps of the past that floors read · H horizon · V targets · Q levels · K ways

LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)  # at which a head with a spread is scored that has none of its own
WAYS = 20  # the most likely ones of a mixture that count for best of K
VALUES = 1 << 20  # numbers of an array, about: a bound on memory
MOST_ROWS = 512  # windows of a chunk
RESIDUALS = 2048  # training windows on which the ridge regression's errors are measured
STRETCHES = 5
MOST_ORIGINS = 10_000  # that are told one by one
SEED = 20  # of the directions of turned velocities
MODEL = "this model"


@dataclass(frozen=True)
class Chunk:
    """Some windows, as floors and as a model see them."""

    numbers: Numbers  # (B,)
    series: Numbers  # (B,), stretches of one name being one series
    past: Values  # (B, R, V) transformed; NaN where missing
    complete: Values  # (B, R, V) without gaps
    future: Values  # (B, H, V) transformed; NaN where missing
    observed: Mask  # (B, H, V)
    arrays: WindowArrays


Forecaster = Callable[[Chunk], Said]


def score_forecasts(
    task: Forecasting, model: SeriesReader, windows: Windows, progress: Callable[[int], None] = lambda done: None
) -> Scores:
    """Return all scores of a split's windows, as plain values; progress is told windows done since the last call."""
    if not len(windows):
        raise DataError(
            f"there is no window of {windows.data.look_back} steps in and {windows.data.horizon} out to score; give longer "
            "series, or a run with a shorter look-back and horizon"
        )
    levels = levels_of(task, model)
    beside, notes = floors_of(task, windows, levels)
    ground = Ground.of(windows)
    copies = CopySums(horizon=task.data.horizon, steps=task.data.look_back, season=task.data.season)
    forecasters: dict[str, Forecaster] = {MODEL: partial(said_by, model, windows.scaling, levels), **beside}
    tallies = tally(windows, forecasters, ground, levels=levels, copies=copies, progress=progress)
    own = tallies.pop(MODEL)
    data, origins = task.data, Origins(first_dates(windows))
    main = "ade" if data.paths else "mse"
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


def floors_of(
    task: Forecasting, windows: Windows, levels: Sequence[float] = ()
) -> tuple[dict[str, Forecaster], list[str]]:
    """Return what needs no Transformer, by name: repeating first; and what a reader must know of it."""
    data, ground = windows.data, Ground.of(windows)
    horizon, season, back = data.horizon, data.season, data.look_back
    found: dict[str, Forecaster] = {}
    if data.paths:
        turns = np.random.default_rng(SEED)
        found["stay"] = lambda chunk: Said(floors.repeat_last(chunk.complete, horizon))
        found["constant velocity"] = lambda chunk: Said(floors.constant_velocity(chunk.complete, horizon))
        found["mean velocity"] = lambda chunk: Said(floors.drift(chunk.complete[:, -back:], horizon))
        found["constant velocity, turned"] = lambda chunk: Said(
            floors.constant_velocity(chunk.complete, horizon),
            ways=floors.turned_velocities(chunk.complete, horizon, floors.draw_turns(turns, len(chunk.numbers))),
        )
    else:
        found["repeat last"] = lambda chunk: Said(floors.repeat_last(chunk.complete, horizon))
        if season > 1:
            found["seasonal naive"] = lambda chunk: Said(floors.seasonal_naive(chunk.complete, horizon, season))
        found["drift"] = lambda chunk: Said(floors.drift(chunk.complete[:, -back:], horizon))
    if levels:
        normal, student = floors.normal_draws(levels), floors.student_draws(levels)

        def constant(chunk: Chunk) -> Said:
            point = floors.repeat_last(chunk.complete, horizon)
            return Said(point, floors.random_walk(point, ground.deviation[chunk.series], normal))

        def ewma(chunk: Chunk) -> Said:
            point = floors.repeat_last(chunk.complete, horizon)
            late = floors.ewma_deviation(chunk.past)
            late = np.where(np.isfinite(late), late, ground.deviation[chunk.series])
            return Said(point, floors.random_walk(point, late, student))

        found["constant normal"], found["EWMA, Student-t"] = constant, ewma
    try:
        train = task.corpora.train
        if not len(train):
            raise DataError("there is no training window")
    except DataError:
        return found, ["the training tables are not there: the ridge regression is left out"]
    fitting = partial(_told, task, "fitting the ridge regression")
    if data.paths:
        joint = fit_path_ridge(paths_of(train), fitting)
        found["ridge"] = lambda chunk: Said(joint.forecast(chunk.complete[:, -back:]))
        return found, []
    ridge = fit_ridge(train, progress=fitting)
    found["ridge"] = lambda chunk: Said(ridge_point(ridge, chunk, windows.scaling))
    if levels:
        spread = residual_deviation(ridge, train)

        def ridge_normal(chunk: Chunk) -> Said:
            point = ridge_point(ridge, chunk, windows.scaling)
            return Said(point, floors.around(point, spread, normal))

        found["ridge, normal"] = ridge_normal
    return found, []


def _told(task: Forecasting, what: str, done: int) -> None:
    task.corpora.progress(what, done)


def paths_of(train: Windows) -> Iterator[tuple[Values, Values]]:
    """Yield positions (n, L, 2) and what came (n, H, 2) of training windows, at even distances where there are very many."""
    chosen = np.unique(np.linspace(0, len(train) - 1, min(len(train), MOST_WINDOWS)).astype(np.int64))
    for chunk in chunks(train, Ground.of(train), chosen):
        yield chunk.complete[:, -train.data.look_back :], np.where(chunk.observed, chunk.future, np.nan)


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
    for chunk in chunks(train, Ground.of(train), chosen):
        error = np.where(chunk.observed, ridge_point(ridge, chunk, train.scaling) - chunk.future, 0.0)
        squares, count = squares + (error**2).sum(axis=0), count + chunk.observed.sum(axis=0)
    return np.asarray(np.sqrt(squares / np.maximum(count, 1)))


# --- sums over windows


@dataclass(frozen=True)
class Ground:
    """What is known of each series before the split; of the train split, and where nothing is before it, of all its rows."""

    names: list[str]  # (S,)
    of_stretch: Numbers  # (K,): which series each stretch of the store belongs to
    naive: Values  # (S, V): the seasonal naive error, mean absolute; 0 where it is not known
    deviation: Values  # (S, V) of one step to the next; of all series together where it is not known

    @classmethod
    def of(cls, windows: Windows) -> "Ground":
        """Measure the rows of windows' store, block by block."""
        store, data = windows.store, windows.data
        numbers = {name: number for number, name in enumerate(dict.fromkeys(store.names))}
        of_stretch = np.array([numbers[name] for name in store.names], dtype=np.int64)
        shape = (len(numbers), len(data.targets))
        naive, naives, squares, steps = (np.zeros(shape) for _ in range(4))
        season, size = max(data.season, 1), max(VALUES // len(data.targets), 2 * data.season)
        ends = windows.begin if windows.begin.any() else windows.end
        for stretch, series in enumerate(of_stretch):
            first, end = int(store.offsets[stretch]), int(ends[stretch])
            for begin in range(0, end, size):
                reach = min(begin, season)
                rows = transformed(
                    store.values[first + begin - reach : first + min(begin + size, end)], data.transform, shape[1]
                )
                change = np.abs(rows[season:] - rows[:-season]) if len(rows) > season else rows[:0]
                step = np.diff(rows[max(reach - 1, 0) :], axis=0)
                naive[series] += np.nansum(change, axis=0)
                naives[series] += (~np.isnan(change)).sum(axis=0)
                squares[series] += np.nansum(step**2, axis=0)
                steps[series] += (~np.isnan(step)).sum(axis=0)
        together = np.sqrt(squares.sum(axis=0) / np.maximum(steps.sum(axis=0), 1))
        return cls(
            list(numbers),
            of_stretch,
            naive / np.maximum(naives, 1),
            np.where(steps > 0, np.sqrt(squares / np.maximum(steps, 1)), together),
        )


def transformed(rows: Values, transform: str, targets: int) -> Values:
    """Return the targets (…, V) of rows (…, C): their logarithms where the transform has some."""
    values = np.array(rows[..., :targets], dtype=np.float64)
    if transform in ("log", "log-return"):
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.log(values)
        values[~np.isfinite(values)] = np.nan
    return values


def chunks(windows: Windows, ground: Ground, numbers: Numbers | None = None, width: int = 1) -> Iterator[Chunk]:
    """Yield windows in their order, or those of some numbers; width is how many numbers are said of a value."""
    data, store = windows.data, windows.store
    before = max(data.look_back, data.season, floors.EWMA_STEPS)
    targets = len(data.targets)
    rows = max(min(VALUES // ((before + data.horizon * width) * targets), MOST_ROWS), 1)
    numbers = np.arange(len(windows)) if numbers is None else numbers
    for first in range(0, len(numbers), rows):
        some = numbers[first : first + rows]
        stretch, row = windows.locate(some)
        places = row[:, None] + np.arange(-before, data.horizon)  # (B, R + H)
        read = store.values[store.offsets[stretch][:, None] + np.maximum(places, 0)]
        values = transformed(read, data.transform, targets)
        values[places < 0] = np.nan
        arrays = windows.arrays(some)
        past, future = values[:, :before], values[:, before:]
        complete = floors.carried(past, windows.scaling.mean[:targets])
        observed = arrays.future_observed & ~np.isnan(future)
        yield Chunk(some, ground.of_stretch[stretch], past, complete, future, observed, arrays)


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
    for chunk in chunks(windows, ground, width=max(len(levels), WAYS if data.paths else 1)):
        for place, (name, forecaster) in enumerate(forecasters.items()):
            said = forecaster(chunk)
            found[name].add(chunk.numbers, chunk.series, chunk.future, chunk.observed, said)
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


def compare_losses(one: PerWindow, other: PerWindow, origins: Origins, horizon: int) -> dict[str, Any]:
    """Return the skill of one against the other, and the test of Diebold and Mariano."""
    test: DieboldMariano = diebold_mariano(origins.differences(one, other), horizon)
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
                "from": date_text(int(origins.dates[begin]), windows.store.date_kind),
                "to": date_text(int(origins.dates[end - 1]), windows.store.date_kind),
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
        "origin": [date_text(int(date), windows.store.date_kind) for date in origins.dates],
        "values": origins.sums(own.losses[score].count).astype(int).tolist(),
        MODEL: origins.sums(own.losses[score].total).tolist(),
        best: origins.sums(tallies[best].losses[score].total).tolist(),
    }


def date_text(date: int, kind: str) -> str:
    """Return a date of a store as people write it."""
    if kind != "date":
        return str(date)
    text = str(np.datetime64(date, "us").astype("datetime64[s]"))
    return text.removesuffix("T00:00:00").replace("T", " ").removesuffix(":00")
