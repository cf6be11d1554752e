"""The test of Diebold and Mariano: its formula written out, what it calls chance, and when it does not answer."""

import numpy as np
import pytest
from scipy import stats

from jumok.evaluation.diebold_mariano import Origins, diebold_mariano, newey_west
from jumok.evaluation.forecasts import PerWindow


@pytest.mark.parametrize(("count", "horizon"), [(61, 1), (97, 7), (211, 24)])
def test_the_formula_written_out(count, horizon):
    values = np.random.default_rng(count).normal(0.2, 1, count)
    found = diebold_mariano(values, horizon)
    mean = sum(values) / count
    variance = sum((v - mean) ** 2 for v in values) / count
    for lag in range(1, found.lag + 1):
        covariance = sum((values[t] - mean) * (values[t - lag] - mean) for t in range(lag, count)) / count
        variance += 2 * (1 - lag / (found.lag + 1)) * covariance
    correction = np.sqrt((count + 1 - 2 * horizon + horizon * (horizon - 1) / count) / count)
    assert newey_west(values, found.lag) == pytest.approx(variance)
    assert found.statistic == pytest.approx(mean / np.sqrt(variance / count) * correction)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(found.statistic), count / horizon - 1), rel=1e-6)
    assert found.lag >= horizon - 1


def test_overlapping_windows_are_not_taken_for_independent_ones():
    """Equally good forecasters are rarely called different; a plain t test calls most of them so."""
    draw, horizon, count = np.random.default_rng(0), 24, 480
    called, naively = 0, 0
    for _ in range(300):
        shocks = draw.normal(size=count + horizon - 1)
        values = np.convolve(shocks, np.ones(horizon), "valid")
        called += diebold_mariano(values, horizon).p < 0.05
        naively += stats.ttest_1samp(values, 0).pvalue < 0.05
    assert called < 0.13 * 300
    assert naively > 0.5 * 300


def test_a_clear_difference_is_found():
    values = np.convolve(np.random.default_rng(1).normal(size=311), np.ones(12) / 12, "valid") - 0.5
    found = diebold_mariano(values, 12)
    assert found.better
    assert not diebold_mariano(-values, 12).better
    assert diebold_mariano(-values, 12).p == found.p


def test_too_few_windows_and_no_difference_have_no_answer():
    assert diebold_mariano(np.random.default_rng(2).normal(size=41), 24).p is None  # fewer than two without overlap
    assert diebold_mariano(np.zeros(100), 1).p is None
    noise = 1e-9 * np.random.default_rng(2).normal(1, 1, size=100)
    assert diebold_mariano(noise, 1, rounding=1e-6).p is None
    assert diebold_mariano(noise, 1).p is not None


def test_windows_that_begin_together_are_one_origin():
    dates = np.array([30, 10, 20, 10, 30, 30])
    one = PerWindow(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), np.full(6, 2.0))
    other = PerWindow(np.ones(6), np.full(6, 2.0))
    origins = Origins(dates)
    assert origins.dates.tolist() == [10, 20, 30]
    differences = origins.differences(one, other)
    assert differences == pytest.approx(np.array([6 - 2, 3 - 1, 12 - 3]) * 3 / 12)
    assert differences.mean() == pytest.approx(one.mean - other.mean)
