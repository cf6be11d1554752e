"""Copies among texts: what is found is what a comparison of all pairs finds; large corpora are sampled."""

import random

import pytest

from jumok.data.text import copies
from jumok.data.text.copies import find_copies, normalised
from jumok.data.text.likeness import can_be_one_language, likeness

WORDS = [f"{a}{b}{c}" for a in ("ka", "mo", "ti", "re", "su") for b in ("lin", "dar", "pos") for c in ("ne", "ga", "")]


def texts(count, *, seed, words=(7, 13)):
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(*words))) for _ in range(count)]


def shingles(text):
    return {text[place : place + copies.SHINGLE] for place in range(len(text) - copies.SHINGLE + 1)}


def test_the_sketches_find_what_a_comparison_of_all_pairs_finds():
    draw, train = random.Random(3), texts(400, seed=1)
    val = texts(60, seed=2)
    for place in range(40):
        words = train[7 * place].split()
        words[draw.randrange(len(words))] = draw.choice(WORDS)  # one word is another
        val[place] = " ".join(words)
    found = find_copies(val, len(train), train.__getitem__)
    near = set()
    for number, text in enumerate(val):
        for other in train:
            mine, theirs = shingles(text), shingles(other)
            if text != other and len(mine & theirs) >= copies.NEAR * len(mine | theirs):
                near.add(number)
    assert len(near) >= 10
    assert found.near.keys() | found.equal.keys() >= near
    assert not (found.near.keys() - near)


def test_equal_texts_are_equal_whatever_their_case_and_punctuation():
    assert normalised("  Straße, 3!  “Ja”…\tNEIN ") == "strasse 3 ja nein"
    found = find_copies(["Hello, world!", "…", "Bye"], 3, ["hello world", "", "byes"].__getitem__)
    assert (found.equal, found.near, found.parts) == ({0: 0}, {}, {})


def test_a_large_corpus_is_compared_at_equal_distances(monkeypatch):
    monkeypatch.setattr(copies, "MOST_TEXTS", 100)
    monkeypatch.setattr(copies, "CHUNK", 7)
    train = texts(1000, seed=1)
    found = find_copies([train[370], train[371]], len(train), train.__getitem__)
    assert (found.every, found.compared) == (10, 100)
    assert found.equal == {0: 370}


def test_long_texts_are_sampled_by_their_characters(monkeypatch):
    monkeypatch.setattr(copies, "MOST_CHARACTERS", 20_000)
    train = texts(1000, seed=1)
    assert find_copies(train[:1], len(train), train.__getitem__).every >= 1000 * len(train[0]) // 40_000


@pytest.mark.parametrize("few", [[], ["", ""], ["ab"]])
def test_nothing_to_compare_is_no_copy(few):
    train = texts(20, seed=1)
    found = find_copies(few, len(train), train.__getitem__)
    assert (found.equal, found.near, found.parts) == ({}, {}, {})


def test_likeness_is_one_for_the_same_source_and_nothing_for_another_script():
    one, other = texts(300, seed=1), texts(300, seed=2)
    assert likeness(other, one) == pytest.approx(1.0, abs=0.05)
    assert likeness(other[:5], one) == pytest.approx(1.0, abs=0.15), "a short sample is held to no higher standard"
    assert likeness(["가나다 라마바"] * 50, one) == 0.0
    assert can_be_one_language(other, one)
    assert not can_be_one_language(["가나다 라마바"], one)


def test_digits_are_letters_that_are_all_alike():
    assert likeness(["1 2 3", "4 5"], ["7 8", "9 0 1"]) == pytest.approx(1.0, abs=0.3)
    assert likeness(["one two"], ["7 8", "9 0 1"]) == 0.0
