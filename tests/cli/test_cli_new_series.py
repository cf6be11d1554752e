"""`jumok new` for a table of dates and numbers: it is seen for what it is, and its recipe trains."""

import tomllib

import numpy as np
import pytest
from cli.conftest import Done, jumok, refusal

from jumok.runs.run import load_recipe


def write(path, head, rows):
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows), ""]), encoding="utf-8")
    return path


@pytest.fixture
def hours(tmp_path):
    dates = np.datetime64("2024-01-01T00:00:00") + np.arange(600) * np.timedelta64(3600, "s")
    return write(
        tmp_path / "hours.csv", "date,load,heat", [(date, step % 24, step % 7) for step, date in enumerate(dates)]
    )


@pytest.fixture
def shops(tmp_path):
    days = np.datetime64("2024-01-01") + np.arange(90)
    rows = [(f"shop {shop}", day, shop + step, step % 2) for step, day in enumerate(days) for shop in range(3)]
    return write(tmp_path / "shops.csv", "unique_id,ds,y,promotion", rows)


def refused(done):
    return refusal(Done(done.code, done.out, done.err.removeprefix("reading …\n")))


def new(path, *options):
    recipe = path.with_suffix(".toml")
    done = jumok("new", path, "--out", recipe, *options)
    assert done.code == 0, done.err
    return done.out, tomllib.loads(recipe.read_text(encoding="utf-8")), recipe


def test_dates_and_numbers_are_series(hours):
    told, recipe, path = new(hours)
    assert recipe["task"] == "forecasting"
    assert recipe["data"]["date"] == "date"
    assert recipe["data"]["targets"] == ["load", "heat"]
    assert recipe["data"]["horizon"] == 24
    assert recipe["data"]["look_back"] >= 96
    assert recipe["data"]["calendar"] == ["hour", "weekday"]
    assert "hours.csv: 600 steps of 1h" in told
    assert f"jumok forecast runs/hours {hours}" in told
    assert load_recipe(path).data.look_back == recipe["data"]["look_back"]


def test_a_panel_has_its_series_and_its_target_found(shops):
    told, recipe, _ = new(shops)
    data = recipe["data"]
    assert (data["date"], data["id"], data["targets"], data["past"]) == ("ds", ["unique_id"], ["y"], ["promotion"])
    assert data["horizon"] == 7
    assert "3 series of 270 steps of 1d" in told
    assert "series are told apart by 'unique_id', to forecast: 'y'" in told


def test_what_is_said_is_taken(shops):
    _, recipe, _ = new(shops, "--date", "ds", "--id", "unique_id", "--target", "promotion", "--horizon", 3)
    data = recipe["data"]
    assert (data["targets"], data["past"], data["horizon"]) == (["promotion"], ["y"], 3)


def test_what_is_constant_in_a_series_is_static(tmp_path):
    days, places = np.datetime64("2024-01-01") + np.arange(90), ("north", "south", "north")
    rows = [
        (
            f"shop {shop}",
            day,
            shop + step,
            step % 2,
            7,
            100 * shop,
            places[shop],
            f"Shop no. {shop}",
            "wet" if step % 3 else "dry",
        )
        for step, day in enumerate(days)
        for shop in range(3)
    ]
    path = write(tmp_path / "shops.csv", "unique_id,ds,y,promotion,tax,size,place,title,weather", rows)
    told, recipe, written = new(path, "--id", "unique_id", "--target", "y")
    assert recipe["data"]["past"] == ["promotion"]
    assert recipe["data"]["static"] == ["size", "place"]
    assert "known only up to the last step: 'promotion'" in told
    assert "constant in each series: 'size', 'place'" in told
    assert "left out (constant, or words or dates that change): 'tax', 'title', 'weather'" in told
    assert "# assumed: known only up to the last step; what is known ahead" in written.read_text(encoding="utf-8")
    assert jumok("check", written, "--json").code == 0


def test_a_column_that_changes_late_is_not_static(tmp_path):
    hours = np.datetime64("2024-01-01T00:00") + np.arange(3100) * np.timedelta64(1, "h")
    rows = [(name, hour, step, step > 3000) for name in "ab" for step, hour in enumerate(hours)]
    rows = [(name, hour, step, int(late and name == "b")) for name, hour, step, late in rows]
    _, recipe, _ = new(write(tmp_path / "late.csv", "id,time,y,tariff", rows))
    assert recipe["data"]["past"] == ["tariff"]
    assert "static" not in recipe["data"]


def test_beside_the_target_of_one_series_others_are_past(hours):
    _, recipe, _ = new(hours, "--target", "load")
    assert (recipe["data"]["targets"], recipe["data"]["past"]) == (["load"], ["heat"])


def test_prices_of_trading_days_are_log_returns(tmp_path):
    days = np.busday_offset("2024-01-01", np.arange(120))
    path = write(
        tmp_path / "prices.csv",
        "Symbol,Date,Close",
        [(name, day, 5 + step) for name in "AB" for step, day in enumerate(days)],
    )
    told, recipe, _ = new(path)
    assert recipe["data"]["transform"] == "log-return"
    assert recipe["data"]["targets"] == ["Close"]
    assert "1b (business days)" in told


def test_numbers_without_dates_are_series_when_it_is_said(tmp_path):
    path = write(tmp_path / "rates.csv", "0.5,1.5", [(step / 7, step) for step in range(200)])
    assert "say --task forecasting" in refused(jumok("new", path))
    _, recipe, _ = new(path, "--task", "forecasting")
    assert recipe["data"]["targets"] == [0, 1]
    assert "date" not in recipe["data"]


def test_reviews_with_dates_are_no_series(tmp_path):
    rows = [
        (f"2024-01-{1 + number % 28:02}", f"a review that says thing number {number}", number % 2)
        for number in range(60)
    ]
    path = write(tmp_path / "reviews.csv", "date,text,label", rows)
    assert new(path)[1]["task"] == "text-classification"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--date", "when"], "--date when: shops.csv has no such column"),
        (["--target", "z"], "--target z: shops.csv has no such column"),
        (["--id", "who"], "--id who: shops.csv has no such column"),
        (["--horizon", 80], "--horizon 80: series have 90 steps (the median); at most 36 can be learnt"),
        (["--date", "ds", "--task", "translation"], "can be learnt from for forecasting, not for translation"),
        (["--date", "ds", "--id", "promotion"], "twice, with different values"),
    ],
)
def test_what_does_not_fit_is_refused(shops, options, told):
    assert told in refused(jumok("new", shops, *options, "--out", shops.with_suffix(".toml")))


def test_a_panel_whose_series_have_no_name_is_asked_for(tmp_path):
    path = write(
        tmp_path / "x.csv", "date,a", [(f"2024-01-{day:02}", day + shop) for shop in (0, 9) for day in range(1, 29)]
    )
    assert "several series; name the column that tells them apart: --id COLUMN" in refused(jumok("new", path))


def test_the_recipe_passes_its_check(hours):
    _, _, path = new(hours)
    done = jumok("check", path, "--json")
    assert done.code == 0
    assert '"problems": []' in done.out


def test_waves_go_to_a_table_that_is_seen_as_series(tmp_path):
    path = tmp_path / "waves.csv"
    assert jumok("sample", "waves", path, "--number", 2).code == 0
    assert len(path.read_text().splitlines()) == 1 + 2 * 3360
    _, recipe, _ = new(path)
    assert recipe["data"]["id"] == ["series"]
    assert recipe["data"]["targets"] == ["value"]
    assert len(jumok("sample", "waves", "--split", "train").out.splitlines()) == 1 + 2688
    assert "waves has 4 series; ask for fewer" in refused(jumok("sample", "waves", "--number", 5))
