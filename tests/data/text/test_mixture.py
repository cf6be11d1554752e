"""Pairs drawn by weight: as often as asked for, all of a corpus alike, and the same whenever an epoch is asked for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.data.text.mixture import Mixture

CORPORA = st.lists(st.tuples(st.integers(0, 40), st.floats(0.05, 4.0)), min_size=1, max_size=4)


def mixed(corpora, seed=7):
    return Mixture([size for size, _ in corpora], [weight for _, weight in corpora], seed=seed)


@settings(max_examples=60, deadline=None)
@given(corpora=CORPORA, epochs=st.integers(1, 9))
def test_after_any_number_of_epochs_a_corpus_is_seen_evenly_and_as_often_as_its_weight_says(corpora, epochs):
    mixture = mixed(corpora)
    seen = np.concatenate([mixture.epoch(epoch) for epoch in range(epochs)])
    counts = np.bincount(seen, minlength=sum(mixture.sizes))
    start = 0
    for size, weight in corpora:
        own = counts[start : start + size]
        start += size
        assert own.sum() == int(np.floor(epochs * weight * size))
        assert not size or own.max() - own.min() <= 1


@settings(max_examples=40, deadline=None)
@given(corpora=CORPORA, epochs=st.lists(st.integers(0, 20), min_size=1, max_size=6))
def test_an_epoch_does_not_depend_on_those_before(corpora, epochs):
    mixture = mixed(corpora)
    for epoch in epochs:
        assert mixture.epoch(epoch).tolist() == mixed(corpora).epoch(epoch).tolist()
        assert sum(mixture.drawn(epoch)) == len(mixture.epoch(epoch))


def test_weight_one_has_every_pair_once_in_another_order():
    mixture = mixed([(23, 1.0), (11, 1.0)])
    for epoch in range(3):
        assert sorted(mixture.epoch(epoch)) == list(range(34))
    other = mixed([(23, 1.0), (11, 1.0)], seed=8)
    orders = {tuple(found.tolist()) for found in (mixture.epoch(0), mixture.epoch(1), other.epoch(0))}
    assert len(orders) == 3


@pytest.mark.parametrize("weight", [0.25, 0.5])
def test_a_share_goes_through_the_whole_corpus_before_it_comes_round(weight):
    mixture = mixed([(40, weight)])
    seen = np.concatenate([mixture.epoch(epoch) for epoch in range(int(1 / weight))])
    assert sorted(seen) == list(range(40))
