"""Batches of pairs: padding, the shift by one, and a stream that is a pure function of seed, epoch and place."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from jumok.config import ParallelData, TokenizerConfig
from jumok.data.text.parallel import ParallelCorpora
from jumok.data.text.tokenizer import END, PAD, START
from jumok.tasks.pairs import PairBatches, collate

IDS = st.lists(st.integers(4, 90), max_size=9)


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=7))
def test_a_batch_holds_each_pair_padded_ended_and_shifted(pairs):
    batch = collate(
        [(np.asarray(source, dtype=np.uint16), np.asarray(target, dtype=np.uint16)) for source, target in pairs]
    )
    assert batch.source.shape[1] == 1 + max(len(source) for source, _ in pairs)
    assert batch.targets.shape[1] == 1 + max(len(target) for _, target in pairs)
    assert batch.cells == batch.source.numel() + batch.targets.numel()
    for row, (source, target) in enumerate(pairs):
        assert batch.source[row][batch.source_mask[row]].tolist() == [*source, END]
        assert batch.targets[row][batch.target_mask[row]].tolist() == [*target, END]
        assert batch.inputs[row][batch.target_mask[row]].tolist() == [START, *target]
        assert batch.source_mask[row].tolist() == sorted(batch.source_mask[row].tolist(), reverse=True)
    assert batch.source[~batch.source_mask].eq(PAD).all()
    assert batch.targets[~batch.target_mask].eq(PAD).all()
    assert {tensor.dtype for tensor in (batch.source, batch.inputs, batch.targets)} == {torch.int64}


@pytest.fixture(scope="module")
def corpora():
    return ParallelCorpora(ParallelData(set="copy", size=150), TokenizerConfig(vocabulary=300), [])


def stream(corpora, *, seed=1, dropout=(0.0, 0.0), max_length=64, batch_tokens=120):
    return PairBatches(
        corpora.train, (corpora.source_tokenizer, corpora.target_tokenizer), batch_tokens=batch_tokens, seed=seed,
        max_length=max_length, subword_dropout=dropout,
    )  # fmt: skip


def equal(ours, theirs):
    return ours.source.equal(theirs.source) and ours.targets.equal(theirs.targets)


def take_epoch(batches, epoch=0):
    batches.seek(epoch, 0)
    taken = []
    while (batch := batches.take()) and batches.position[0] == epoch:
        taken.append(batch)
    return taken


@pytest.mark.parametrize("dropout", [(0.0, 0.0), (0.3, 0.0), (0.3, 0.3)])
def test_any_position_can_be_sought(corpora, dropout):
    whole = stream(corpora, dropout=dropout)
    positions, taken = [], []
    for _ in range(40):
        positions.append(whole.position)
        taken.append(whole.take())
    assert positions[-1][0] >= 2, "the test should cross epochs"
    for number in (39, 0, 17, 16, 1):
        fresh = stream(corpora, dropout=dropout)
        fresh.seek(*positions[number])
        assert fresh.position == positions[number]
        for batch in taken[number : number + 3]:
            assert equal(fresh.take(), batch)


@pytest.mark.parametrize("dropout", [(0.0, 0.0), (0.3, 0.0), (0.3, 0.3)])
def test_an_epoch_holds_every_pair_once_and_keeps_to_the_budget(corpora, dropout):
    batches = stream(corpora, dropout=dropout)
    for epoch in range(2):
        found = []
        for batch in take_epoch(batches, epoch):
            assert len(batch.source) * max(batch.source.shape[1], batch.targets.shape[1]) <= 120
            found += [
                corpora.source_tokenizer.decode(row[mask].tolist())
                for row, mask in zip(batch.source, batch.source_mask, strict=True)
            ]
        assert sorted(found) == sorted(corpora.train.text(i)[0] for i in range(len(corpora.train)))


def test_epochs_and_seeds_differ(corpora):
    first, again, other = stream(corpora), stream(corpora), stream(corpora, seed=2)
    epochs = [take_epoch(first), take_epoch(first, 1), take_epoch(again), take_epoch(other)]
    same = [all(equal(a, b) for a, b in zip(epochs[0], epoch, strict=False)) for epoch in epochs]
    assert same == [True, False, True, False]


def test_subword_dropout_cuts_words_into_more_pieces_and_differently_each_epoch(corpora):
    plain, dropped = stream(corpora), stream(corpora, dropout=(0.5, 0.5))
    assert dropped.lengths(0).sum() > plain.lengths(0).sum()
    assert not np.array_equal(dropped.lengths(0), dropped.lengths(1))
    assert np.array_equal(dropped.lengths(0), stream(corpora, dropout=(0.5, 0.5)).lengths(0))
    assert not np.array_equal(dropped.lengths(0), stream(corpora, dropout=(0.5, 0.5), seed=2).lengths(0))


@pytest.mark.parametrize("side", [0, 1])
def test_subword_dropout_of_one_side_leaves_the_other_as_it_is(corpora, side):
    plain, both = stream(corpora).lengths(0), stream(corpora, dropout=(0.5, 0.5)).lengths(0)
    one = stream(corpora, dropout=(0.5, 0.0) if side == 0 else (0.0, 0.5)).lengths(0)
    assert np.array_equal(one[:, side], both[:, side])
    assert one[:, side].sum() > plain[:, side].sum()
    assert np.array_equal(one[:, 1 - side], plain[:, 1 - side])


def test_subword_dropout_makes_no_sentence_longer_than_allowed(corpora):
    free, capped = (stream(corpora, dropout=(0.5, 0.5), max_length=longest) for longest in (64, 13))
    assert corpora.train.lengths.max() == 13
    assert free.lengths(0).max() > 13
    assert capped.lengths(0).max() == 13
    for batch in take_epoch(capped):
        assert max(batch.source.shape[1], batch.targets.shape[1]) <= 13


@pytest.mark.parametrize("dropout", [(0.0, 0.0), (0.5, 0.5)])
def test_a_batch_is_described_by_its_own_first_pair(corpora, dropout):
    """Not by the newest batch: the guilty one may be an earlier micro-batch of the step."""
    batches = stream(corpora, dropout=dropout)
    taken = [(batches.take(), batches.last) for _ in range(2)]
    for batch, place in reversed(taken):
        text = corpora.source_tokenizer.decode(batch.source[0].tolist())
        assert batches.describe(place) == f"{len(batch.source)} pairs, the first: {text!r} → {text!r}"
