"""Blocks of running text: every token said once, no padding, a pure function of seed, epoch and place."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.config import TextData, TextFile, TokenizerConfig
from jumok.data.text.documents import TextCorpora
from jumok.data.text.tokenizer import END
from jumok.errors import ConfigError
from jumok.tasks.blocks import BlockBatches, blocks_in_order


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    lines = ["".join("abcdefg"[(number * step) % 7] for step in range(number % 17 + 1)) for number in range(60)]
    (folder / "lines.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = TextData(train=[TextFile(file="lines.txt")], val=[TextFile(file="lines.txt")], documents="line")
    return TextCorpora(data, TokenizerConfig(kind="character", vocabulary=30, min_frequency=1), [folder])


def stream(corpora, *, window=8, batch_tokens=32, seed=1, separate=False):
    return BlockBatches(
        corpora.train, corpora.tokenizer, window=window, batch_tokens=batch_tokens, seed=seed, separate=separate
    )


def take_epoch(batches, epoch=0):
    batches.seek(epoch, 0)
    taken = []
    while (batch := batches.take()) and batches.position[0] == epoch:
        taken.append(batch)
    return taken


def test_a_store_is_all_documents_end_to_end(corpora):
    store = corpora.train
    assert store.ids[0] == END
    texts = corpora.tokenizer.decode([token for token in store.ids.tolist() if token != END])
    assert len(texts) == store.characters == store.bytes
    assert store.documents == 60 == (store.ids[1:] == END).sum()
    assert store.tokens == store.characters + store.documents
    assert [corpora.tokenizer.labels([store.ids[start]])[0] for start in store.starts[:3]] == ["a", "a", "a"]


@given(st.integers(1, 400), st.integers(1, 500))
@settings(max_examples=30)
def test_in_order_every_token_is_said_exactly_once(corpora, window, batch_tokens):
    said = []
    for batch in blocks_in_order(corpora.train, window, batch_tokens=batch_tokens, separate=False):
        assert batch.inputs.shape == batch.targets.shape
        assert batch.inputs.shape[1] <= window
        said += batch.targets.flatten().tolist()
        assert torch.equal(batch.inputs[:, 1:], batch.targets[:, :-1])
    assert said == corpora.train.ids[1:].tolist()


def test_an_epoch_says_nearly_every_token_once_and_begins_elsewhere_each_time(corpora):
    batches, store = stream(corpora), corpora.train
    firsts = set()
    for epoch in range(6):
        taken = take_epoch(batches, epoch)
        rows = [row for batch in taken for row in batch.targets.tolist()]
        assert all(len(batch.inputs) == 4 for batch in taken[:-1])
        assert store.tokens - 16 < 8 * len(rows) <= store.tokens
        firsts.add(tuple(sorted(map(tuple, rows))))
    assert len(firsts) > 1


def test_any_position_can_be_sought(corpora):
    whole = stream(corpora)
    positions, taken = [], []
    for _ in range(60):
        positions.append(whole.position)
        taken.append(whole.take())
    assert positions[-1][0] >= 2, "the test should cross epochs"
    for number in (55, 0, 17, 16, 1):
        fresh = stream(corpora)
        fresh.seek(*positions[number])
        for batch in taken[number : number + 3]:
            assert torch.equal(fresh.take().inputs, batch.inputs)
    assert not all(torch.equal(stream(corpora, seed=2).take().inputs, batch.inputs) for batch in taken[:1])


def test_separate_documents_are_numbered_and_an_end_opens_the_next(corpora):
    batch = next(blocks_in_order(corpora.train, 64, batch_tokens=64, separate=True))
    inputs, documents = batch.inputs[0].tolist(), batch.documents[0].tolist()
    for place in range(1, 64):
        assert documents[place] == documents[place - 1] + (inputs[place] == END)
    assert stream(corpora).take().documents is None


def test_text_shorter_than_a_window_is_one_block(corpora):
    batches = stream(corpora, window=10_000, batch_tokens=20_000)
    batch = batches.take()
    assert batch.targets.tolist() == [corpora.train.ids[1:].tolist()]
    assert batches.batches_per_epoch == 1


def test_a_block_must_fit_into_a_batch(corpora):
    with pytest.raises(ConfigError, match=r"batch_tokens = 32 has no room for one block of 64 tokens; set it to 64"):
        stream(corpora, window=64)


def test_a_batch_is_described_by_its_first_block(corpora):
    batches = stream(corpora)
    batch = batches.take()
    first = corpora.tokenizer.decode(batch.inputs[0].tolist())
    assert batches.describe(batches.last) == f"4 blocks, the first: {first!r}"
    assert np.all(batch.inputs.numpy() < len(corpora.tokenizer))
