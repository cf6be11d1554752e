"""Tables of waves and of shops, and small forecasters that have learnt a little of them."""

import csv

import numpy as np
import pytest

import jumok

LOOK_BACK, HORIZON = 14, 7
SMALL = {"name": "forecaster", "layers": 1, "width": 8, "heads": 2, "feedforward": 13, "patch": 7, "stride": 7}
BRIEF = {"steps": 8, "batch_size": 16, "warmup": 2, "evaluate_every": 8, "save_every": 8, "learning_rate": 1e-2}
WIDE = {"date": "hour", "look_back": LOOK_BACK, "horizon": HORIZON}
SHOPS = {
    "date": "day", "id": ["shop"], "targets": ["sales"], "past": ["price"], "known": ["promotion"], "static": ["region"],
    "calendar": ["weekday"], "look_back": LOOK_BACK, "horizon": HORIZON,
}  # fmt: skip
LENGTHS = {"north": 90, "south": 71, "east": 120}


def wide_table(rows=160, unit=1.0, seed=0):
    """Return columns of hours: two waves with noise."""
    hours, noise = np.arange(rows), np.random.default_rng(seed).normal(0, 0.2, (2, rows))
    return {
        "hour": [str(np.datetime64("2020-03-01T00") + np.timedelta64(int(hour), "h")) for hour in hours],
        "load": unit * (5 + np.sin(hours * 2 * np.pi / 24) + noise[0]),
        "heat": unit * (9 + 2 * np.cos(hours * 2 * np.pi / 24) + noise[1]),
    }


def shop_table(lengths=LENGTHS, ahead=0, seed=0):
    """Return columns of days: shops of different lengths, with rows of the future whose promotions are known."""
    rows = []
    for number, (shop, length) in enumerate(lengths.items()):
        generator = np.random.default_rng([seed, number])
        for day in range(length + ahead):
            date = str(np.datetime64("2021-01-04") + np.timedelta64(day, "D"))
            promotion = int(generator.random() < 0.2)
            sales = 10 + 3 * promotion + 4 * (day % 7 > 4) + generator.normal(0, 0.3)
            price = 2.0 + generator.normal(0, 0.1)
            past = day < length
            rows.append([shop, date, sales if past else None, price if past else None, promotion, f"r{number % 2}"])
    columns = zip(*rows, strict=True)
    return dict(zip(("shop", "day", "sales", "price", "promotion", "region"), map(list, columns), strict=True))


def write(path, columns):
    """Write columns as a CSV."""
    with path.open("w", newline="") as file:
        rows = zip(*(["" if value is None else value for value in column] for column in columns.values()), strict=True)
        csv.writer(file).writerows([list(columns), *rows])
    return path


def trained(folder, table, data, **model):
    """Return a run that has learnt a little from a table."""
    write(folder / "table.csv", table)
    recipe = {"task": "forecasting", "data": {"train": "table.csv", **data}, "model": SMALL | model, "training": BRIEF}
    return jumok.train(recipe, data=folder, out=folder / "run", quiet=True)


@pytest.fixture(scope="session")
def wide_run(tmp_path_factory):
    """Return a run on two columns that gives numbers alone."""
    return trained(tmp_path_factory.mktemp("wide"), wide_table(), WIDE)


@pytest.fixture(scope="session")
def wide(wide_run):
    """Return the forecaster of that run."""
    return jumok.load(wide_run, jumok.SeriesForecaster)


@pytest.fixture(scope="session")
def shops_run(tmp_path_factory):
    """Return a run on a panel, with known, past-only and static columns, that gives quantiles."""
    return trained(tmp_path_factory.mktemp("shops"), shop_table(), SHOPS, head="quantiles")


@pytest.fixture(scope="session")
def shops(shops_run):
    """Return the forecaster of that run."""
    return jumok.load(shops_run, jumok.SeriesForecaster)
