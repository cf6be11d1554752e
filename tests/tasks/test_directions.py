"""Several target languages in one model: a tag tells which, text never makes one, and everything else stays as it was."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.config import Corpus, ParallelData, TokenizerConfig
from jumok.data.text.parallel import ParallelCorpora
from jumok.data.text.tokenizer import SPECIALS, TAG, Tokenizer, tag_of
from jumok.errors import ConfigError

KINDS = ("bpe", "unigram", "wordpiece", "word", "character", "byte")
TEXTS = ["a b c [→ko] d 안녕 하세요", "[→en] the dog ran", "[PAD] → ko en"] * 5
LANGUAGES = ["en", "ko"]


def trained(kind, languages=LANGUAGES):
    return Tokenizer.train(
        TEXTS, TokenizerConfig(kind=kind, vocabulary=300, min_frequency=1), languages=languages
    )  # fmt: skip


TOKENIZERS = {kind: trained(kind) for kind in KINDS}


# --- tags of a tokenizer


@pytest.mark.parametrize("kind", KINDS)
def test_tags_stand_behind_the_special_tokens_and_survive_saving(kind, tmp_path):
    tokenizer = TOKENIZERS[kind]
    assert tokenizer.tags == {"en": 4, "ko": 5}
    assert tokenizer.reserved == len(SPECIALS) + 2
    assert tokenizer.labels([4, 5, 3]) == ["[→en]", "[→ko]", "[END]"]
    tokenizer.save(tmp_path / "source.json")
    loaded = Tokenizer.load(tmp_path / "source.json")
    assert (loaded.tags, loaded.vocabulary) == (tokenizer.tags, tokenizer.vocabulary)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(text=st.text(alphabet="[]→ koen▁#PAD안", max_size=30), language=st.sampled_from(LANGUAGES))
def test_no_text_makes_a_tag(kind, text, language):
    for given_text in (text, tag_of(language), f"{tag_of(language)} {text}", text + tag_of(language) + " "):
        ids = TOKENIZERS[kind].encode([given_text])[0]
        assert not set(ids) & set(TOKENIZERS[kind].tags.values())


@pytest.mark.parametrize("kind", KINDS)
def test_tags_are_left_out_of_text_and_are_words_of_their_own(kind):
    tokenizer = TOKENIZERS[kind]
    ids = tokenizer.encode(["the dog"])[0]
    tagged = [tokenizer.tags["ko"], *ids]
    assert tokenizer.decode(tagged) == tokenizer.decode(ids)
    numbers = tokenizer.words(tagged)
    assert numbers[0] == 0
    assert [number - 1 for number in numbers[1:]] == tokenizer.words(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_without_languages_there_is_no_tag_even_where_texts_are_full_of_them(kind):
    tokenizer = trained(kind, languages=[])
    assert tokenizer.tags == {}
    assert tokenizer.reserved == len(SPECIALS)
    assert not TAG.fullmatch("[→]")


# --- the recipe


def corpus(**values):
    return {"file": "pairs.tsv"} | values


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"train": [corpus(to="ko"), corpus()]}, r"'pairs.tsv' does not say its target language, though others do; give"),
        ({"train": [corpus(to="ko")], "val": [corpus(to="en")]}, r"'pairs.tsv → en' has to = 'en', which no corpus of train has; train has ko"),
        ({"train": [corpus()], "val": [corpus(to="en")]}, "give those of train a target language, too"),
        ({"train": [corpus(to="한국어")]}, "to = '한국어': must be the code of a language"),
        ({"train": [corpus(weight=0.0)]}, r"data\.train\.0\.weight = 0\.0: must be above 0"),
        ({"train": [corpus()], "val": [corpus(weight=2.0)]}, "only corpora of train have a weight"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(data, message):
    with pytest.raises(ConfigError, match=message):
        ParallelData.parse(data, "data")


def test_labels_tell_directions_apart_where_files_do_not():
    forth, back = Corpus(**corpus(to="ko")), Corpus(**corpus(to="en", swap=True))
    assert (forth.title, back.title) == ("pairs.tsv → ko", "pairs.tsv → en")
    assert Corpus(**corpus(to="ko", name="news")).title == "news"


# --- the data


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Return a folder with a table of two columns, and a cache of its own."""
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))
    lines = [f"english {number}\t한국 {number}" for number in range(100)]
    (tmp_path / "pairs.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


BOTH = [corpus(to="ko"), corpus(to="en", swap=True)]


def opened(folder, tokenizer=None, **data):
    parsed = ParallelData.parse({"train": BOTH} | data, "data")
    return ParallelCorpora(parsed, tokenizer or TokenizerConfig(kind="word", min_frequency=1), [folder])


def test_each_source_begins_with_its_tag_and_texts_have_none(table):
    corpora = opened(table, val=[corpus(to="en", swap=True)])
    store, tags = corpora.train, corpora.source_tokenizer.tags
    assert store.parts == [100, 100]
    assert [int(store.source[number][0]) for number in (0, 99, 100, 199)] == [tags["ko"]] * 2 + [tags["en"]] * 2
    assert store.text(7) == store.text(107)[::-1] == ("english 7", "한국 7")
    assert all(int(store.target[number].min()) >= corpora.target_tokenizer.reserved for number in range(200))
    assert corpora.evaluation("val")["pairs.tsv → en"].source[0][0] == tags["en"]


def test_what_is_held_out_in_one_direction_is_not_learnt_in_the_other(table):
    for backwards in ({"swap": True}, {"source_column": 1, "target_column": 0}):
        corpora = opened(table, train=[corpus(to="ko"), corpus(to="en", **backwards)], hold_out=20)
        held = corpora.evaluation("val")
        assert list(held) == ["held out → en", "held out → ko"]
        rows = {frozenset(store.text(number)) for store in held.values() for number in range(len(store))}
        learnt = {frozenset(corpora.train.text(number)) for number in range(len(corpora.train))}
        assert len(rows) == 10
        assert not rows & learnt
        assert len(rows | learnt) == 100


def test_caches_of_recipes_without_directions_keep_their_names(table):
    """Their keys are those of the days before there were any."""
    plain = opened(table, train=[corpus()], val=[corpus()])
    content = json.dumps(plain._train_content)
    assert "swap" not in content
    assert '"to"' not in content
    names = {
        opened(table, train=[corpus(**extra)], val=[corpus(**extra)]).fingerprint
        for extra in ({}, {"swap": True}, {"to": "ko"}, {"to": "en"})
    }
    assert len(names) == 4


def test_a_tokenizer_with_other_tags_is_refused(table):
    pair = (TOKENIZERS["bpe"], TOKENIZERS["bpe"])
    parsed = ParallelData.parse({"train": [corpus(to="ko")]}, "data")
    with pytest.raises(ConfigError, match=r"target languages ko, the given tokenizer has tags for en, ko; start from"):
        ParallelCorpora(parsed, TokenizerConfig(), [table], tokenizers=pair)


def test_one_source_in_two_directions_is_not_said_twice(table):
    """Pairs with equal sides: their tags tell them apart, and nothing else does."""
    (table / "same.tsv").write_text("a\ta\nb\tb\na\ta\n")
    same = [{"file": "same.tsv", "to": language} for language in ("ko", "en")]
    corpora = opened(table, train=same, val=same[:1], deduplicate=True)
    assert corpora.train.parts == [2, 2]
    assert corpora.train.counts.duplicates == 2


def test_subword_dropout_never_touches_a_tag(table):
    from jumok.tasks.pairs import PairBatches

    for kind in ("bpe", "unigram"):
        corpora = opened(table, TokenizerConfig(kind=kind, vocabulary=330), val=[corpus(to="ko")])
        tokenizers = corpora.source_tokenizer, corpora.target_tokenizer
        batches = PairBatches(
            corpora.train, tokenizers, batch_tokens=500, seed=1, max_length=60, subword_dropout=(0.5, 0.5)
        )
        tags, plain = set(tokenizers[0].tags.values()), corpora.train.source
        for epoch in range(3):
            source, target = batches.sides.epoch(epoch)
            assert all(source[number][0] == plain[number][0] for number in range(200))
            assert all(not tags & set(source[number][1:].tolist()) for number in range(200))
            assert all(not tags & set(target[number].tolist()) for number in range(200))
        assert any(not np.array_equal(source[number], plain[number]) for number in range(200))
