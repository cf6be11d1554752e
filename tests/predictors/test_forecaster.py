"""A trained forecaster in use: the same forecast however a table comes, in its own units, from nothing but the past."""

import csv
import json
import shutil
import tomllib

import numpy as np
import pytest
import torch
from predictors.series_runs import (  # noqa: F401 - fixtures
    HORIZON,
    LENGTHS,
    LOOK_BACK,
    WIDE,
    shop_table,
    shops,
    shops_run,
    trained,
    wide,
    wide_run,
    wide_table,
    write,
)

import jumok
from jumok.data.series.windows import Windows
from jumok.errors import ConfigError, DataError, RunError
from jumok.nn.batch import SeriesBatch
from jumok.predictors.base import Notice
from jumok.tasks.window_batches import batch_of


def same(one, other, **settings):
    """Check that two lists of forecasts are the same."""
    assert len(one) == len(other) > 0
    for first, second in zip(one, other, strict=True):
        assert first.series == second.series
        assert first.labels == second.labels
        np.testing.assert_allclose(first.point, second.point, **{"rtol": 1e-5, "atol": 1e-6} | settings)
        assert list(first.quantiles) == list(second.quantiles)
        for level, values in first.quantiles.items():
            np.testing.assert_allclose(values, second.quantiles[level], **{"rtol": 1e-5, "atol": 1e-6} | settings)


def test_a_forecast_is_what_the_model_says_of_the_last_window(wide, tmp_path):  # noqa: F811
    (found,) = wide.forecast(write(tmp_path / "new.csv", wide_table(100, seed=1)))
    values = np.stack([wide_table(100, seed=1)[name] for name in ("load", "heat")], axis=1)
    z = (values[-LOOK_BACK:] - wide.data.mean) / wide.data.deviation
    future = torch.zeros(1, HORIZON, 2)
    past = torch.tensor(z[None], dtype=torch.float32)
    batch = SeriesBatch(
        past, torch.ones_like(past, dtype=torch.bool), future[..., :0], torch.zeros(1, 0), future, future > 0
    )
    with torch.inference_mode():
        point = wide.model.head.point(wide.model(batch))[0].double().numpy()
    np.testing.assert_allclose(found.point, point * wide.data.deviation + wide.data.mean, rtol=1e-5)
    assert (found.labels[0], found.labels[-1]) == ("2020-03-05 04:00", "2020-03-05 10:00")
    np.testing.assert_array_equal(found.history, values[-LOOK_BACK:])


def test_it_is_the_forecast_that_evaluate_scores(shops):  # noqa: F811
    """A window of the data and the same origin of a table have the same forecast, known and static columns included."""
    windows = shops.task.corpora.train
    assert isinstance(windows, Windows)
    number = np.array([len(windows) - 1])  # of the last series
    with torch.inference_mode():
        parameters = shops.model(batch_of(windows.arrays(number)))
    wanted = windows.scaling.undo(shops.model.head.point(parameters).numpy(), windows.arrays(number).level)[0]
    origin = windows.dates(number)[0, LOOK_BACK - 1]
    day = str(np.datetime64(int(origin), "us").astype("M8[D]"))
    (found,) = shops.forecast(shop_table(), series="east", at=day)
    np.testing.assert_allclose(found.point, wanted, rtol=1e-5)
    np.testing.assert_allclose(found.truth, windows.values(number)[0, LOOK_BACK:, :1])


def test_a_table_is_a_file_columns_an_array_or_bytes(wide, tmp_path):  # noqa: F811
    columns = wide_table(60, seed=2)
    path = write(tmp_path / "new.csv", columns)
    wanted = wide.forecast(path)
    same(wide.forecast(str(path)), wanted)
    same(wide.forecast(columns), wanted)
    same(wide.forecast(path.read_bytes()), wanted)
    (tmp_path / "new.jsonl").write_text(
        "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in zip(*columns.values(), strict=True))
    )
    same(wide.forecast(tmp_path / "new.jsonl"), wanted)
    (found,) = wide.forecast(np.stack([columns["load"], columns["heat"]], axis=1))
    np.testing.assert_allclose(found.point, wanted[0].point, rtol=1e-6)
    assert found.labels[0] == "60"


def test_columns_may_come_in_any_order(shops):  # noqa: F811
    table = shop_table(ahead=HORIZON)
    same(shops.forecast(dict(reversed(table.items()))), shops.forecast(table))


def test_company_changes_no_forecast(shops):  # noqa: F811
    table = shop_table(ahead=2 * HORIZON)
    together = shops.forecast(table, steps=2 * HORIZON)
    assert [one.series for one in together] == list(LENGTHS)
    for number, name in enumerate(LENGTHS):
        same(shops.forecast(table, steps=2 * HORIZON, series=name), together[number : number + 1])
    picked = shops.forecast(table, steps=2 * HORIZON, series=["east", "north"])
    same(picked, [together[2], together[0]])


def test_what_comes_later_never_changes_a_forecast(shops):  # noqa: F811
    table, at = shop_table(), "2021-02-15"
    wanted = shops.forecast(table, at=at, steps=HORIZON)
    later = np.array(table["day"]) > at
    for name in ("sales", "price"):
        table[name] = np.where(later, 1e3, np.array(table[name], dtype=float))
    found = shops.forecast(table, at=at, steps=HORIZON)
    same(found, wanted)
    assert found[0].truth.min() == 1e3
    table["sales"] = np.where(later, np.nan, table["sales"])  # rows of the future: only what is known of them is used
    same(shops.forecast(table, steps=HORIZON), wanted)
    table["promotion"] = np.where(later, 1 - np.array(table["promotion"]), table["promotion"])
    with pytest.raises(AssertionError):
        same(shops.forecast(table, steps=HORIZON), wanted)


def test_units_are_undone(wide, tmp_path):  # noqa: F811
    """By a power of two, whose products are exact: the model sees the very same numbers."""
    unit = 1024.0
    run = trained(tmp_path, wide_table(unit=unit), WIDE)
    (one,), (other,) = wide.forecast(wide_table(80, seed=3)), jumok.load(run).forecast(wide_table(80, unit, seed=3))
    np.testing.assert_allclose(other.point, one.point * unit, rtol=1e-6)


@pytest.mark.parametrize("transform", ["log", "difference", "log-return"])
def test_transforms_are_undone(transform, tmp_path):
    """Twice the price is twice the forecast where logarithms are seen; so much more is so much more of differences."""
    forecaster = jumok.load(trained(tmp_path, wide_table(), WIDE | {"transform": transform}, head="student-t"))
    table = wide_table(80, seed=4)
    (one,) = forecaster.forecast(table, steps=2 * HORIZON)
    assert np.abs(one.point - one.history.mean(axis=0)).max() < 5
    assert (one.quantiles[0.1] < one.quantiles[0.9]).all()
    if transform == "log":
        return
    add = transform == "difference"
    moved = {name: column + 7 if add else column * 2 for name, column in table.items() if name != "hour"}
    (other,) = forecaster.forecast({"hour": table["hour"], **moved}, steps=2 * HORIZON)
    np.testing.assert_allclose(other.point, one.point + 7 if add else one.point * 2, rtol=1e-4)


def test_more_steps_are_rolled_on_and_told(wide):  # noqa: F811
    said = []
    table = wide_table(90, seed=5)
    (long,) = wide.forecast(table, steps=3 * HORIZON - 2, warn=said.append)
    (short,) = wide.forecast(table)
    assert len(long) == 3 * HORIZON - 2
    np.testing.assert_allclose(long.point[:HORIZON], short.point, rtol=1e-6)
    assert long.labels[-1] == "2020-03-05 12:00"
    assert [str(notice) for notice in said] == [
        "the model was trained for 7 steps; those beyond are made of its own forecasts, step by step less sure"
    ]
    grown = {
        name: list(table[name]) + list(values) for name, values in zip(("load", "heat"), short.point.T, strict=True)
    }
    grown["hour"] = [*table["hour"], *short.labels]
    np.testing.assert_allclose(wide.forecast(grown)[0].point, long.point[HORIZON : 2 * HORIZON], rtol=1e-4)
    (cut,) = wide.forecast(table, steps=2)
    np.testing.assert_allclose(cut.point, short.point[:2], rtol=1e-6)


def test_a_short_history_is_told_and_none_refused(wide):  # noqa: F811
    said = []
    short = wide_table(5)
    (found,) = wide.forecast(short, warn=said.append)
    assert np.isfinite(found.point).all()
    assert len(found.history) == 5
    assert said == [
        Notice(None, "the table has 5 of the 14 steps that the model looks back; those before count as missing")
    ]
    padded = wide_table(LOOK_BACK)
    padded = {name: np.append(np.full(9, np.nan), short[name]) for name in ("load", "heat")} | {"hour": padded["hour"]}
    np.testing.assert_allclose(wide.forecast(padded)[0].point, found.point, rtol=1e-6)
    with pytest.raises(DataError, match="no value among its last 14 steps"):
        wide.forecast({"hour": short["hour"], "load": [None] * 5, "heat": [None] * 5})


def test_a_column_without_values_is_told(wide):  # noqa: F811
    table, said = wide_table(30), []
    (found,) = wide.forecast(table | {"heat": [None] * 30}, warn=said.append)
    assert np.isfinite(found.point).all()
    np.testing.assert_allclose(found.point[:, 0], wide.forecast(table)[0].point[:, 0], rtol=1e-5)  # read by itself
    assert [notice.text for notice in said] == [
        "there is no value of heat among the last 14 steps; its forecast is a guess, or left empty"
    ]


def test_one_empty_series_of_several_is_left_out_and_told(shops):  # noqa: F811
    table = shop_table(ahead=HORIZON)
    table["sales"] = [
        None if shop == "south" else value for shop, value in zip(table["shop"], table["sales"], strict=True)
    ]
    said = []
    found = shops.forecast(table, warn=said.append)
    assert [one.series for one in found] == ["north", "east"]
    assert said[-1].text.startswith("1 series of 3 left out: no value among the last 14 steps, for example of south")


def test_what_must_be_known_ahead_is_asked_for(shops):  # noqa: F811
    message = "promotion must be known for each of the 7 steps ahead of north, and step 1 has no value; add rows"
    with pytest.raises(DataError, match=message):
        shops.forecast(shop_table())
    with pytest.raises(DataError, match="step 4 has no value"):
        shops.forecast(shop_table(ahead=3))
    said = []
    found = shops.forecast(shop_table(ahead=3), steps=3, warn=said.append)
    assert [len(one) for one in found] == [3, 3, 3]
    assert any("count as average" in notice.text for notice in said)


def test_what_is_constant_in_a_series_is_its_own(shops):  # noqa: F811
    """Another region of one series changes its forecast, and that of no other."""
    table = shop_table(ahead=HORIZON)
    plain = shops.forecast(table)
    for number, name in enumerate(LENGTHS):
        other = {"r0": "r1", "r1": "r0"}
        regions = [
            other[one] if shop == name else one for shop, one in zip(table["shop"], table["region"], strict=True)
        ]
        found = shops.forecast(table | {"region": regions})
        changed = [not np.allclose(one.point, two.point, rtol=1e-6) for one, two in zip(plain, found, strict=True)]
        assert changed == [place == number for place in range(3)]


def test_a_name_that_is_not_known(shops):  # noqa: F811
    with pytest.raises(DataError, match="the table has no series 'nort'; did you mean 'north'"):
        shops.forecast(shop_table(ahead=7), series="nort")
    table, said = shop_table(ahead=7), []
    table["region"] = ["r9"] * len(table["region"])
    assert len(shops.forecast(table, warn=said.append)) == 3
    assert any("r9" in notice.text for notice in said)


def test_quantiles_are_those_of_the_head(shops, wide):  # noqa: F811
    table = shop_table(ahead=7)
    found = shops.forecast(table)[0]
    assert list(found.quantiles) == [0.1, 0.25, 0.5, 0.75, 0.9]
    assert (np.diff(np.stack(list(found.quantiles.values())), axis=0) > 0).all()
    np.testing.assert_array_equal(found.quantiles[0.5], found.point)
    assert list(shops.forecast(table, quantiles=[0.8, 0.2])[0].quantiles) == [0.2, 0.8]
    assert shops.forecast(table, quantiles=[])[0].quantiles == {}
    with pytest.raises(ConfigError, match=r"has learnt quantiles from 0.1 to 0.9, and 0.95 lies outside"):
        shops.forecast(table, quantiles=[0.5, 0.95])
    with pytest.raises(ConfigError, match="must lie between 0 and 1"):
        shops.forecast(table, quantiles=[10, 90])
    with pytest.raises(ConfigError, match=r'model.head = "quantiles" or "student-t"'):
        wide.forecast(wide_table(40), quantiles=[0.1])


def test_dates_go_on_as_they_did(wide):  # noqa: F811
    values = {"load": np.arange(20.0), "heat": np.arange(20.0)}
    for first, step, wanted in [
        ("2020-01-01", "D", ["2020-01-21", "2020-01-22"]),
        ("2020-01", "M", ["2021-09-01", "2021-10-01"]),
    ]:
        times = np.datetime64(first, step) + np.arange(20)
        (found,) = wide.forecast({"hour": times.astype("M8[D]"), **values}, steps=2)
        assert found.labels == wanted
    weekdays = np.busday_offset("2020-01-01", np.arange(20))
    assert wide.forecast({"hour": weekdays, **values}, steps=4)[0].labels == [
        "2020-01-29", "2020-01-30", "2020-01-31", "2020-02-03",
    ]  # fmt: skip


def test_an_answer_as_json_rows_and_chart(shops):  # noqa: F811
    found = shops.forecast(shop_table(ahead=7), quantiles=[0.1, 0.9])
    told = json.loads(json.dumps(found[1].to_dict()))
    assert list(told) == ["series", "origin", "dates", "point", "quantiles"]
    assert told["point"]["sales"] == pytest.approx(found[1].point[:, 0], rel=1e-6)
    rows = list(csv.DictReader("".join(found.csv_parts()).splitlines()))
    assert len(rows) == 3 * HORIZON
    assert list(rows[0]) == ["series", "date", "target", "point", "0.1", "0.9"]
    assert [float(row["point"]) for row in rows if row["series"] == "east"] == pytest.approx(
        found[2].point[:, 0], rel=1e-6
    )
    assert found._repr_html_().count("<svg") == 3
    assert repr(found[0]) == "Forecast('north', 7 steps of sales from 2021-04-04 on)"


def test_a_table_of_ones_own_is_scored(wide, tmp_path):  # noqa: F811
    path = write(tmp_path / "own.csv", wide_table(60, seed=6))
    windows = wide.own_data(path)
    assert len(windows) == 60 - LOOK_BACK - HORIZON + 1
    scores = jumok.evaluate(wide, source=path)["own.csv"]
    assert scores["mse"] > 0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((30, 3)), r"the array has the shape \(30, 3\); the model needs \(steps, 2\)"),
        (np.full((30, 2), np.inf), "infinite"),
        (np.array([["a", "b"]] * 30), "numbers are needed"),
        ({"hour": ["2020-01-01"], "load": [1.0]}, "the table has no column 'heat'"),
        ({"hour": ["2020-01-01"], "load": [1.0, 2.0], "heat": [1.0]}, "different lengths"),
        ({"hour": ["2020-01-01", "x"], "load": [1.0, 2.0], "heat": [1.0, 2.0]}, "is no date"),
        ({"hour": ["2020-01-01", "2020-01-02"], "load": [1.0, "much"], "heat": [1.0, 2.0]}, "'much' in column 'load'"),
        (b"", "standard input is empty"),
        (3, "a table is a file, columns by name or an array"),
    ],
)  # fmt: skip
def test_what_cannot_be_forecast_is_refused_in_a_sentence(wide, table, message):  # noqa: F811
    with pytest.raises(DataError, match=message):
        wide.forecast(table)


def test_an_array_needs_a_model_without_other_columns(shops):  # noqa: F811
    with pytest.raises(
        DataError, match=r"the model also reads data.past and data.known and data.static and data.calendar"
    ):
        shops.forecast(np.zeros((30, 1)))


def test_other_commands_name_the_right_one(wide_run):  # noqa: F811
    with pytest.raises(ConfigError, match="is a run of forecasting"):
        jumok.load(wide_run, jumok.Translator)


@pytest.mark.parametrize(("key", "other"), [("look_back", 48), ("targets", 0)])
def test_a_recipe_whose_sizes_do_not_agree_is_refused(wide_run, tmp_path, key, other):  # noqa: F811
    copy = shutil.copytree(wide_run, tmp_path / "run")
    recipe = tomllib.loads((copy / "recipe.toml").read_text())
    size = recipe["model"][key]
    section = "data" if key in recipe["data"] and not isinstance(recipe["data"][key], list) else "model"
    before, after = (copy / "recipe.toml").read_text().split(f"[{section}]")
    changed = after.replace(f"{key} = {size}", f"{key} = {other}", 1)
    assert changed != after
    (copy / "recipe.toml").write_text(f"{before}[{section}]{changed}")
    with pytest.raises(
        RunError, match=rf"recipe\.toml is damaged: model\.{key} is \d+, but by its \[data\] it would be \d+"
    ):
        jumok.load(copy)
