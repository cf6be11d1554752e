"""Batches of windows: every window once an epoch, in another order each, without a list of them; paths turned."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tasks.test_ridge import windows_of
from torch.testing import assert_close

from jumok.tasks.window_batches import Shuffled, WindowBatches, batch_of


@given(st.integers(1, 5000), st.integers(1, 100), st.integers(0, 2**31), st.integers(0, 50))
@settings(max_examples=60, deadline=None)
def test_an_epoch_has_every_window_once(count, size, seed, epoch):
    size = min(size, count)
    batches = Shuffled(count, size, [seed, epoch])
    numbers = np.concatenate([batches[place] for place in range(len(batches))])
    assert len(numbers) == count // size * size
    assert len(set(numbers.tolist())) == len(numbers)
    assert 0 <= numbers.min() <= numbers.max() < count


def test_orders_differ_and_look_random():
    first, second = (Shuffled(20_000, 20_000, [1, epoch])[0] for epoch in (0, 1))
    assert not np.array_equal(first, second)
    places = np.arange(20_000)
    assert abs(np.corrcoef(places, first)[0, 1]) < 0.03
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.03
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 0.03
    assert (np.abs(np.diff(first)) == 1).mean() < 0.01


def test_a_long_table_costs_no_memory():
    batches = Shuffled(10**12, 4, [1, 0])
    assert len(set(batches[10**11].tolist())) == 4


@pytest.fixture
def paths():
    generator = np.random.default_rng(1)
    return windows_of(generator.standard_normal((60, 2)).cumsum(0), transform="difference", paths=True, rotate=1.0)


def test_a_batch_is_a_pure_function_of_its_place(paths):
    one, two = (WindowBatches(paths, batch_size=8, seed=3) for _ in range(2))
    one.take()
    two.seek(0, 1)
    here = torch.device("cpu")
    for left, right in zip(vars(one.take().to(here)).values(), vars(two.take().to(here)).values(), strict=True):
        assert torch.equal(left, right)


def test_paths_are_turned_as_a_whole(paths):
    """Lengths of steps, and the angle between past and future, are as they were; directions are not."""
    stream = WindowBatches(paths, batch_size=8, seed=3)
    batch = stream.take().to(torch.device("cpu"))
    plain = batch_of(paths.arrays(stream.indices(stream.last)))
    assert not torch.allclose(batch.past, plain.past)
    assert_close(batch.past.norm(dim=2), plain.past.norm(dim=2))
    angles = [(b.past[:, -1] * b.future[:, -1]).sum(dim=1) for b in (batch, plain)]
    assert_close(*angles)


def test_parts_make_the_whole():
    windows = windows_of(np.random.default_rng(1).standard_normal((60, 2)))
    stream = WindowBatches(windows, batch_size=7, seed=3)
    taken, here = stream.take(), torch.device("cpu")
    whole, parts = taken.to(here), [taken.part(number, 2).to(here) for number in range(2)]
    assert len(whole) == sum(map(len, parts))
    assert torch.equal(whole.past[1::2], parts[1].past)
