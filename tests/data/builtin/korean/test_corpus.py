"""The set `korean`: pairs by number, splits that share nothing, references, alignments, none of the notes' examples."""

import os
import re
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.config import Corpus, ParallelData, TokenizerConfig
from jumok.data.builtin.examples import is_example
from jumok.data.builtin.korean import Pair, numbered, pair, pairs, pieces
from jumok.data.builtin.korean.choices import Dice, every
from jumok.data.builtin.korean.conjugation import attach
from jumok.data.builtin.korean.english_side import english
from jumok.data.builtin.korean.frames import FRAMES, Frames
from jumok.data.builtin.korean.korean_side import LEVELS, korean, levels_of
from jumok.data.builtin.korean.lexicon import lexicon
from jumok.data.builtin.korean.meaning import Clause, Entity, Meaning
from jumok.data.builtin.korean.words import Link, Word, links, text_of
from jumok.data.text.parallel import ParallelCorpora
from jumok.data.text.sources import read_pairs, tidy
from jumok.errors import ConfigError, DataError

SPLITS = ("train", "val", "test")
SOME = list(islice(numbered("train", 1500), 1500))


def meaning_of(verb, *nouns, pronoun="I", **details):
    """Return a sentence of a verb, its objects and more."""
    words = lexicon()
    found = next(one for one in words.verbs if one.korean == verb and len(one.arguments) == len(nouns))
    arguments = [(argument, Entity(words.noun(noun))) for argument, noun in zip(found.arguments, nouns, strict=True)]
    mood = details.pop("mood", "statement")
    return Meaning(Clause(found, Entity(pronoun=pronoun), arguments, **details), mood)


def said(meaning):
    """Return every Korean sentence that means it."""
    return {text_of(words) for words in every(lambda choose: korean(meaning, choose))}


def told(meaning):
    """Return every English sentence that means it."""
    return {text_of(words) for words in every(lambda choose: english(meaning, choose))}


def test_there_are_1500_words_and_each_can_be_used():
    words = lexicon()
    assert sum(map(len, (words.nouns, words.verbs, words.adjectives, words.times, words.adverbs))) >= 1500
    wanted = {kind for verb in words.verbs for argument in verb.arguments for kind in argument.types}
    wanted |= {kind for verb in words.verbs for kind in (*verb.places, *verb.subject)}
    wanted |= {kind for adjective in words.adjectives for kind in adjective.types}
    assert wanted <= set(words.by_type), "a type without nouns"


def test_sentences_are_clean_and_each_in_its_language():
    for one in SOME:
        assert tidy(one.korean) == one.korean
        assert tidy(one.english) == one.english
        assert re.fullmatch(r"[가-힣0-9A-Z ,]+[.?]", one.korean), one.korean
        assert re.fullmatch(r"[A-Zé][A-Za-zéï0-9', -]+[.?]", one.english), one.english
        assert not re.search(r"\b(\w+) \1\b", one.english), one.english


def test_a_pair_follows_from_its_number_and_seed_in_every_process():
    program = "from jumok.data.builtin.korean import pairs; print(ascii(list(pairs('train', 30, 5))))"
    for salt in ("0", "1"):
        answer = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": salt}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert answer.stdout.strip() == ascii(list(pairs("train", 30, 5)))
    assert pair("train", 7, 5).korean == list(pairs("train", 8, 5))[7][0]
    assert list(pairs("train", 30, 6)) != list(pairs("train", 30, 5))


def test_splits_share_no_sentence_whatever_their_seeds():
    made = {split: [found for seed in (1, 2) for found in pairs(split, 800, seed)] for split in SPLITS}
    for side in (0, 1):
        texts = [{found[side] for found in made[split]} for split in SPLITS]
        assert not texts[0] & texts[1]
        assert not texts[0] & texts[2]
        assert not texts[1] & texts[2]


def test_val_and_test_say_nothing_twice():
    texts = [korean for korean, _ in pairs("test", 800)]
    assert len(set(texts)) == 800


def test_there_are_more_than_a_million_sentences():
    """Counted: what people with names did to one thing, at four levels, yesterday or not; nothing else is needed."""
    words = lexicon()
    objects = sum(
        len(words.of(*verb.arguments[0].types))
        for verb in words.verbs
        if len(verb.arguments) == 1 and verb.subject == ("person",) and "state" not in verb.flags
    )
    assert objects * len(words.of("name")) * len(LEVELS) * 2 > 1_000_000


def test_few_sentences_are_drawn_twice():
    drawn = [found for found, _ in pairs("train", 6000, 3)]
    assert len(set(drawn)) > 0.95 * len(drawn)


def test_a_wrong_request_is_explained():
    with pytest.raises(DataError, match="no split 'valid'; did you mean 'val'"):
        pairs("valid", 5)
    with pytest.raises(DataError, match="cannot have -3 pairs"):
        pairs("val", -3)


# --- what is said


def test_all_levels_of_a_statement():
    found = said(meaning_of("읽다", "책", tense="past"))
    assert {
        "나는 책을 읽었어.",
        "저는 책을 읽었어요.",
        "저는 책을 읽었습니다.",
        "나는 책을 읽었다.",
        "책을 읽었어요.",
    } <= found
    assert told(meaning_of("읽다", "책", tense="past")) == {"I read a book.", "I read the book."}


def test_all_levels_of_a_command_and_what_is_not_to_be_done():
    assert said(meaning_of("앉다", "의자", pronoun="you", mood="command")) == {
        "의자에 앉아.", "의자에 앉으세요.", "의자에 앉으십시오.", "의자에 앉아라.",
    }  # fmt: skip
    denied = meaning_of("앉다", "의자", pronoun="you", mood="command", negative=True)
    assert said(denied) == {"의자에 앉지 마.", "의자에 앉지 마세요.", "의자에 앉지 마십시오.", "의자에 앉지 마라."}


def test_honoured_people_get_their_own_words():
    meaning = meaning_of("자다")
    meaning.clause.subject = Entity(lexicon().noun("할머니"), owner=Entity(pronoun="I"))
    assert {"할머니께서 주무세요.", "할머니가 주무신다."} <= said(meaning)
    eats = meaning_of("먹다", "빵", tense="past")
    eats.clause.subject = Entity(lexicon().noun("선생님", "elder"), article="the")
    assert "선생님께서 빵을 드셨어요." in said(eats)
    gives = meaning_of("주다", "할머니", "책", tense="past")
    assert "저는 할머니께 책을 드렸어요." in said(gives)


@pytest.mark.parametrize(
    ("modality", "korean_says", "english_says"),
    [
        ("want", "저는 사과를 먹고 싶어요.", "I want to eat an apple."),
        ("can", "저는 사과를 먹을 수 있어요.", "I can eat an apple."),
        ("must", "저는 사과를 먹어야 해요.", "I have to eat an apple."),
        ("may", "저는 사과를 먹어도 돼요.", "I may eat an apple."),
        ("intend", "저는 사과를 먹으려고 해요.", "I'm planning to eat an apple."),
        ("been", "저는 사과를 먹은 적이 있어요.", "I've eaten an apple."),
        ("seem", "저는 사과를 먹는 것 같아요.", "I think I eat an apple."),
    ],
)
def test_modality(modality, korean_says, english_says):
    meaning = meaning_of("먹다", "사과", modality=modality)
    assert korean_says in said(meaning)
    assert english_says in told(meaning)


def test_negation_both_ways():
    found = said(meaning_of("먹다", "사과", tense="past", negative=True))
    assert {"저는 사과를 안 먹었어요.", "저는 사과를 먹지 않았어요."} <= found
    assert {"저는 공부 안 했어요.", "저는 공부하지 않았어요."} <= said(
        meaning_of("공부하다", tense="past", negative=True)
    )
    unable = said(meaning_of("먹다", "사과", tense="past", negative=True, modality="can"))
    assert {"저는 사과를 못 먹었어요.", "저는 사과를 먹지 못했어요.", "저는 사과를 먹을 수 없었어요."} <= unable
    assert {"I didn't eat an apple.", "I did not eat the apple."} <= told(
        meaning_of("먹다", "사과", tense="past", negative=True)
    )


def test_questions():
    meaning = meaning_of("먹다", "사과", pronoun="you", mood="question", tense="past")
    assert {
        "사과를 먹었어요?",
        "사과를 드셨어요?",
        "사과를 드셨습니까?",
        "너는 사과를 먹었어?",
        "사과를 먹었니?",
    } <= said(meaning)
    assert told(meaning) == {"Did you eat an apple?", "Did you eat the apple?"}
    meaning.clause.arguments[0] = (meaning.clause.arguments[0][0], Entity(pronoun="what"))
    assert told(meaning) == {"What did you eat?"}
    assert {"뭘 먹었어?", "뭘 드셨어요?", "무엇을 드셨습니까?"} <= said(meaning)


# --- references


def test_a_dropped_subject_can_be_anybody():
    meaning = meaning_of("읽다", "책", tense="past")
    choose = Dice("dropped")
    while text_of(ours := korean(meaning, choose)) != "책을 읽었어요.":
        pass
    references = Pair(meaning, ours, english(meaning, choose)).english_references()
    for pronoun in ("I", "You", "He", "She", "We", "They"):
        assert {f"{pronoun} read a book.", f"{pronoun} read the book."} <= set(references)


@pytest.mark.parametrize("number", range(25))
def test_references_of_both_sides(number):
    found = pair("test", number)
    others = found.korean_references()
    assert others[0] == found.korean
    assert found.english_references()[0] == found.english
    assert len(set(others)) == len(others) >= len(levels_of(found.meaning))
    assert set(found.english_references()) >= told(found.meaning)


def test_levels_differ_in_what_they_say():
    for one in SOME[:200]:
        assert 0 < len(levels_of(one.meaning)) <= len(LEVELS)


# --- alignment


def test_an_alignment_known_by_hand():
    meaning = meaning_of("읽다", "책", tense="past")
    choose = Dice("alignment")
    while text_of(ours := korean(meaning, choose)) != "저는 책을 읽었어요.":
        pass
    while text_of(theirs := english(meaning, choose)) != "I read a book.":
        pass
    assert links(ours, theirs) == [Link(0, 0), Link(1, 2, sure=False), Link(1, 3), Link(2, 0, sure=False), Link(2, 1)]


def test_pieces_of_words_have_their_words_links():
    found = [Link(0, 1), Link(1, 0, sure=False)]
    assert pieces(found, [0, 0, 1], [0, 1, -1]) == [Link(0, 1), Link(1, 1), Link(2, 0, sure=False)]


def test_content_words_are_linked():
    """Every Korean word has a link, and so has every English one but words of grammar."""
    free = {
        "Do",
        "Does",
        "Did",
        "Are",
        "Is",
        "Was",
        "Were",
        "I",
        "You",
        "We",
        "It",
        "There",
        "the",
        "a",
        "an",
        "it",
        "do",
        "does",
        "did",
        "that",
        "more",
        "not",
        "don't",
    }
    for one in SOME:
        found = one.alignment
        bare = [
            word.text for place, word in enumerate(one.korean_words) if place not in {link.korean for link in found}
        ]
        assert not [word for word in bare if word.strip(".?") not in ("더",)], (one.korean, one.english, bare)
        lonely = [
            word.text for place, word in enumerate(one.english_words) if place not in {link.english for link in found}
        ]
        assert not [word for word in lonely if word.strip(".?,") not in free], (one.korean, one.english, lonely)


def test_equal_words_keep_their_own_links():
    first, second = Entity(lexicon().noun("책")), Entity(lexicon().noun("책"))
    found = links([Word("책", (first,)), Word("책을", (second,))], [Word("book", (second,)), Word("book", (first,))])
    assert found == [Link(0, 1), Link(1, 0)]


# --- frames


@pytest.mark.parametrize("frame", [frame for frame, _ in FRAMES])
def test_every_frame_makes_sentences_in_both_languages(frame):
    for number in range(150):
        dice = Dice(f"frames {number}")
        meaning = frame(Frames(dice))
        assert korean(meaning, dice)
        assert english(meaning, dice)
        assert meaning.key


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 10**6))
def test_any_number_of_any_seed_is_a_pair(number, seed):
    found = pair("train", number, seed)
    assert found.korean.endswith((".", "?"))
    assert not is_example(found.english)
    assert any(link.sure for link in found.alignment)


def test_present_endings_belong_to_their_stems():
    """No verb of the lexicon is said in a form that its stem does not have."""
    for verb in lexicon().verbs:
        assert attach(verb.stem, "아요").endswith("요")


# --- in a recipe


def test_a_recipe_takes_as_many_as_it_wants_in_both_directions(tmp_path, monkeypatch):
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))
    both = [{"set": "korean", "to": "en"}, {"set": "korean", "to": "ko", "swap": True}]
    train = [corpus | {"size": 60 + 10 * place} for place, corpus in enumerate(both)]
    data = ParallelData.parse({"train": train, "val": [corpus | {"size": 20} for corpus in both]}, "data")
    assert [corpus.split for corpus in (*data.train, *data.val)] == ["train", "train", "val", "val"]
    corpora = ParallelCorpora(data, TokenizerConfig(vocabulary=400), [])
    assert [len(corpora.train), corpora.train.parts] == [130, [60, 70]]
    val = corpora.evaluation("val")
    assert {name: len(store) for name, store in val.items()} == {"korean → en": 20, "korean → ko": 20}
    assert [val["korean → en"].text(number) for number in range(20)] == list(pairs("val", 20))
    assert val["korean → ko"].text(3) == tuple(reversed(list(pairs("val", 20))[3]))


def test_columns_by_name_and_what_is_no_such_set():
    english_first = Corpus(set="korean", source_column="en", target_column="ko", size=3)
    assert [(ko, en) for en, ko in read_pairs(english_first, Path)] == list(pairs("train", 3))
    with pytest.raises(ConfigError, match=r"'fr': the set 'korean' has the columns 0 .ko. and 1 .en."):
        list(read_pairs(Corpus(set="korean", target_column="fr"), Path))
    with pytest.raises(ConfigError, match="size and split are for set = 'korean'"):
        Corpus(set="phrasebook", size=5)
