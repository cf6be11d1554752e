"""Tables of ETT's length, 17,420 hours, divided as the benchmark does: its windows, and floors by their formulas."""

import numpy as np
import pytest
from tasks.test_forecast_scores import write

from jumok.config import SeriesData
from jumok.data.series.series_corpora import SeriesCorpora
from jumok.runs.job import prepare_job
from jumok.tasks import forecasting, ridge, window_chunks
from jumok.tasks.forecast_scores import score_forecasts

ROWS, MONTH = 17_420, 30 * 24
TRAIN, VAL, TEST = 12 * MONTH, 16 * MONTH, 20 * MONTH  # where each ends
LOOK_BACK, HORIZON, SEASON = 48, 96, 24


@pytest.fixture(scope="module")
def series():
    """Return two columns of hours: days, weeks, noise that lasts, and a level that drifts."""
    draw, hours = np.random.default_rng(17), np.arange(ROWS)
    noise = draw.normal(size=(ROWS, 2))
    for step in range(1, ROWS):
        noise[step] += 0.9 * noise[step - 1]
    waves = np.stack(
        [np.sin(2 * np.pi * hours / 24), np.cos(2 * np.pi * hours / 24) + np.sin(2 * np.pi * hours / 168)], 1
    )
    return 3 * waves + 0.4 * noise + 0.001 * draw.normal(size=(ROWS, 2)).cumsum(axis=0)


@pytest.fixture(scope="module")
def folder(series, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ett")
    dates = np.datetime64("2016-07-01T00") + np.arange(ROWS)
    table = {"date": [str(date).replace("T", " ") + ":00" for date in dates], "HUFL": series[:, 0], "OT": series[:, 1]}
    write(folder / "ett.csv", table)
    write(folder / "train.csv", {name: column[:TRAIN] for name, column in table.items()})
    write(folder / "val.csv", {name: column[TRAIN:VAL] for name, column in table.items()})
    return folder


BORDERS = {
    "rows": (TRAIN, VAL),
    "dates": ("2017-06-26", "2017-10-24"),  # 360 and 480 days after the first
}


@pytest.mark.parametrize(("horizon", "windows"), [(96, 2785), (192, 2689), (336, 2545), (720, 2161)])
@pytest.mark.parametrize("borders", BORDERS)
@pytest.mark.parametrize("look_back", [96, 512])
def test_val_has_the_benchmarks_windows(folder, borders, horizon, windows, look_back):
    """Whatever the look-back: no window of val is lost because its past lies in train, and none ends in test."""
    val_from, test_from = BORDERS[borders]
    given = {"train": "ett.csv", "date": "date", "val_from": val_from, "test_from": test_from}
    data = SeriesData.parse({**given, "look_back": look_back, "horizon": horizon}, "data")
    corpora = SeriesCorpora(data, [folder])
    (val,) = corpora.evaluation("val").values()
    assert len(val) == windows == VAL - TRAIN - horizon + 1
    assert len(corpora.train) == TRAIN - look_back - horizon + 1
    first, last = val.locate(np.array([0, windows - 1]))[1]
    assert (first, last + horizon) == (TRAIN, VAL)
    assert sum(map(len, val.in_order(128))) == windows, "the last, smaller batch counts too"


def opened(folder, **model):
    recipe = {
        "task": "forecasting",
        "data": {"train": "train.csv", "val": "val.csv", "date": "date", "look_back": LOOK_BACK, "horizon": HORIZON},
        "model": {"name": "forecaster", "layers": 1, "width": 8, "heads": 2, "feedforward": 13, **model},
        "training": {"steps": 1, "workers": 1},
    }
    job = prepare_job(recipe, data=folder, out=folder / "run")
    job.model.eval()
    (windows,) = job.task.open_split("val").values()
    return job.task, job.model, windows


def test_floors_and_the_untrained_model_by_formulas(folder, series, monkeypatch):
    task, model, windows = opened(folder)
    scores = score_forecasts(task, model, windows)
    z = (series - series[:TRAIN].mean(axis=0)) / series[:TRAIN].std(axis=0)
    origins = np.arange(TRAIN, VAL - HORIZON + 1)
    assert scores["windows"] == len(origins) == 2785
    assert scores["season"] == SEASON
    future = z[origins[:, None] + np.arange(HORIZON)]  # (N, H, V)
    last = z[origins - 1][:, None]
    slope = (last - z[origins - LOOK_BACK][:, None]) / (LOOK_BACK - 1)
    weight = ridge_by_hand(z[:TRAIN])
    past = z[origins[:, None] - LOOK_BACK + np.arange(LOOK_BACK)] - last  # (N, L, V)
    by_hand = {
        "repeat last": np.broadcast_to(last, future.shape),
        "seasonal naive": z[origins[:, None] - SEASON + np.arange(HORIZON) % SEASON],
        "drift": last + slope * np.arange(1, HORIZON + 1)[:, None],
        "ridge": np.einsum("hl,nlv->nhv", weight, past) + last,
    }
    for name, forecast in by_hand.items():
        found = scores["floors"][name]
        assert found["mse"] == pytest.approx(((forecast - future) ** 2).mean(), rel=1e-4), name
        assert found["mae"] == pytest.approx(np.abs(forecast - future).mean(), rel=1e-4), name
    assert scores["mse"] == pytest.approx(scores["floors"]["ridge"]["mse"], rel=1e-5), "a model begins as its ridge"
    again = task.evaluate(model)
    assert again["mse"] == pytest.approx(scores["mse"], rel=1e-5), "training's own score is that of evaluate"
    for rows in (97, 2785):  # 2,785 windows leave a smaller last batch of 97
        monkeypatch.setattr(forecasting, "ROWS", rows)
        assert task.evaluate(model) == pytest.approx(again, rel=1e-5)
    monkeypatch.setattr(window_chunks, "MOST_ROWS", 101)
    assert score_forecasts(task, model, windows)["mse"] == pytest.approx(scores["mse"], rel=1e-6)


def ridge_by_hand(z):
    """Return the weights (H, L) of all training windows of both columns, counted from their last value."""
    rows = np.arange(LOOK_BACK, len(z) - HORIZON + 1)
    past = z[rows[:, None] - LOOK_BACK + np.arange(LOOK_BACK)]  # (N, L, V)
    future = z[rows[:, None] + np.arange(HORIZON)]
    last = past[:, -1:]
    x, y = ((part - last).transpose(0, 2, 1).reshape(-1, part.shape[1]) for part in (past, future))
    return np.linalg.solve(x.T @ x + len(x) * ridge.PENALTY * np.eye(LOOK_BACK), x.T @ y).T


@pytest.mark.parametrize("tokens", ["steps", "patches", "variables"])
@pytest.mark.parametrize("head", ["point", "quantiles", "student-t"])
def test_whatever_its_tokens_and_head_a_model_begins_as_its_ridge(folder, tokens, head):
    task, model, windows = opened(folder, tokens=tokens, head=head)
    chosen = np.arange(0, len(windows), 997)
    arrays = windows.arrays(chosen)
    fitted = ridge.fit_ridge(task.corpora.train)
    batch = forecasting.batch_of(arrays)
    wanted = fitted.forecast(batch.past, batch.observed)
    found = model.head.point(model(batch)).detach()
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), atol=1e-5)
