"""Floors: exact where they must be, and complete whatever is missing."""

import numpy as np
import pytest
from scipy import stats

from jumok.evaluation import forecast_floors as floors
from jumok.evaluation.student_t import quantile, tail

HORIZON = 5


def test_floors_of_a_constant_series_are_exact():
    past = np.full((3, 11, 2), 4.25)
    for found in (
        floors.repeat_last(past, HORIZON),
        floors.seasonal_naive(past, HORIZON, 7),
        floors.drift(past, HORIZON),
        floors.constant_velocity(past, HORIZON),
    ):
        assert found.shape == (3, HORIZON, 2)
        assert (found == 4.25).all()
    assert (floors.turned_velocities(past, HORIZON, np.ones((3, 20))) == 4.25).all()
    assert (floors.ewma_deviation(past) == 0).all()


def test_lines_and_seasons_go_on():
    steps = np.arange(23.0)
    line = np.stack([3 + 2 * steps, -steps], axis=-1)[None]
    season = np.tile(np.array([5.0, 1.0, 8.0]), 8)[None, :, None]
    assert floors.drift(line[:, :17], 6) == pytest.approx(line[:, 17:])
    assert floors.constant_velocity(line[:, :17], 6) == pytest.approx(line[:, 17:])
    assert (floors.seasonal_naive(season[:, :16], 8, 3) == season[:, 16:]).all()


def test_directions_turn_and_speeds_stay():
    past = np.array([[[0.0, 0.0], [3.0, 4.0]]])
    ways = floors.turned_velocities(past, HORIZON, np.array([[0.0, np.pi / 2, np.pi]]))
    assert ways[0, 0] == pytest.approx(floors.constant_velocity(past, HORIZON)[0])
    assert ways[0, 1, 0] == pytest.approx([3 - 4, 4 + 3])
    assert ways[0, 2, 1] == pytest.approx([3 - 6, 4 - 8])
    assert np.linalg.norm(ways - [3.0, 4.0], axis=-1) == pytest.approx(np.tile(5.0 * np.arange(1, 6), (1, 3, 1)))


def test_directions_do_not_depend_on_how_windows_are_cut():
    one, parts = np.random.default_rng(3), np.random.default_rng(3)
    whole = floors.draw_turns(one, 7, 20)
    assert (np.concatenate([floors.draw_turns(parts, 3, 20), floors.draw_turns(parts, 4, 20)]) == whole).all()
    assert np.rad2deg(floors.draw_turns(one, 5000, 20).std()) == pytest.approx(25, rel=0.02)


def test_missing_values_are_filled_from_before_then_from_after():
    nan = np.nan
    past = np.array([[[nan, nan], [2.0, nan], [nan, nan], [5.0, nan], [nan, nan]]])
    assert floors.carried(past, np.array([9.0, 7.0]))[0].T.tolist() == [[2, 2, 2, 5, 5], [7, 7, 7, 7, 7]]


def test_ewma_by_its_recursion():
    draw = np.random.default_rng(5)
    past = draw.normal(size=(1, 400, 1)).cumsum(axis=1)
    variance = np.diff(past[0, :, 0])[0] ** 2
    for change in np.diff(past[0, :, 0])[1:]:
        variance = 0.94 * variance + 0.06 * change**2
    assert floors.ewma_deviation(past)[0, 0] == pytest.approx(np.sqrt(variance))
    past[0, 397] = np.nan  # two steps less, and nothing else
    changes = np.diff(past[0, :, 0]) ** 2
    weights = 0.94 ** np.arange(len(changes))[::-1] * ~np.isnan(changes)
    assert floors.ewma_deviation(past)[0, 0] == pytest.approx(np.sqrt(np.nansum(weights * changes) / weights.sum()))


def test_a_random_walk_spreads_with_the_root_of_its_steps():
    levels = (0.1, 0.5, 0.9)
    found = floors.random_walk(np.zeros((1, 9, 1)), np.array([[2.0]]), floors.normal_draws(levels))
    assert found[0, :, 0, 1] == pytest.approx(0)
    assert found[0, :, 0, 2] == pytest.approx(2 * 1.2815515655 * np.sqrt(np.arange(1, 10)))
    assert floors.student_draws(levels) == pytest.approx(stats.t.ppf(levels, 5) / np.sqrt(5 / 3))


@pytest.mark.parametrize("freedom", [1, 2.5, 5, 28, 2784, 1e6])
def test_student_t_is_scipys(freedom):
    for x in (0.0, 0.3, 1.96, 4.5, 12.0):
        assert tail(x, freedom) == pytest.approx(stats.t.sf(x, freedom), rel=1e-6, abs=1e-15)
    for level in (0.025, 0.4, 0.5, 0.95):
        assert quantile(level, freedom) == pytest.approx(stats.t.ppf(level, freedom), rel=1e-6, abs=1e-9)
