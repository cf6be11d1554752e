"""The copy test: a model that repeats is caught, one that foretells is not, and chunks change nothing."""

import numpy as np
import pytest

from jumok.evaluation.copy_test import CopySums


def windows(series, look_back=17, horizon=3):
    """Return past (N, L, 1) and future (N, H, 1) of a series."""
    both = np.lib.stride_tricks.sliding_window_view(series, look_back + horizon)[..., None]
    return both[:, :look_back], both[:, look_back:]


def copied(past, future, point, chunk=10_000):
    sums = CopySums(horizon=future.shape[1], steps=past.shape[1], season=7)
    observed = np.ones(future.shape, dtype=bool)
    for first in range(0, len(past), chunk):
        some = slice(first, first + chunk)
        sums.add(past[some], future[some], observed[some], point[some])
    return sums.result()


@pytest.fixture
def walk():
    return windows(np.random.default_rng(11).normal(size=901).cumsum())


@pytest.fixture
def wave():
    noise = np.random.default_rng(13).normal(size=901)
    return windows(np.sin(2 * np.pi * np.arange(901) / 7) + 0.1 * noise)


def test_a_model_that_repeats_is_caught(walk):
    past, future = walk
    repeated = np.repeat(past[:, -1:], 3, axis=1)
    found = copied(past, future, repeated)
    assert found.lag == 1
    assert found.at_lag == pytest.approx(1)
    assert found.correlation is None  # its changes are zero
    assert found.copies
    wavering = repeated + 0.05 * np.random.default_rng(3).normal(size=repeated.shape)
    assert copied(past, future, wavering).copies


def test_a_model_that_foretells_is_not(walk, wave):
    past, future = wave
    found = copied(past, future, past[:, -7:-4])  # the season before
    assert found.lag in (0, 7)
    assert found.correlation > 0.9
    assert not found.copies
    past, future = walk
    hints = past[:, -1:] + 0.5 * (future - past[:, -1:])
    found = copied(past, future, hints)
    assert found.correlation == pytest.approx(1)
    assert found.first_step == pytest.approx(1)
    assert not found.copies


def test_chunks_change_nothing(walk):
    past, future = walk
    point = past[:, -1:] + 0.1 * future
    one, many = copied(past, future, point), copied(past, future, point, chunk=13)
    assert one.lag == many.lag
    assert one.correlation == pytest.approx(many.correlation)


def test_missing_values_count_nowhere(walk):
    past, future = walk
    point = past[:, -1:] + 0.1 * (future - past[:, -1:])
    observed = np.random.default_rng(1).random(future.shape) > 0.3
    one, other = (CopySums(horizon=3, steps=17, season=1) for _ in range(2))
    one.add(past, np.where(observed, future, np.nan), observed, point)
    other.add(past, np.where(observed, future, 1e6), observed, point)
    assert one.result() == other.result()
