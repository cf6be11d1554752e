"""Sampled segmentations spell the same text, depend on (seed, epoch) alone, and follow the dropout rate."""

import pickle
import random

import numpy as np
import pytest

from jumok.cache import cache_entries, cache_root
from jumok.config import Corpus, ParallelData, TokenizerConfig
from jumok.data.text import subwords
from jumok.data.text.pair_store import Part, build_pair_store
from jumok.data.text.subwords import VARIANTS, SubwordSampler
from jumok.data.text.tokenizer import UNKNOWN, Tokenizer
from jumok.errors import ConfigError, DataError

WORDS = ["the", "animal", "animals", "crossing", "crossed", "street", "streets", "because", "tired", "tires"]
WORDS += ["고양이가", "고양이는", "길을", "건넜다", "누구니"]


def text(chance):
    return " ".join(chance.choice(WORDS) for _ in range(chance.randint(1, 9)))


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def case(request, tmp_path_factory):
    """Return a tokenizer and a store of sentences it has learnt, an empty and an unknown one among them."""
    chance = random.Random(1)
    sentences = [text(chance) for _ in range(211)]
    tokenizer = Tokenizer.train(sentences, TokenizerConfig(kind=request.param, vocabulary=330))
    sentences += ["", "tiredж жstreetжж"]
    store = build_pair_store(
        [Part((sentence, sentence) for sentence in sentences)],
        source_tokenizer=tokenizer,
        target_tokenizer=tokenizer,
        data=ParallelData(train=[Corpus(source="x", target="y")]),
        folder=tmp_path_factory.mktemp("store"),
        keep_all=True,
    )
    return tokenizer, store


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))


def rows(side):
    return [ids.tolist() for ids in side]


def test_sampled_ids_spell_the_same_text(case):
    tokenizer, store = case
    side = SubwordSampler(tokenizer, store.source, 0.4, 1, longest=10_000).epoch(0)
    assert len(side) == len(store.source)
    changed = 0
    for index in range(len(side)):
        assert tokenizer.decode(side[index]) == tokenizer.decode(store.source[index])
        assert len(side[index]) == side.lengths[index]
        assert (side[index] == UNKNOWN).sum() == (store.source[index] == UNKNOWN).sum()
        changed += side[index].tolist() != store.source[index].tolist()
    assert changed > len(side) / 2
    assert side[0].dtype == store.source[0].dtype
    assert side[-2].tolist() == []
    with pytest.raises(IndexError):
        side[len(side)]


def test_an_epoch_depends_on_seed_and_number_alone(case, monkeypatch):
    tokenizer, store = case
    first = SubwordSampler(tokenizer, store.source, 0.3, 5)
    later, earlier = rows(first.epoch(7)), rows(first.epoch(2))
    fresh = SubwordSampler(pickle.loads(pickle.dumps(tokenizer)), store.target, 0.3, 5)  # the same text again
    assert rows(fresh.epoch(2)) == earlier
    assert rows(fresh.epoch(7)) == later != earlier
    assert rows(SubwordSampler(tokenizer, store.source, 0.3, 6).epoch(7)) != later
    monkeypatch.setenv("JUMOK_CACHE", str(cache_root() / "other"))
    monkeypatch.setattr(subwords, "CHUNK", 17)  # another way of working through the same corpus
    side = SubwordSampler(tokenizer, store.source, 0.3, 5).epoch(7)
    assert [side[index].tolist() for index in reversed(range(len(side)))] == later[::-1]


def test_words_are_cut_alike_whatever_stands_beside_them(case, tmp_path):
    tokenizer, store = case
    small = build_pair_store(
        [Part([(store.text(3)[0],) * 2])], source_tokenizer=tokenizer, target_tokenizer=tokenizer, folder=tmp_path / "small",
        data=ParallelData(train=[Corpus(source="x", target="y")]),
    )  # fmt: skip
    few, many = (SubwordSampler(tokenizer, side, 0.3, 1, longest=999) for side in (small.source, store.source))
    seen = {tuple(few.epoch(epoch)[0].tolist()) for epoch in range(40)}
    assert len(seen) > 5
    few_words, many_words = (variants_by_word(sampler) for sampler in (few, many))
    assert few_words
    assert all(many_words[word] == variants for word, variants in few_words.items())


def variants_by_word(sampler):
    sampler.epoch(0)
    table = sampler._table
    cut = [tuple(table["ids"][s : s + n].tolist()) for s, n in zip(table["starts"], table["lengths"], strict=True)]
    return {cut[row + VARIANTS]: cut[row : row + VARIANTS] for row in range(0, len(cut), VARIANTS + 1)}


def test_a_rate_of_nothing_changes_nothing(case):
    tokenizer, store = case
    assert rows(SubwordSampler(tokenizer, store.source, 0.0, 1).epoch(0)) == rows(store.source)
    assert rows(SubwordSampler(tokenizer, store.source, 1e-12, 1).epoch(0)) == rows(store.source)


def test_a_higher_rate_cuts_finer(case):
    tokenizer, store = case
    totals = [store.source.lengths.sum()]
    for rate in (0.1, 0.3, 0.9):
        totals.append(SubwordSampler(tokenizer, store.source, rate, 1, longest=10_000).epoch(0).lengths.sum())
    assert totals == sorted(set(totals))
    assert totals[1] < 1.7 * totals[0]


def test_bpe_dropout_leaves_a_single_merge_out_at_its_rate():
    tokenizer = Tokenizer.train(["ab " * 5], TokenizerConfig(vocabulary=261))  # one merge, of a and b
    model, [word] = tokenizer.model, tokenizer.encode(["ab"])
    assert len(word) == 2
    keys = np.arange(1, 3001, dtype=np.uint64) ** np.uint64(3)
    variants = [v for _, many in subwords._sample_bpe(model, [tuple(word[-1:])] * 3000, keys, rate=0.3) for v in many]
    assert np.mean([len(variant) == 2 for variant in variants]) == pytest.approx(0.3, abs=0.01)


def test_unigram_sampling_follows_the_probabilities():
    """Every segmentation of a word comes up as often as its weight says, enumerated by hand."""
    model = {"vocab": [["[PAD] ", 0.0], ["[UNK] ", 0.0], ["[START] ", 0.0], ["[END] ", 0.0]]}
    model["vocab"] += [["a", -1.0], ["b", -2.0], ["ab", -2.5], ["ba", -3.0], ["aba", -3.5]]
    paths = {(4, 5, 4): -4.0, (6, 4): -3.5, (4, 7): -4.0, (8,): -3.5}
    rate = subwords.SHARPNESS / (subwords.SHARPNESS + 1)  # where the power is one
    keys = np.arange(1, 2001, dtype=np.uint64) ** np.uint64(3)
    drawn = [tuple(v) for _, many in subwords._sample_unigram(model, [(8,)] * 2000, keys, rate=rate) for v in many]
    whole = sum(np.exp(score) for score in paths.values())
    assert set(drawn) == set(paths)
    for path, score in paths.items():
        assert drawn.count(path) / len(drawn) == pytest.approx(np.exp(score) / whole, abs=0.01)


def test_no_sentence_outgrows_the_longest(case):
    tokenizer, store = case
    longest = store.source.lengths.max()
    side = SubwordSampler(tokenizer, store.source, 0.8, 1).epoch(0)
    assert side.lengths.max() <= longest
    stays = [ids.tolist() == store.source[index].tolist() for index, ids in enumerate(side)]
    assert not all(stays)
    free = SubwordSampler(tokenizer, store.source, 0.8, 1, longest=10_000).epoch(0)
    for index in range(len(side)):
        if free.lengths[index] > longest:
            assert stays[index]
        else:
            assert side[index].tolist() == free[index].tolist()


def test_the_table_is_made_once_and_damage_is_noticed(case):
    tokenizer, store = case
    told = []
    SubwordSampler(tokenizer, store.source, 0.2, 1, progress=lambda done, whole: told.append((done, whole))).epoch(0)
    assert told[-1][0] == told[-1][1] > 0
    told.clear()
    SubwordSampler(tokenizer, store.source, 0.2, 2, progress=lambda done, whole: told.append((done, whole))).epoch(0)
    assert told == []
    [entry] = cache_entries()
    path = cache_root() / entry.name / "ids"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(DataError, match=r"damaged \(.*\); run jumok cache --clear"):
        SubwordSampler(tokenizer, store.source, 0.2, 1).epoch(0)


def test_other_kinds_are_refused(case):
    words = Tokenizer.train(["a b"] * 3, TokenizerConfig(kind="word"))
    with pytest.raises(ConfigError, match="kind 'bpe' or 'unigram', not 'word'"):
        SubwordSampler(words, case[1].source, 0.1, 1)
