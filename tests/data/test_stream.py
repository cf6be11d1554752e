"""A stream goes through the plans of its epochs, from any position on as if it had never stopped."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.data.stream import Stream, cut
from jumok.errors import DataError, RunError


class Cards(Stream[tuple[int, list[int]]]):
    """Hands of cards, shuffled anew each epoch; epochs differ in how many there are."""

    def __init__(self, *sizes):
        super().__init__()
        self.sizes, self.plans_made = sizes or (13, 17, 11), []

    def plan(self, epoch):
        self.plans_made.append(epoch)
        return cut(np.random.default_rng(epoch).permutation(self.sizes[epoch % len(self.sizes)]), 5)

    def batch_at(self, place):
        return place[0], self.indices(place).tolist()

    def describe(self, batch):
        return f"{len(batch[1])} cards, the first: {batch[1][0]}"


def take(stream, count):
    return [stream.take() for _ in range(count)]


@given(before=st.integers(0, 40), detour=st.integers(0, 20))
def test_it_goes_on_from_any_position_as_if_never_stopped(before, detour):
    whole, stopped, resumed = Cards(), Cards(), Cards()
    take(whole, before)
    take(stopped, before)
    position = stopped.position
    resumed.seek(*position)
    assert resumed.position == position
    expected = take(whole, 25)
    assert take(resumed, 25) == expected
    take(stopped, detour)
    stopped.seek(*position)  # back again in the same stream
    assert stopped.position == position
    assert take(stopped, 25) == expected


def test_every_example_comes_once_per_epoch_and_each_plan_is_made_once():
    stream, seen = Cards(), {}
    for epoch, cards in take(stream, 3 + 4 + 3):
        seen.setdefault(epoch, []).extend(cards)
    assert {epoch: sorted(cards) for epoch, cards in seen.items()} == {
        epoch: list(range(size)) for epoch, size in enumerate((13, 17, 11))
    }
    assert stream.plans_made == [0, 1, 2]


def test_the_end_of_an_epoch_is_the_beginning_of_the_next():
    stream = Cards()
    take(stream, 3)
    assert stream.position == (0, 3)
    after = stream.take()
    stream.seek(1, 0)
    assert stream.take() == after
    assert stream.position == (1, 1)


def test_asking_for_the_size_of_an_epoch_moves_nothing():
    stream, other = Cards(), Cards()
    assert take(stream, 4) == take(other, 4)
    assert stream.batches_per_epoch == 3
    assert stream.position == other.position
    assert take(stream, 9) == take(other, 9)


@pytest.mark.parametrize("index", [4, 10_000, -1])
def test_a_position_outside_the_plan_is_refused(index):
    stream = Cards()
    stream.seek(0, index)
    with pytest.raises(RunError, match=rf"is batch {index:,} of epoch 0, which has 3; the data or the size of a batch"):
        stream.take()


def test_nothing_to_take_is_an_error():
    with pytest.raises(DataError, match=r"no examples to make batches of; check the files of \[data\] train"):
        Cards(0).take()


def test_closing_what_has_nothing_to_close_changes_nothing():
    stream = Cards()
    stream.close()
    assert stream.take() == Cards().take()


@given(st.integers(1, 50), st.integers(1, 12))
def test_cut_loses_nobody(count, size):
    batches = cut(np.arange(count), size)
    assert np.concatenate(batches).tolist() == list(range(count))
    assert all(len(batch) == size for batch in batches[:-1])
    assert 1 <= len(batches[-1]) <= size
