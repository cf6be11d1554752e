"""The phrasebook: clean pairs, in the columns it says, and none of the notes' own examples; what comes near to them is told."""

import re
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from jumok.config import Corpus, ParallelData, TokenizerConfig
from jumok.data.text.parallel import ParallelCorpora
from jumok.data.text.sources import read_pairs, tidy
from jumok.errors import ConfigError
from jumok.runs.shipped import SHELF

KEPT_OUT = [
    "넌 누구니?", "너는 누구니?", "Who are you?", "I like you", "나는 너를 좋아해", "난 널 좋아해",
    "The animal didn't cross the street because it was too tired", "he hit me with a pie",
    "The chef cooked the meal", "The meal cooked the chef",
]  # fmt: skip
# The five that differ from an example in one word: the card of the shipped translators tells them.
NEAR = ["그는 누구니?", "Where are you?", "나는 그를 좋아해.", "나는 그녀를 좋아해.", "나는 개를 좋아해."]
CARD = SHELF / "translator" / "CARD.md"
PAIRS = list(read_pairs(Corpus(set="phrasebook"), Path))


def plain(text):
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def test_there_are_a_few_hundred_pairs_of_english_and_korean():
    assert 300 <= len(PAIRS) <= 500
    for english, korean in PAIRS:
        assert (tidy(english), tidy(korean)) == (english, korean)
        assert not re.search("[가-힣]", english)
        assert re.search("[가-힣]", korean)
        assert english[-1] in ".?!"
        assert korean[-1] in ".?!"


def test_no_pair_stands_twice_and_hardly_any_sentence():
    pairs = [(plain(english), plain(korean)) for english, korean in PAIRS]
    assert len(set(pairs)) == len(pairs)
    for side in (0, 1):
        twice = [text for text, count in Counter(pair[side] for pair in pairs).items() if count > 1]
        assert twice in ([], ["howoldareyou"]), "once politely, once among friends"


@pytest.mark.parametrize("example", KEPT_OUT)
def test_the_notes_examples_are_not_in_it_and_what_is_like_them_is_told(example):
    for sentence in (text for pair in PAIRS for text in pair):
        likeness = SequenceMatcher(None, plain(example), plain(sentence)).ratio()
        assert likeness < (0.9 if sentence in NEAR else 0.8), sentence


def test_the_card_tells_what_is_like_the_examples():
    told = CARD.read_text(encoding="utf-8")
    assert all(f"“{sentence}”" in told for sentence in NEAR)


def test_it_joins_files_in_a_recipe_in_either_direction(tmp_path, monkeypatch):
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))
    both = [{"set": "phrasebook", "to": "ko"}, {"set": "phrasebook", "to": "en", "swap": True, "weight": 2.0}]
    data = ParallelData.parse({"train": both, "hold_out": 30}, "data")
    corpora = ParallelCorpora(data, TokenizerConfig(vocabulary=600), [])
    learnt = {frozenset(corpora.train.text(number)) for number in range(len(corpora.train))}
    held = corpora.evaluation("val")
    assert list(held) == ["held out → en", "held out → ko"]
    assert not learnt & {frozenset(store.text(number)) for store in held.values() for number in range(len(store))}
    assert list(corpora.evaluation("train")) == ["phrasebook → ko", "phrasebook → en"]


def test_it_is_no_set_of_its_own_and_others_are_unknown():
    with pytest.raises(
        ConfigError, match=r"'phrasebook' is a table among others.*write train = \[\{ set = 'phrasebook' \}"
    ):
        ParallelCorpora(ParallelData(set="phrasebook"), TokenizerConfig(), [])
    with pytest.raises(ConfigError, match="set = 'phrasebok' is no built-in table; did you mean 'phrasebook'"):
        list(read_pairs(Corpus(set="phrasebok"), Path))
    with pytest.raises(ConfigError, match=r"set \(a built-in table\); given: file, set"):
        Corpus(set="phrasebook", file="x.tsv")
