"""From a table on disk to a forecast: nothing after the last known step changes it, for all tokens and all transforms."""

from itertools import product

import numpy as np
import pytest
from predictors.series_runs import SMALL, write

import jumok

LOOK_BACK, HORIZON, LAST = 14, 5, 60  # the last step that is known
LENGTHS = {"north": 90, "south": 77}
DATA = {
    "date": "step", "id": ["place"], "past": ["price"], "known": ["holiday"], "calendar": [], "look_back": LOOK_BACK, "horizon": HORIZON, "season": 7,
}  # fmt: skip
WAYS = {
    "none": {},
    "log": {"transform": "log"},
    "difference": {"transform": "difference"},
    "log-return": {"transform": "log-return"},
    "paths": {"transform": "difference", "paths": True, "rotate": 0.5},
}
QUICK = {
    "steps": 3,
    "batch_size": 16,
    "warmup": 1,
    "learning_rate": 0.05,
    "workers": 1,
    "evaluate_every": 3,
    "save_every": 3,
}


def table(seed=0):
    """Return two series of unequal lengths whose values are all positive."""
    draw, rows = np.random.default_rng(seed), []
    for place, length in LENGTHS.items():
        for step in range(length):
            x, y = np.exp(0.3 * np.sin(step / 3) + 0.1 * draw.normal(size=2))
            rows.append([place, step, x, y, draw.normal(), int(draw.random() < 0.4)])
    return dict(
        zip(("place", "step", "x", "y", "price", "holiday"), map(np.array, zip(*rows, strict=True)), strict=True)
    )


def after(columns, *names, first=LAST + 1, last=10**6):
    """Return columns with other values in some of them from one step to another."""
    changed, draw = dict(columns), np.random.default_rng(9)
    where = (columns["step"] >= first) & (columns["step"] <= last)
    for name in names:
        column = columns[name].astype(float)
        column[where] = np.exp(draw.normal(size=where.sum())) if name != "holiday" else 1 - column[where]
        changed[name] = column
    return changed


@pytest.fixture(scope="module", params=list(product(("steps", "patches", "variables"), WAYS)), ids="-".join)
def forecaster(request, tmp_path_factory):
    tokens, way = request.param
    folder = tmp_path_factory.mktemp("run")
    write(folder / "table.csv", table())
    data = {"train": "table.csv", "targets": ["x", "y"], **DATA, **WAYS[way]}
    recipe = {"task": "forecasting", "data": data, "model": SMALL | {"tokens": tokens}, "training": QUICK}
    return jumok.load(jumok.train(recipe, data=folder, out=folder / "run", quiet=True))


def points(forecaster, columns, folder, **options):
    found = forecaster.forecast(write(folder / "new.csv", columns), at=str(LAST), **options)
    return np.stack([one.point for one in found])  # (2, S, V)


def test_a_forecast_from_a_table_on_disk(forecaster, tmp_path):
    plain = points(forecaster, table(), tmp_path)
    assert plain.shape == (2, HORIZON, 2)
    np.testing.assert_array_equal(points(forecaster, after(table(), "x", "y", "price"), tmp_path), plain)
    gone = after(table(), "x", "y", "price")
    gone["x"] = np.where(gone["step"] > LAST, np.nan, gone["x"])
    np.testing.assert_array_equal(points(forecaster, gone, tmp_path), plain)
    later = after(table(), "holiday", first=LAST + HORIZON + 1)
    np.testing.assert_array_equal(points(forecaster, later, tmp_path), plain)
    # ... and what may be seen is seen
    for changed in (
        after(table(), "holiday", last=LAST + HORIZON),
        after(table(), "x", first=LAST, last=LAST),
        after(table(), "price", first=LAST, last=LAST),
    ):
        assert (points(forecaster, changed, tmp_path) != plain).any(axis=(1, 2)).all()


def test_steps_beyond_those_of_training(forecaster, tmp_path):
    steps = 2 * HORIZON + 1
    plain = points(forecaster, table(), tmp_path, steps=steps)
    np.testing.assert_array_equal(points(forecaster, after(table(), "x", "y", "price"), tmp_path, steps=steps), plain)
    np.testing.assert_array_equal(plain[:, :HORIZON], points(forecaster, table(), tmp_path))


def test_a_window_that_is_scored(forecaster, tmp_path):
    """The windows of evaluate: those whose look-back ends at the last known step say the same."""
    found = []
    for columns in (table(), after(table(), "x", "y", "price")):
        windows = forecaster.own_data(write(tmp_path / "new.csv", columns))
        chosen = np.flatnonzero(windows.locate(np.arange(len(windows)))[1] == LAST + 1)
        assert len(chosen) == len(LENGTHS)
        said = forecaster.task.forecasts(forecaster.model, windows)[chosen]
        level = windows.arrays(chosen).level
        found.append(windows.scaling.undo(forecaster.model.head.point(said).numpy(), level))
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], points(forecaster, table(), tmp_path), rtol=1e-5)


@pytest.mark.parametrize("way", ["none", "log-return", "paths"])
def test_what_is_learnt_has_nothing_of_val(way, tmp_path):
    """Ridge, scaling and weights are those of the training rows alone."""
    weights = []
    for number, columns in enumerate((table(), after(table(), "x", "y", "price", "holiday", first=LAST))):
        write(tmp_path / "table.csv", columns)
        data = {"train": "table.csv", "targets": ["x", "y"], **DATA, **WAYS[way], "val_from": str(LAST)}
        recipe = {"task": "forecasting", "data": data, "model": SMALL | {"tokens": "patches"}, "training": QUICK}
        run = jumok.train(recipe, data=tmp_path, out=tmp_path / f"run-{number}", quiet=True)
        weights.append((run / "last/model.safetensors").read_bytes())
    assert weights[0] == weights[1]
