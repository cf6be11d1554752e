"""Forecasters side by side: the same windows, scores of evaluate, and tests against the first."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import jumok
from jumok.cli.main import app
from jumok.errors import ConfigError, DataError

RECIPE = """
task = "forecasting"
[data]
train = "table.csv"
val = "val.csv"
look_back = 23
horizon = 5
season = 7
[model]
name = "forecaster"
tokens = "patches"
patch = 5
stride = 3
width = 8
heads = 2
layers = 1
[training]
steps = 2
workers = 1
batch_size = 13
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs of one table: a ridge regression to begin with, one without it, and two that cannot be compared."""
    folder = tmp_path_factory.mktemp("series")
    steps = np.arange(401)
    noise = np.random.default_rng(1).normal(size=(401, 2))
    values = np.stack([np.sin(2 * np.pi * steps / 7), steps / 100], axis=1) + 0.1 * noise
    for name, rows in (("table.csv", values[:300]), ("val.csv", values[300:])):
        (folder / name).write_text("a,b\n" + "\n".join(f"{a},{b}" for a, b in rows))
    (folder / "recipe.toml").write_text(RECIPE)
    changed = {
        "first": [],
        "plain": ["model.linear=false", "data.look_back=31"],
        "longer": ["data.horizon=6"],
        "other": ['data.targets=["b"]'],
        "quantiles": ["model.head=quantiles"],
    }
    return {
        name: jumok.train(folder / "recipe.toml", out=folder / name, overrides=overrides)
        for name, overrides in changed.items()
    }


def test_scores_are_those_of_evaluate(runs):
    told = []
    (compared,) = jumok.compare([runs["first"], runs["plain"]], progress=lambda *facts: told.append(facts)).values()
    assert sum(done for name, done, total in told if name == "plain") == 97
    for run in compared.runs:
        (scores,) = jumok.evaluate(runs[run.name]).values()
        assert run.scores["mse"] == pytest.approx(scores["mse"])
        assert run.look_back == scores["look_back"]
    first, plain = compared.runs
    assert first.tests == {}
    assert plain.tests["mse"]["p"] < 0.05  # a model that has learnt nothing is far from a ridge regression
    assert plain.tests["mse"]["skill"] == pytest.approx(1 - plain.scores["mse"] / first.scores["mse"])
    assert compared.floor in ("ridge", "seasonal naive")
    json.dumps(compared.to_dict())


def test_quantiles_beside_points(runs):
    (compared,) = jumok.compare([runs["quantiles"], runs["first"]]).values()
    assert "pinball" in compared.runs[0].scores
    assert set(compared.runs[1].tests) == {"mse", "mae"}


@pytest.mark.parametrize(
    ("other", "why"),
    [("longer", "its horizon is 6 steps instead of 5"), ("other", "it forecasts b instead of a, b")],
)
def test_runs_of_something_else_are_refused(runs, other, why):
    with pytest.raises(DataError, match=why):
        jumok.compare([runs["first"], runs[other]])


def test_options_of_others_are_refused(runs):
    with pytest.raises(ConfigError, match="--to de is for translation"):
        jumok.compare([runs["first"], runs["plain"]], to="de")
    with pytest.raises(ConfigError, match="--beam 3 is for runs that write"):
        jumok.compare([runs["first"], runs["plain"]], beam=3)


def test_the_table_and_the_figure(runs, tmp_path):
    png = tmp_path / "steps.png"
    done = CliRunner().invoke(app, ["compare", str(runs["first"]), str(runs["plain"]), "--png", str(png)])
    assert done.exit_code == 0, done.output
    assert "97 windows" in done.output
    assert "MSE" in done.output
    assert "Diebold-Mariano test against first" in done.output
    assert png.stat().st_size > 1000
    markdown = CliRunner().invoke(app, ["compare", str(runs["quantiles"]), str(runs["first"]), "--markdown"])
    assert "| pinball | p |" in markdown.output


def test_evaluate_prints_floors_beside_the_model(runs):
    done = CliRunner().invoke(app, ["evaluate", str(runs["quantiles"])])
    assert done.exit_code == 0, done.output
    for text in (
        "repeat last",
        "seasonal naive",
        "drift",
        "ridge",
        "EWMA, Student-t",
        "skill by MSE",
        "in the 80 % interval",
    ):
        assert text in done.output
    found = json.loads(CliRunner().invoke(app, ["evaluate", str(runs["first"]), "--json"]).output)
    (scores,) = found.values()
    assert len(scores["by_step"]["mse"]) == 5
    assert len(scores["by_origin"]["origin"]) == 97
