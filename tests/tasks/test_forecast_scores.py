"""Forecasts scored beside floors: on synthetic tables, whatever the chunks, in the units that were asked for."""

import json

import numpy as np
import pytest
from torch import nn

from jumok.evaluation.forecast_report import forecast_report
from jumok.runs.job import prepare_job
from jumok.tasks import window_chunks
from jumok.tasks.forecast_scores import MODEL, score_forecasts
from jumok.tasks.path_ridge import fit_path_ridge
from jumok.tasks.window_chunks import Ground

LOOK_BACK, HORIZON, SEASON = 23, 5, 7


def opened(folder, table, *, val=0.7, train_columns=("y",), **data):
    """Return the task, the model (a ridge regression: it has learnt nothing more) and the val windows of a table."""
    write(folder / "table.csv", table)
    later = {"val_from": val}
    if isinstance(val, dict):
        write(folder / "val.csv", val)
        later = {"val": "val.csv"}
    options = {"look_back": LOOK_BACK, "horizon": HORIZON, "season": SEASON, **later, **data}
    recipe = {
        "task": "forecasting",
        "data": {"train": "table.csv", "targets": list(train_columns), **options},
        "model": {
            "name": "forecaster",
            "tokens": "patches",
            "patch": 5,
            "stride": 3,
            "width": 8,
            "heads": 2,
            "layers": 1,
        },
        "training": {"steps": 1, "workers": 1},
    }
    recipe["model"] |= data.pop("model", {})
    recipe["data"].pop("model", None)
    job = prepare_job(recipe, data=folder, out=folder / "run")
    job.model.eval()
    return job.task, job.model, next(iter(job.task.open_split("val").values()))


def write(path, table):
    rows = [",".join(table)] + [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    path.write_text("\n".join(rows))


def wave(steps=401, noise=0.05, seed=3):
    draw = np.random.default_rng(seed)
    return np.sin(2 * np.pi * np.arange(steps) / SEASON) + 0.01 * np.arange(steps) + noise * draw.normal(size=steps)


class Copying(nn.Module):
    """Repeat the last value that the model sees."""

    def __init__(self, model):
        super().__init__()
        self.head, self.device = model.head, model.device

    def forward(self, batch):
        last = batch.past[:, -1:, :1].expand(-1, HORIZON, -1)
        return last[..., None]


def test_floors_are_those_of_formulas(tmp_path):
    series = wave()
    task, model, windows = opened(tmp_path, {"y": series}, model={"window": "last"})
    scores = score_forecasts(task, model, windows)
    begin = int(0.7 * len(series))
    origins = np.arange(begin, len(series) - HORIZON + 1)
    assert scores["windows"] == len(origins)
    future = series[origins[:, None] + np.arange(HORIZON)]
    deviation = series[:begin].std()
    last = series[origins - 1][:, None]
    slope = (last - series[origins - LOOK_BACK][:, None]) / (LOOK_BACK - 1)
    expected = {
        "repeat last": last,
        "seasonal naive": series[origins[:, None] - SEASON + np.arange(HORIZON)],
        "drift": last + slope * np.arange(1, HORIZON + 1),
    }
    naive = np.abs(series[SEASON:begin] - series[: begin - SEASON]).mean()
    for name, forecast in expected.items():
        error = (forecast - future) / deviation
        found = scores["floors"][name]
        assert found["mse"] == pytest.approx((error**2).mean(), rel=1e-6)
        assert found["mae"] == pytest.approx(np.abs(error).mean(), rel=1e-6)
        assert found["mase"] == pytest.approx(np.abs(forecast - future).mean() / naive, rel=1e-6)
        assert found["by_step"]["mse"] == pytest.approx((error**2).mean(axis=0), rel=1e-6)


def test_a_model_that_has_learnt_nothing_is_its_ridge(tmp_path):
    task, model, windows = opened(tmp_path, {"y": wave()})
    scores = score_forecasts(task, model, windows)
    assert scores["mse"] == pytest.approx(scores["floors"]["ridge"]["mse"], rel=1e-5)
    (skill,) = scores["skills"]
    assert skill["floor"] in ("ridge", "seasonal naive")
    against = scores["repeat"]
    assert against["floor"] == "repeat last"
    assert against["better"]
    assert not scores["copy"]["copies"]
    assert scores["copy"]["correlation"] > 0.9
    assert scores["stretches"][0]["mse"] > 0
    assert sum(each["windows"] for each in scores["stretches"]) == scores["windows"]
    told = scores["by_origin"]
    assert sum(told[MODEL]) / sum(told["values"]) == pytest.approx(scores["mse"])
    report = forecast_report("table.csv", "val", json.loads(json.dumps(scores)))
    assert f"look-back {LOOK_BACK}, horizon {HORIZON}" in report.lines[0]
    assert [row[0] for row in report.table.rows] == [MODEL, *scores["floors"]]
    assert any("correlate by" in line for line in report.footnotes)
    assert not any("repeats yesterday" in line or "no better" in line for line in report.footnotes)


def test_a_copying_model_is_told_so(tmp_path):
    walk = np.random.default_rng(5).normal(size=601).cumsum()
    task, model, windows = opened(tmp_path, {"y": walk})
    scores = score_forecasts(task, Copying(model), windows)
    assert scores["mse"] == pytest.approx(scores["floors"]["repeat last"]["mse"], rel=1e-5)
    assert scores["copy"]["copies"]
    assert scores["copy"]["lag"] == 1
    told = "\n".join(forecast_report("walk", "val", scores).footnotes)
    assert "this model repeats yesterday" in told
    assert "no better than repeating the last value" in told
    assert "R²" not in told


@pytest.mark.parametrize("head", ["point", "quantiles", "student-t"])
def test_chunks_change_no_score(tmp_path, monkeypatch, head):
    task, model, windows = opened(tmp_path, {"y": wave(211)}, model={"head": head})
    whole = score_forecasts(task, model, windows)
    monkeypatch.setattr(window_chunks, "MOST_ROWS", 4)
    parts = score_forecasts(task, model, windows)
    for name in ("mse", "mae", "mase") if head == "point" else ("mse", "pinball", "crps"):
        assert parts[name] == pytest.approx(whole[name], rel=1e-5)
        for floor, found in whole["floors"].items():
            if name in found:
                assert parts["floors"][floor][name] == pytest.approx(found[name], rel=1e-5)


def test_spreads_have_floors_with_spreads(tmp_path):
    draw = np.random.default_rng(11)
    prices = np.exp(0.01 * draw.normal(size=601).cumsum())
    data = {"transform": "log-return", "scores": "units", "horizon": 1, "season": 1, "model": {"head": "student-t"}}
    task, model, windows = opened(tmp_path, {"y": prices}, **data)
    scores = score_forecasts(task, model, windows)
    changes = np.diff(np.log(prices))
    begin = int(0.7 * 601)
    floor = scores["floors"]["constant normal"]
    assert floor["mae"] == pytest.approx(np.abs(changes[begin - 1 :]).mean(), rel=1e-5)  # of logarithms, not scaled
    half = 1.2815515655 * np.sqrt((changes[: begin - 1] ** 2).mean())
    assert floor["coverage"]["80 %"] == pytest.approx((np.abs(changes[begin - 1 :]) <= half).mean())
    assert 0.6 < scores["floors"]["EWMA, Student-t"]["coverage"]["80 %"] < 0.85
    assert {found["score"] for found in scores["skills"]} == {"mse", "pinball"}
    report = forecast_report("prices", "val", scores)
    assert "pinball × 1,000" in report.table.headings
    assert "in the 80 % interval" in report.table.headings


def test_paths_are_scored_by_distance(tmp_path):
    draw = np.random.default_rng(2)
    train, val = ({"who": [], "frame": [], "x": [], "y": []} for _ in range(2))
    fastest = 0.0
    for who in range(40):
        rows, speed, start = train if who < 30 else val, draw.normal(0, 0.5, 2), draw.normal(0, 5, 2)
        fastest = max(fastest, np.hypot(*speed))
        for frame in range(11 + who % 3):
            for name, value in zip(rows, (who, frame, *(start + speed * frame)), strict=True):
                rows[name].append(value)
    data = {
        "date": "frame", "id": "who", "look_back": 4, "horizon": 3, "season": 1, "paths": True, "own_history": True, "transform": "difference",
        "model": {"patch": 2, "stride": 1, "head": "mixture", "ways": 3},
    }  # fmt: skip
    task, model, windows = opened(tmp_path, train, val=val, train_columns=("x", "y"), **data)
    scores = score_forecasts(task, model, windows)
    assert scores["floors"]["constant velocity"]["ade"] == pytest.approx(0, abs=1e-9)  # nobody turns
    assert scores["floors"]["mean velocity"]["fde"] == pytest.approx(0, abs=1e-9)
    assert scores["floors"]["ridge"]["ade"] < 1e-3
    assert 0 < scores["floors"]["stay"]["ade"] < 2 * fastest  # 1, 2 and 3 steps away
    assert scores["floors"]["constant velocity, turned"]["best_of"] == 3  # as many as the model has
    assert scores["best_of"] == 3
    assert "mase" not in forecast_report("paths", "val", scores).table.headings
    assert forecast_report("paths", "val", scores).table.headings[1:5] == (
        "ADE",
        "FDE",
        "ADE, best of 3",
        "FDE, best of 3",
    )


def test_series_that_end_early_and_values_that_miss(tmp_path):
    draw = np.random.default_rng(9)
    rows = {"id": [], "t": [], "y": []}
    for name, length in (("a", 90), ("b", 71), ("c", 43)):
        for step, value in enumerate(wave(length, seed=length)):
            missing = draw.random() < 0.1
            for key, cell in zip(rows, (name, step, "" if missing else value), strict=True):
                rows[key].append(cell)
    task, model, windows = opened(tmp_path, rows, val=30, date="t", id="id")
    scores = score_forecasts(task, model, windows)
    assert scores["series"] == 3
    assert scores["windows"] == sum(length - 30 - HORIZON + 1 for length in (90, 71, 43))
    assert scores["origins"] == 90 - 30 - HORIZON + 1  # series share their dates
    assert np.isfinite([scores["mse"], *(found["mse"] for found in scores["floors"].values())]).all()


def test_ground_does_not_depend_on_blocks(tmp_path, monkeypatch):
    _, _, windows = opened(tmp_path, {"y": wave(301)})
    task, _, windows = opened(tmp_path, {"y": wave(301)})
    whole = Ground.of(windows, task.corpora.train)
    monkeypatch.setattr(window_chunks, "VALUES", 29)
    parts = Ground.of(windows, task.corpora.train)
    np.testing.assert_allclose(parts.naive, whole.naive)
    np.testing.assert_allclose(parts.deviation, whole.deviation)


def test_a_season_longer_than_the_look_back_is_told(tmp_path):
    task, model, windows = opened(tmp_path, {"y": wave()}, season=29)
    scores = score_forecasts(task, model, windows)
    assert "seasonal naive" not in scores["floors"]
    assert scores["notes"] == ["a season of 29 steps is longer than the look-back: seasonal naive is left out"]


def test_the_ridge_of_paths_takes_both_axes_together():
    draw = np.random.default_rng(1)
    past = draw.normal(size=(211, 5, 2)).cumsum(axis=1)
    weight = draw.normal(size=(8, 6))
    steps = (past[:, :4] - past[:, 4:]).reshape(211, -1)
    future = (steps @ weight).reshape(211, 3, 2) + past[:, -1:]
    future[0, 1, 0] = np.nan  # not whole: not learnt from
    fitted = fit_path_ridge([(past[:100], future[:100]), (past[100:], future[100:])])
    found = fitted.forecast(past[1:])
    assert np.abs(found - future[1:]).max() < 1e-2
    standing = np.full((1, 5, 2), 3.5)
    assert fitted.forecast(standing) == pytest.approx(np.full((1, 3, 2), 3.5))
