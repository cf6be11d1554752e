"""English words in their forms, against tables written by hand."""

import pytest

from jumok.data.builtin.korean import english_forms as forms
from jumok.data.builtin.korean import numbers


@pytest.mark.parametrize(
    ("base", "third", "past", "participle", "ing"),
    [
        ("be", "is", "was", "been", "being"), ("have", "has", "had", "had", "having"), ("go", "goes", "went", "gone", "going"),
        ("study", "studies", "studied", "studied", "studying"), ("play", "plays", "played", "played", "playing"),
        ("watch", "watches", "watched", "watched", "watching"), ("stop", "stops", "stopped", "stopped", "stopping"),
        ("submit", "submits", "submitted", "submitted", "submitting"), ("visit", "visits", "visited", "visited", "visiting"),
        ("lie", "lies", "lay", "lain", "lying"), ("write", "writes", "wrote", "written", "writing"),
        ("forgive", "forgives", "forgave", "forgiven", "forgiving"), ("ski", "skis", "skied", "skied", "skiing"),
        ("agree", "agrees", "agreed", "agreed", "agreeing"), ("fix", "fixes", "fixed", "fixed", "fixing"),
        ("teach", "teaches", "taught", "taught", "teaching"), ("put", "puts", "put", "put", "putting"),
    ],
)  # fmt: skip
def test_verbs(base, third, past, participle, ing):
    assert [forms.third(base), forms.past(base), forms.participle(base), forms.ing(base)] == [
        third,
        past,
        participle,
        ing,
    ]


def test_nouns_articles_and_comparatives():
    found = [
        forms.plural(noun)
        for noun in ("apple", "watch", "baby", "key", "child", "knife", "wife", "radio", "mother-in-law", "old man")
    ]
    assert found == [
        "apples",
        "watches",
        "babies",
        "keys",
        "children",
        "knives",
        "wives",
        "radios",
        "mothers-in-law",
        "old men",
    ]
    assert [forms.a(word) for word in ("apple", "university", "honest", "office", "European", "hotel", "umbrella")] == [
        "an", "a", "an", "an", "a", "a", "an",
    ]  # fmt: skip
    found = [forms.comparative(word) for word in ("big", "pretty", "expensive", "nice", "good", "quiet", "far")]
    assert found == ["bigger", "prettier", "more expensive", "nicer", "better", "quieter", "farther"]
    assert [forms.possessive(name) for name in ("Minsu", "Lucas")] == ["Minsu's", "Lucas'"]


def test_to_be_agrees():
    assert [forms.finite("be", "present", who, many=many) for who, many in (("I", False), ("you", True), ("he", False))] == [
        "am", "are", "is",
    ]  # fmt: skip
    assert forms.finite("be", "past", "they", many=True) == "were"
    assert forms.finite("eat", "present", "she", many=False) == "eats"


@pytest.mark.parametrize(
    ("number", "own", "chinese", "english"),
    [
        (1, "한", "일", "one"), (4, "네", "사", "four"), (11, "열한", "십일", "eleven"), (20, "스무", "이십", "twenty"),
        (25, "스물다섯", "이십오", "twenty-five"), (99, "아흔아홉", "구십구", "ninety-nine"),
    ],
)  # fmt: skip
def test_numbers_in_words(number, own, chinese, english):
    assert [numbers.own(number), numbers.chinese(number), numbers.english(number)] == [own, chinese, english]


def test_large_numbers_clocks_and_prices():
    assert [numbers.chinese(number) for number in (100, 1_500, 10_000, 15_000, 250_000)] == [
        "백",
        "천오백",
        "만",
        "만 오천",
        "이십오만",
    ]
    assert (numbers.clock(3, 30).korean, numbers.clock(3, 30).english) == ("[세] 시 반에", "at [three] thirty")
    assert numbers.clock(12, 0).english == "at [twelve] o'clock"
    assert numbers.price(15_000).korean == "[만 오천] 원"
    assert numbers.date(3, 5).english == "[March] 5"
