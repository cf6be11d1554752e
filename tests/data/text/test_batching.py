"""A plan holds each pair once within the budget, differs each epoch and wastes little."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.data.text import batching
from jumok.data.text.batching import TokenBudgetStream, largest_batch, padding_share, plan_batches
from jumok.errors import ConfigError

length_tables = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=80).map(np.array)


def corpus(count, seed=7):
    """Return lengths like those of a translation corpus."""
    generator = np.random.default_rng(seed)
    source = np.clip(generator.gamma(8.0, 2.0, count), 2, 60)
    target = np.clip(source * generator.lognormal(0.0, 0.2, count), 2, 60)
    return np.stack([source, target], axis=1).astype(np.int64)


def share_kept(first, second):
    """Return which share of the pairs of neighbours in second were neighbours in first."""
    batch_of = np.concatenate([np.full(len(batch), number) for number, batch in enumerate(first)])
    batch_of = batch_of[np.argsort(np.concatenate(first))]
    together = [np.bincount(batch_of[batch]) for batch in second]
    return sum((n * (n - 1)).sum() for n in together) / sum(n.sum() * (n.sum() - 1) for n in together)


@settings(max_examples=80, deadline=None)
@given(lengths=length_tables, budget=st.integers(60, 400), seed=st.integers(0, 9), epoch=st.integers(0, 9))
def test_each_pair_is_in_one_batch_and_batches_keep_to_the_budget(lengths, budget, seed, epoch):
    batches = plan_batches(lengths, batch_tokens=budget, seed=seed, epoch=epoch)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    assert all(len(batch) * lengths[batch].max() <= budget for batch in batches)
    again = plan_batches(lengths, batch_tokens=budget, seed=seed, epoch=epoch)
    assert all(np.array_equal(one, other) for one, other in zip(batches, again, strict=True))


def test_wildly_different_lengths_keep_to_the_budget():
    lengths = np.ones((997, 2), dtype=np.int64)
    lengths[::97] = 500
    batches = plan_batches(lengths, batch_tokens=503, seed=1, epoch=0)
    assert sorted(np.concatenate(batches).tolist()) == list(range(997))
    assert all(len(batch) * lengths[batch].max() <= 503 for batch in batches)
    assert len(batches) < 40


def test_little_is_padding_and_batches_are_full():
    lengths = corpus(29_000)
    for epoch in range(3):
        batches = plan_batches(lengths, batch_tokens=4096, seed=1, epoch=epoch)
        assert padding_share(lengths, batches) < 0.055
        assert len(batches) < 1.2 * lengths.max(axis=1).sum() / 4096


def test_pools_are_of_one_size_and_lose_nobody(monkeypatch):
    monkeypatch.setattr(batching, "POOL", 500)
    lengths = corpus(1103)
    batches = plan_batches(lengths, batch_tokens=512, seed=1, epoch=0)
    assert sorted(np.concatenate(batches).tolist()) == list(range(1103))
    assert padding_share(lengths, batches) < 0.2


def test_epochs_and_seeds_bring_other_neighbours():
    lengths = corpus(29_000)
    first = plan_batches(lengths, batch_tokens=4096, seed=1, epoch=0)
    assert share_kept(first, first) == 1
    for seed, epoch in ((1, 1), (1, 2), (2, 0)):
        assert share_kept(first, plan_batches(lengths, batch_tokens=4096, seed=seed, epoch=epoch)) < 0.4


def test_batches_come_in_no_order_of_length():
    lengths = corpus(5000)
    sizes = [lengths[batch].max() for batch in plan_batches(lengths, batch_tokens=1024, seed=1, epoch=0)]
    assert abs(np.corrcoef(sizes, np.arange(len(sizes)))[0, 1]) < 0.3


def test_a_large_corpus_is_planned_quickly():
    lengths = corpus(200_000)
    begin = time.process_time()
    plan_batches(lengths, batch_tokens=4096, seed=1, epoch=0)
    assert time.process_time() - begin < 2.5  # five million pairs in a minute


def test_a_pair_above_the_budget_is_an_error_before_training():
    with pytest.raises(ConfigError) as error:
        plan_batches(np.array([[3, 3], [3, 101]]), batch_tokens=100, seed=1, epoch=0)
    for part in ("pair 2 is 101 tokens long", "batch_tokens = 100", "to 101 or more", "max_length to 100"):
        assert part in str(error.value)
    assert len(plan_batches(np.array([[3, 3], [3, 100]]), batch_tokens=100, seed=1, epoch=0)) == 2


def test_padding_and_the_largest_batch_are_what_they_say():
    lengths = np.array([[2, 3], [4, 1], [5, 5], [1, 1]])
    batches = [np.array([0, 1]), np.array([2]), np.array([3])]
    assert padding_share(lengths, batches) == pytest.approx(1 - 22 / (2 * 7 + 10 + 2))
    assert largest_batch(lengths, batches).tolist() == [0, 1]
    assert padding_share(lengths, [np.array([2])]) == 0


class Numbers(TokenBudgetStream[list[int]]):
    """A stream of indices over lengths that differ from epoch to epoch, as subword dropout makes them."""

    def lengths(self, epoch):
        return corpus(53, seed=epoch)

    def batch_at(self, place):
        return self.indices(place).tolist()

    def describe(self, batch):
        return f"{len(batch)} numbers"


def test_a_stream_follows_the_plan_of_each_epochs_own_lengths():
    stream = Numbers(batch_tokens=128, seed=3)
    for epoch in range(3):
        for batch in plan_batches(corpus(53, seed=epoch), batch_tokens=128, seed=3, epoch=epoch):
            assert stream.take() == batch.tolist()
            assert stream.position[0] == epoch
