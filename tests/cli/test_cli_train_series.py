"""Every option of a forecaster and of its data trains and forecasts."""

import csv
import tomllib

import numpy as np
import pytest
from cli.conftest import jumok
from predictors.series_runs import HORIZON, LOOK_BACK, shop_table, write

from jumok.workflows.schema import recipe_schema

RECIPE = f"""
task = "forecasting"
[data]
train = "shops.csv"
date = "day"
id = "shop"
targets = "sales"
look_back = {LOOK_BACK}
horizon = {HORIZON}
[model]
name = "forecaster"
layers = 1
width = 8
heads = 2
feedforward = 13
patch = 5
stride = 3
[training]
steps = 2
warmup = 1
workers = 1
batch_size = 16
evaluate_every = 2
save_every = 2
"""
OPTIONS = {
    "steps": ["model.tokens=steps", "model.feedback=true", "model.window=last", "model.norm_position=post", "model.heads=4", "model.width=12"],
    "patches": [
        "model.tokens=patches", "model.patch=4", "model.stride=2", "model.linear=false", "model.loss=huber", "model.units=window",
        "model.activation=relu", "model.head_dropout=0.1", "model.dropout=0.3", "model.layers=2", "model.feedforward=0",
    ],
    "variables": ["model.tokens=variables", "model.window=none", "model.head=student-t", "model.ridge=0.5"],
    "quantiles": ["model.head=quantiles", "model.quantiles=[0.2, 0.5, 0.7]", "model.window=ewma", "data.transform=log"],
    "preset": ["model.preset=small", "model.name=forecaster"],
    "data": [
        "data.date=day", "data.id=['shop']", "data.targets=['sales']", "data.past=['price']", "data.known=['promotion']", "data.static=['region']",
        "data.calendar=['weekday', 'month']", "data.look_back=9", "data.horizon=3", "data.scale=none", "data.season=7", "data.scores=units",
        "data.own_history=true",
    ],
    "paths": [
        "data.paths=true", "data.targets=['sales', 'price']", "data.rotate=0.5", "data.transform=difference", "model.head=mixture", "model.ways=3",
        "model.tokens=steps",
    ],
    "set": ["data.set=waves"],
}  # fmt: skip
ELSEWHERE = {
    "folder",
    "train",
    "val",
    "test",
    "val_from",
    "test_from",
    "interval",
    "gaps",
    "missing",
}  # tests/data/series
FILLED_IN = {"mean", "deviation", "static_mean", "static_deviation", "categories"}
FROM_DATA = {"look_back", "horizon", "targets", "past", "known", "static", "relative", "joint"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shops")
    write(folder / "shops.csv", shop_table())
    write(folder / "new.csv", shop_table(ahead=HORIZON))
    (folder / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    own = RECIPE.replace('train = "shops.csv"\ndate = "day"\nid = "shop"\ntargets = "sales"', "")
    (folder / "waves.toml").write_text(own, encoding="utf-8")
    assert jumok("sample", "waves", folder / "waves.csv", "--split", "train").code == 0
    return folder


@pytest.mark.parametrize("group", OPTIONS)
def test_every_option_trains_and_forecasts(folder, tmp_path, group):
    run, built_in = tmp_path / "run", group == "set"
    given = [part for override in OPTIONS[group] for part in ("--set", override)]
    done = jumok("train", folder / ("waves.toml" if built_in else "recipe.toml"), "--out", run, *given)
    assert done.code == 0, done.err
    assert done.out == f"Use it:    jumok forecast {run} table.csv\nScore it:  jumok evaluate {run}\n"
    saved = tomllib.loads((run / "recipe.toml").read_text(encoding="utf-8"))
    for override in OPTIONS[group]:
        key, _, text = override.partition("=")
        section, name = key.split(".")
        try:
            wanted = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            wanted = text
        assert saved[section][name] == wanted, override
    given = [folder / "waves.csv", "--at", "2024-02-01"] if built_in else [folder / "new.csv"]
    done = jumok("forecast", run, *given)
    assert done.code == 0, done.err
    rows = list(csv.DictReader(done.out.splitlines()))
    points = np.array([float(row["point"]) for row in rows])
    assert len(points) >= 3
    assert np.isfinite(points).all()


def test_the_groups_leave_no_option_out():
    reached = {override.partition("=")[0] for overrides in OPTIONS.values() for override in overrides}
    definitions = recipe_schema()["$defs"]
    for section, name, others in (
        ("model", "ForecasterConfig", FROM_DATA),
        ("data", "SeriesData", ELSEWHERE | FILLED_IN),
    ):
        known = {f"{section}.{key}" for key in set(definitions[name]["properties"]) - others}
        assert known - reached == set()
