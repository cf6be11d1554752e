"""Scores of forecasts: against definitions written out, whatever the chunks, and nowhere what is missing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.evaluation.forecasts import Said, Tally, central_intervals, crps, pinball

WINDOWS, HORIZON, TARGETS = 13, 5, 2
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)


@pytest.fixture
def drawn():
    """Windows of three series, some values missing, and what is said of them."""
    draw = np.random.default_rng(7)
    future = draw.normal(size=(WINDOWS, HORIZON, TARGETS))
    observed = draw.random(future.shape) > 0.2
    point = draw.normal(size=future.shape)
    quantiles = np.sort(draw.normal(size=(*future.shape, len(LEVELS))), axis=-1)
    ways = draw.normal(size=(WINDOWS, 3, HORIZON, TARGETS))
    return np.where(observed, future, np.nan), observed, Said(point, quantiles, ways)


def tallied(drawn, *, chunk=WINDOWS, paths=True, unit=(2.0, 0.5)):
    future, observed, said = drawn
    scale = np.array([[1.0, 2.0], [0.5, 4.0], [0.0, 3.0]])  # the first target of the last series is not known
    found = Tally(WINDOWS, unit=np.array(unit), scale=scale, horizon=HORIZON, levels=LEVELS, paths=paths)
    for first in range(0, WINDOWS, chunk):
        some = np.arange(first, min(first + chunk, WINDOWS))
        part = Said(said.point[some], said.quantiles[some], said.ways[some])
        found.add(some, some % 3, future[some], observed[some], part)
    return found


def flat(found):
    """Return all numbers of scores."""
    if isinstance(found, dict):
        return [each for value in found.values() for each in flat(value)]
    return [each for value in found for each in flat(value)] if isinstance(found, list) else [found]


@pytest.mark.parametrize("chunk", [1, 3, 7])
def test_chunks_change_nothing(drawn, chunk):
    np.testing.assert_allclose(flat(tallied(drawn, chunk=chunk).scores()), flat(tallied(drawn).scores()), rtol=1e-12)


def test_errors_count_where_values_are_observed(drawn):
    future, observed, said = drawn
    scores = tallied(drawn).scores()
    error = ((said.point - future) / [2.0, 0.5])[observed]
    assert scores["mse"] == pytest.approx((error**2).mean())
    assert scores["mae"] == pytest.approx(np.abs(error).mean())
    third = ((said.point - future)[:, 2] / [2.0, 0.5])[observed[:, 2]]
    assert scores["by_step"]["mse"][2] == pytest.approx((third**2).mean())
    second = ((said.point - future)[..., 1] / 0.5)[observed[..., 1]]
    assert scores["by_target"]["mae"][1] == pytest.approx(np.abs(second).mean())


def test_mase_is_the_mean_over_series_that_can_be_measured(drawn):
    future, observed, said = drawn
    scale = {(0, 0): 1.0, (0, 1): 2.0, (1, 0): 0.5, (1, 1): 4.0, (2, 1): 3.0}
    each = []
    for (series, target), naive in scale.items():
        error = np.abs(said.point - future)[series::3, :, target][observed[series::3, :, target]]
        each.append(error.mean() / naive)
    assert tallied(drawn).scores()["mase"] == pytest.approx(np.mean(each))


def test_pinball_and_coverage_by_their_definitions(drawn):
    future, observed, said = drawn
    scores = tallied(drawn, unit=(1.0, 1.0)).scores()
    losses, inside = [], []
    for place in np.argwhere(observed):
        value, quantiles = future[tuple(place)], said.quantiles[tuple(place)]
        losses.append(
            [
                (value - q) * level if value > q else (q - value) * (1 - level)
                for q, level in zip(quantiles, LEVELS, strict=True)
            ]
        )
        inside.append(quantiles[0] <= value <= quantiles[-1])
    np.testing.assert_allclose(scores["pinball_by_level"], np.mean(losses, axis=0))
    assert scores["pinball"] == pytest.approx(np.mean(losses))
    assert list(scores["coverage"]) == ["80 %", "50 %"]
    assert scores["coverage"]["80 %"] == pytest.approx(np.mean(inside))


def test_paths_by_their_definitions(drawn):
    future, observed, said = drawn
    there = observed.all(axis=-1)
    distance = np.linalg.norm(said.point - future, axis=-1)
    scores = tallied(drawn).scores()
    assert scores["ade"] == pytest.approx(distance[there].mean())  # in the data's units, whatever those of other scores
    assert scores["fde"] == pytest.approx(distance[:, -1][there[:, -1]].mean())
    of_ways = np.linalg.norm(said.ways - future[:, None], axis=-1)
    best = [min(way[seen].sum() for way in of_window) for of_window, seen in zip(of_ways, there, strict=True)]
    assert scores["best_ade"] == pytest.approx(sum(best) / there.sum())
    last = [of_window[:, -1].min() for of_window, seen in zip(of_ways, there, strict=True) if seen[-1]]
    assert scores["best_fde"] == pytest.approx(np.mean(last))
    assert scores["best_of"] == 3


def test_nothing_observed_is_no_score():
    found = Tally(1, unit=np.ones(1), scale=np.ones((1, 1)), horizon=2, levels=(), paths=False)
    found.add(
        np.array([0]),
        np.array([0]),
        np.full((1, 2, 1), np.nan),
        np.zeros((1, 2, 1), dtype=bool),
        Said(np.ones((1, 2, 1))),
    )
    scores = found.scores()
    assert scores["mse"] is None
    assert scores["by_step"]["mae"] == [None, None]
    assert "mase" not in scores


LEVEL_SETS = st.lists(st.floats(0.01, 0.99), min_size=1, max_size=9, unique=True).map(sorted)


@settings(max_examples=60, deadline=None)
@given(LEVEL_SETS, st.floats(-100, 100), st.floats(-100, 100))
def test_crps_of_a_point_is_its_absolute_error(levels, point, value):
    above = np.full(len(levels), value - point)
    assert crps(above, np.array(levels)) == pytest.approx(abs(value - point), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(LEVEL_SETS, st.floats(-9, 9), st.integers(0, 2**31))
def test_crps_is_that_of_mass_at_the_quantiles(levels, value, seed):
    """Gneiting & Raftery (2007): E|X − y| − E|X − X'| / 2."""
    quantiles = np.sort(np.random.default_rng(seed).normal(size=len(levels)))
    borders = np.concatenate([[0], (np.array(levels)[:-1] + np.array(levels)[1:]) / 2, [1]])
    mass = np.diff(borders)
    expected = mass @ np.abs(quantiles - value) - mass @ np.abs(quantiles[:, None] - quantiles) @ mass / 2
    assert crps(value - quantiles, np.array(levels)) == pytest.approx(expected, abs=1e-9)


@given(st.floats(0.01, 0.99), st.integers(0, 2**31))
def test_the_sample_quantile_has_the_least_pinball_loss(level, seed):
    sample = np.random.default_rng(seed).normal(size=41)
    tried = np.linspace(-3, 3, 61)

    def loss(at):
        return pinball((sample - at)[:, None], np.array([level])).sum()

    best = np.quantile(sample, level, method="inverted_cdf")
    assert loss(best) <= min(map(loss, tried)) + 1e-9


def test_intervals_leave_as_much_below_as_above():
    assert central_intervals(np.array([0.05, 0.1, 0.3, 0.5, 0.9, 0.95])) == [(0, 5), (1, 4)]
    assert central_intervals(np.array([0.5])) == []
