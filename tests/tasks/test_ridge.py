"""The ridge regression: what the textbook's formula gives; of paths, x and y together."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from jumok.config import SeriesData
from jumok.data.series.series_store import SeriesStore
from jumok.data.series.windows import Windows
from jumok.tasks import ridge as home
from jumok.tasks.ridge import fit_ridge

LOOK_BACK, HORIZON = 7, 3


def windows_of(values, **options) -> Windows:
    """Return all windows of one series (N, V)."""
    values = np.asarray(values, dtype=np.float64)
    count = values.shape[1]
    data = SeriesData(
        train="x.csv",
        targets=list(range(count)),
        look_back=LOOK_BACK,
        horizon=HORIZON,
        mean=[0.0] * count,
        deviation=[1.0] * count,
        **options,
    )
    names = [f"column {number}" for number in range(count)]
    offsets = np.array([0, len(values)])
    store = SeriesStore(values, np.arange(len(values)), offsets, np.zeros((1, 0)), [""], names, "row", [])
    return Windows(store, data, np.array([0]), offsets[1:])


@pytest.fixture
def series():
    generator = np.random.default_rng(1)
    steps = np.arange(300)[:, None]
    return np.sin(steps / np.array([3.0, 5.0])) + 0.3 * generator.standard_normal((300, 2))


def examples(series):
    """Return inputs and outputs of all windows and variables, from the last value on."""
    x, y = [], []
    for first in range(LOOK_BACK, len(series) - HORIZON + 1):
        for variable in range(series.shape[1]):
            past, future = series[first - LOOK_BACK : first, variable], series[first : first + HORIZON, variable]
            x.append(past - past[-1])
            y.append(future - past[-1])
    return np.array(x), np.array(y)


@pytest.mark.parametrize("penalty", [0.0, 0.001, 2.0])
def test_it_is_the_textbooks(series, penalty):
    """The penalty is that of an example; 0 is the usual one."""
    found = fit_ridge(windows_of(series), penalty)
    x, y = examples(series.astype(np.float32).astype(np.float64))
    weight = np.linalg.solve(x.T @ x + len(x) * (penalty or home.PENALTY) * np.eye(LOOK_BACK), x.T @ y).T
    assert_close(found.weight, torch.from_numpy(weight).float(), rtol=1e-3, atol=1e-4)


def test_a_straight_line_is_foretold_and_what_stands_still_stays():
    line = np.arange(80.0)[:, None] * np.array([0.1, -0.3])
    windows = windows_of(line)
    found = fit_ridge(windows, 1e-9)
    arrays = windows.arrays(np.arange(len(windows)))
    forecast = found.forecast(torch.from_numpy(arrays.past), torch.from_numpy(arrays.observed))
    assert_close(forecast, torch.from_numpy(arrays.future), rtol=1e-3, atol=1e-3)
    still = torch.full((1, LOOK_BACK, 2), 3.5)
    assert_close(found.forecast(still, still > 0), torch.full((1, HORIZON, 2), 3.5))


def test_chunks_do_not_matter(series, monkeypatch):
    whole = fit_ridge(windows_of(series), 3.0)
    monkeypatch.setattr(home, "CHUNK", 17)
    assert_close(fit_ridge(windows_of(series), 3.0).weight, whole.weight, rtol=1e-4, atol=1e-5)


def test_missing_targets_are_left_out(series):
    holes = series.copy()
    holes[40:45, 0] = np.nan
    found = fit_ridge(windows_of(holes), 3.0)
    assert found.weight.isfinite().all()
    assert_close(found.weight, fit_ridge(windows_of(series), 3.0).weight, rtol=0.3, atol=0.05)


def test_relative_targets_are_counted_from_nothing(series):
    """Steps are read as they are, and their sum is foretold."""
    windows = windows_of(series, transform="difference")
    found = fit_ridge(windows, 1e-3)
    arrays = windows.arrays(np.arange(5))
    past, observed = torch.from_numpy(arrays.past), torch.from_numpy(arrays.observed)
    assert_close(found.forecast(past, observed), torch.einsum("hl,blv->bhv", found.weight, past))


def test_paths_take_both_axes_together():
    """Whoever goes round and round is foretold, which neither x nor y alone allows as well."""
    draw, place, heading = np.random.default_rng(1), np.zeros((400, 2)), 0.0
    for step in range(1, 400):
        heading += 0.2
        place[step] = place[step - 1] + np.array([np.cos(heading), np.sin(heading)]) + 0.2 * draw.standard_normal(2)
    errors = {}
    for joint in (True, False):
        windows = windows_of(place, transform="difference", paths=joint)
        found = fit_ridge(windows, 1e-4)
        arrays = windows.arrays(np.arange(len(windows)))
        forecast = found.forecast(torch.from_numpy(arrays.past), torch.from_numpy(arrays.observed))
        errors[joint] = float((forecast - torch.from_numpy(arrays.future)).square().mean())
        assert found.weight.shape == ((2 * HORIZON, 2 * LOOK_BACK) if joint else (HORIZON, LOOK_BACK))
    assert errors[True] < 0.9 * errors[False]
