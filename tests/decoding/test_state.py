"""Decoder states: whatever is selected, repeated or joined, a row goes on as if it had been alone."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from jumok.decoding.key_value_cache import KeyValueCache
from jumok.decoding.state import AttendingState, SharedMemory
from jumok.models.transformer import Transformer
from jumok.nn.batch import PairBatch
from jumok.nn.masks import padding_mask

SOURCES = (7, 3, 5, 2)
VOCABULARY = 29


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(2)
    config = Transformer.Config(
        source_vocabulary=23, target_vocabulary=VOCABULARY, layers=2, width=12, heads=3, feedforward=7, head_width=5,
        value_width=2, dropout=0.0,
    )  # fmt: skip
    return Transformer(config).eval()


def source_batch(sentences, extra=0):
    lengths = [SOURCES[sentence] for sentence in sentences]
    mask = padding_mask(torch.tensor(lengths), max(lengths) + extra)
    source = torch.zeros(mask.shape, dtype=torch.int64)
    for row, sentence in enumerate(sentences):
        source[row, : lengths[row]] = torch.randint(
            4, 23, (lengths[row],), generator=torch.Generator().manual_seed(sentence)
        )
    empty = torch.zeros(len(lengths), 1, dtype=torch.int64)
    return PairBatch(source, mask, empty, empty, torch.ones(len(lengths), 1, dtype=torch.bool))


class Follower:
    """A state together with what each of its rows has been through."""

    def __init__(self, model, sentences, extra=0):
        self.model, self.histories = model, [(sentence, []) for sentence in sentences]
        self.state = model.start(model.encode(source_batch(sentences, extra)))

    def extend(self, tokens):
        for (_, written), new in zip(self.histories, tokens.tolist(), strict=True):
            written += new
        logits, self.state = self.model.extend(tokens, self.state)
        return logits

    def select(self, rows):
        self.state = self.state.select(torch.tensor(rows, dtype=torch.int64))
        self.histories = [(self.histories[row][0], list(self.histories[row][1])) for row in rows]

    def join(self, other):
        self.state, self.histories = self.state.join(other.state), self.histories + other.histories

    def check(self, seed=0):
        """Extend by one token and compare every row with a pass over all its tokens from the start."""
        assert self.state.rows == len(self.histories) == len(self.state.cache.lengths)
        assert len(self.state.memory.owner) % max(len(self.state.memory.mask), 1) == 0
        assert self.state.cache.lengths.tolist() == [len(written) for _, written in self.histories]
        if not self.histories:
            return
        tokens = torch.randint(4, VOCABULARY, (len(self.histories), 1), generator=torch.Generator().manual_seed(seed))
        logits = self.extend(tokens)
        for row, (sentence, written) in enumerate(self.histories):
            fresh = self.model.start(self.model.encode(source_batch([sentence])))
            wanted, _ = self.model.extend(torch.tensor([written]), fresh)
            assert_close(logits[row, -1], wanted[0, -1], rtol=1e-4, atol=1e-5)


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.inference_mode():
        yield


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_life_of_a_state_gives_the_logits_of_a_fresh_start(model, data):
    """Extend by several, select (reorder, repeat, drop, uneven groups) and join, in any order."""
    with torch.inference_mode():
        follower = Follower(model, data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3)))
        for turn in range(data.draw(st.integers(1, 6))):
            follower.check(turn)
            rows = follower.state.rows
            action = data.draw(st.sampled_from(["extend", "select", "join"]))
            if action == "extend":
                count = data.draw(st.integers(1, 4))
                follower.extend(
                    torch.randint(4, VOCABULARY, (rows, count), generator=torch.Generator().manual_seed(turn))
                )
            elif action == "select":
                follower.select(data.draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=6)))
            else:
                other = Follower(model, data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=2)))
                for _ in range(data.draw(st.integers(1, 3))):
                    other.check(turn)
                follower.join(other)
        follower.check(99)


def test_an_empty_selection_is_an_empty_state_that_can_be_joined(model):
    follower = Follower(model, [0, 1])
    follower.check()
    follower.select([])
    assert follower.state.rows == 0
    assert follower.state.memory.mask.shape[0] == 0
    other = Follower(model, [2, 3])
    other.check()
    other.check(1)
    follower.join(other)
    follower.check(2)
    follower.check(3)


def test_joining_an_empty_state_from_the_right(model):
    follower, nobody = Follower(model, [1, 0]), Follower(model, [2])
    follower.check(), nobody.check()
    nobody.select([])
    follower.join(nobody)
    follower.check(2)


def test_fresh_rows_may_join_running_ones(model):
    """Nothing is cached for them yet: their first token stands at place 0 all the same."""
    follower = Follower(model, [0, 1])
    follower.check()
    follower.join(Follower(model, [2]))
    follower.check(1)
    follower.check(2)


def test_hypotheses_of_a_sentence_share_its_memory(model):
    follower = Follower(model, [0, 1])
    follower.check()
    follower.select([0, 0, 0, 1, 1, 1])
    assert len(follower.state.memory.mask) == 2
    follower.check(1)
    follower.select([2, 0, 1, 4, 4, 3])
    assert len(follower.state.memory.mask) == 2
    follower.check(2)


@pytest.mark.parametrize("rows", [[0, 0, 1], [0, 1, 1, 1], [1, 0], [0, 1, 0], [2, 2, 0, 0, 0, 1]])
def test_uneven_or_shuffled_groups_still_know_their_sentence(model, rows):
    follower = Follower(model, [0, 1, 2])
    follower.check()
    follower.select(rows)
    follower.check(1)
    follower.select(list(reversed(range(len(rows)))))
    follower.check(2)


def test_memories_nobody_needs_are_dropped_and_narrowed(model):
    follower = Follower(model, [0, 1, 3], extra=4)
    follower.check()
    follower.select([1, 2])
    assert follower.state.memory.mask.shape == (2, SOURCES[1])
    assert {key.shape[2] for key, _ in follower.state.remembered} == {SOURCES[1]}
    follower.check(1)


def test_selecting_everything_copies_nothing(model):
    state = Follower(model, [0, 1]).state
    selected = state.select(torch.arange(2))
    assert selected.cache is state.cache
    assert selected.memory is state.memory


# --- the cache by itself


def append(cache, new):
    """Append counted keys; return keys, values, mask and causal."""
    rows = len(cache.lengths)
    first = cache.lengths[:, None] + torch.arange(new)  # (R, n)
    key = (100.0 * torch.arange(rows)[:, None] + first)[:, None, :, None].repeat(1, 2, 1, 3)
    result = cache.append(0, key, -key)
    cache.advance(new)
    return result


def test_capacity_grows_by_doubling_and_keeps_what_is_there():
    cache, capacities = KeyValueCache(2, 1), []
    for _ in range(100):
        keys, values, mask, causal = append(cache, 1)
        length = cache.longest
        assert keys.shape == (2, 2, length, 3)
        assert keys[1, 0, :, 0].tolist() == [100.0 + place for place in range(length)]
        assert values.equal(-keys)
        assert mask is None
        assert not causal
        capacities.append(cache.buffers.tensors[0].shape[2])
    assert len(set(capacities)) < 8, "it should not be copied at every step"


def test_the_first_tokens_are_causal_and_later_ones_masked():
    cache = KeyValueCache(1, 1)
    assert append(cache, 4)[2:] == (None, True)
    mask = append(cache, 3)[2]
    assert mask.shape == (1, 1, 3, 7)
    assert mask[0, 0].tolist() == torch.ones(3, 7, dtype=torch.bool).tril(4).tolist()


def test_rows_of_different_lengths_see_their_own_tokens_only():
    short, long = KeyValueCache(1, 1), KeyValueCache(2, 1)
    append(short, 2)
    append(long, 5)
    both = short.join(long)
    assert not both.even
    for _ in range(20):  # past the capacity
        keys, _, mask, _ = append(both, 1)
        for row, length in enumerate(both.lengths.tolist()):
            seen = keys[row, 0, :, 0][mask[row, 0, 0]].tolist()
            assert len(seen) == length
            assert [value % 100 for value in seen] == list(range(length))
    assert not both.select(torch.tensor([0, 1, 1])).even
    assert both.select(torch.tensor([1, 2])).even
    assert both.longest == 25
    assert both.select(torch.tensor([0])).longest == 25


def test_the_longest_row_may_leave():
    short, long = KeyValueCache(1, 1), KeyValueCache(2, 1)
    append(short, 2)
    append(long, 5)
    both = short.join(long).select(torch.tensor([0]))
    assert (both.longest, both.even) == (2, True)
    assert append(both, 1)[0][0, 0, :, 0].tolist() == [0.0, 1.0, 2.0]


def test_rows_of_one_parent_go_their_own_ways():
    cache = KeyValueCache(2, 1)
    append(cache, 3)
    keys = append(cache.select(torch.tensor([0, 0])), 1)[0]
    assert keys[:, 0, :, 0].tolist() == [[0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 103.0]]


def test_a_memory_that_is_somebody_elses_is_never_written_to():
    states = torch.arange(12.0).view(3, 2, 2)
    before = states.clone()
    memory = SharedMemory([states], torch.ones(3, 2, dtype=torch.bool), torch.arange(3))
    memory = memory.select(torch.tensor([2, 1]))
    assert memory.parts[0].equal(before[[2, 1]])
    memory = memory.join(SharedMemory([states], torch.ones(3, 2, dtype=torch.bool), torch.arange(3)))
    assert memory.select(torch.tensor([4, 0, 3])).parts[0].equal(before[[2, 2, 1]])
    assert states.equal(before)


def test_empty_caches_join_and_select():
    nobody = KeyValueCache(0, 1).join(KeyValueCache(0, 1))
    assert (len(nobody.lengths), nobody.longest, nobody.even, nobody.buffers.tensors) == (0, 0, True, [])
    started = KeyValueCache(2, 1)
    append(started, 3)
    assert started.select(torch.tensor([], dtype=torch.int64)).longest == 0


def test_the_state_reports_its_rows():
    memory = SharedMemory([], torch.ones(2, 3, dtype=torch.bool), torch.tensor([0, 0, 0, 1, 1, 1]))
    state = AttendingState(KeyValueCache(6, 0), memory)
    assert state.rows == 6
