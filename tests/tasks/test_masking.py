"""Masked tokens: the right share, the right fates, whole words, halves that follow or not; pure in seed, epoch and place."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from jumok.config import MaskedTextData, TextFile, TokenizerConfig
from jumok.data.text.documents import TextCorpora
from jumok.data.text.tokenizer import END, SPECIALS, START
from jumok.tasks.masking import MaskedBatches, chunks, mask_tokens

WORDS = ["red", "green", "blueberry", "yellowish", "violet"]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    generator = np.random.default_rng(1)
    lines = [" ".join(generator.choice(WORDS, size=generator.integers(1, 30))) for _ in range(80)]
    (folder / "lines.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = MaskedTextData(train=[TextFile(file="lines.txt")], val=[TextFile(file="lines.txt")], documents="line")
    return TextCorpora(data, TokenizerConfig(vocabulary=270), [folder])


def stream(corpora, *, seed=1, longest=24, **changes):
    data = corpora.data.model_copy(update=changes)
    return MaskedBatches(corpora.train, corpora.tokenizer, data, longest=longest, batch_tokens=120, seed=seed)


@given(st.integers(1, 60), st.floats(0.01, 0.99), st.integers(0, 1000))
def test_the_share_is_kept_and_only_masked_tokens_change(size, share, seed):
    generator = np.random.default_rng(seed)
    ids, begins = generator.integers(4, 50, size), np.ones(size, dtype=np.int64)
    hidden, chosen = mask_tokens(ids, begins, share=share, whole_words=False, vocabulary=50, generator=generator)
    assert chosen.sum() == max(1, round(share * size))
    assert np.array_equal(hidden[~chosen], ids[~chosen])
    assert ((hidden >= len(SPECIALS)) & (hidden <= 50)).all()


def test_eight_in_ten_are_hidden_one_replaced_one_stays():
    ids = np.full(20_000, 7)
    hidden, chosen = mask_tokens(
        ids, np.ones_like(ids), share=0.5, whole_words=False, vocabulary=1000, generator=np.random.default_rng(3)
    )
    found = hidden[chosen]
    assert (found == 1000).mean() == pytest.approx(0.8, abs=0.02)
    assert (found == 7).mean() == pytest.approx(0.1, abs=0.02)
    assert len(np.unique(found[(found != 7) & (found != 1000)])) > 400


def test_whole_words_are_hidden_whole():
    begins = np.array([1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1] * 9)
    word, counts = np.cumsum(begins), []
    for seed in range(400):
        _, chosen = mask_tokens(
            np.full(len(begins), 9), begins, share=0.3, whole_words=True, vocabulary=50,
            generator=np.random.default_rng(seed),
        )  # fmt: skip
        for number in np.unique(word):
            assert chosen[word == number].all() or not chosen[word == number].any()
        counts.append(int(chosen.sum()))
        assert abs(counts[-1] - 0.3 * len(begins)) < 5
    assert np.mean(counts) == pytest.approx(round(0.3 * len(begins)), abs=0.3)


def test_chunks_cover_every_document_once(corpora):
    for longest in (1, 5, 21, 1000):
        starts, sizes = chunks(corpora.train, longest)
        assert 1 <= sizes.min() <= sizes.max() <= longest
        places = np.concatenate([np.arange(start, start + size) for start, size in zip(starts, sizes, strict=True)])
        assert np.array_equal(places, np.flatnonzero(corpora.train.ids != END))


@pytest.mark.parametrize("changes", [{}, {"whole_words": True}, {"next_sentence": True}], ids=str)
def test_the_answers_are_what_stood_behind_the_masks(corpora, changes):
    batches = stream(corpora, **changes)
    for epoch in range(2):
        for indices in batches.plan(0):
            batch = batches.batch(indices, epoch)
            assert batch.masked.sum() == len(batch.answers)
            assert not (batch.masked & ~batch.source_mask).any()
            assert len(batch.source) * batch.source.shape[1] <= 120
            filled = batch.source.clone()
            filled[batch.masked] = batch.answers
            for row, index in enumerate(indices.tolist()):
                ids = filled[row][batch.source_mask[row]].tolist()
                assert ids[0] == START
                assert ids[-1] == END
                if not changes.get("next_sentence"):
                    assert ids[1:-1] == batches.chunk(index)[0].tolist()
                elif batch.follows[row]:
                    assert [token for token in ids[1:] if token != END] == batches.chunk(index)[0].tolist()


def test_half_of_the_second_texts_do_not_follow_and_segments_tell_them_apart(corpora):
    batches = stream(corpora, next_sentence=True)
    follows = torch.cat([batches.batch(indices, epoch).follows for epoch in range(6) for indices in batches.plan(0)])
    assert 0.4 < follows.float().mean() < 0.62
    batch = batches.take()
    for row in range(len(batch.source)):
        places = (batch.source[row] == END).nonzero()[:, 0].tolist()
        segments = batch.segments[row][batch.source_mask[row]].tolist()
        assert segments == [0] * (places[0] + 1) + [1] * (places[-1] - places[0])
    assert stream(corpora).take().follows is None


def test_masks_differ_by_epoch_and_seed_but_any_position_can_be_sought(corpora):
    batches = stream(corpora)
    indices = batches.plan(0)[0]
    first, again, later = (batches.batch(indices, epoch) for epoch in (0, 0, 1))
    assert torch.equal(first.source, again.source)
    assert not torch.equal(first.source, later.source)
    assert not torch.equal(first.source, stream(corpora, seed=2).batch(indices, 0).source)
    positions, taken = [], []
    for _ in range(30):
        positions.append(batches.position)
        taken.append(batches.take())
    for number in (25, 3, 0):
        fresh = stream(corpora)
        fresh.seek(*positions[number])
        assert torch.equal(fresh.take().source, taken[number].source)


def test_a_batch_is_described_by_its_first_text(corpora):
    batches = stream(corpora)
    assert batches.describe(batches.take()).split(" texts, the first: ")[0].isdigit()
