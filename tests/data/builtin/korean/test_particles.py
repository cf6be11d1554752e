"""Particles agree with the last sound of the word before them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.data.builtin.korean.jamo import final_of
from jumok.data.builtin.korean.lexicon import lexicon
from jumok.data.builtin.korean.particles import AFTER_VOWEL, with_particle

SYLLABLES = st.integers(0xAC00, 0xD7A3).map(chr)


@pytest.mark.parametrize(
    ("particle", "closed", "liquid", "opened"),
    [
        ("은", "책은", "물은", "나무는"), ("이", "책이", "물이", "나무가"), ("을", "책을", "물을", "나무를"),
        ("과", "책과", "물과", "나무와"), ("으로", "책으로", "물로", "나무로"), ("에", "책에", "물에", "나무에"),
        ("에서", "책에서", "물에서", "나무에서"), ("에게", "책에게", "물에게", "나무에게"), ("한테", "책한테", "물한테", "나무한테"),
        ("부터", "책부터", "물부터", "나무부터"), ("까지", "책까지", "물까지", "나무까지"), ("도", "책도", "물도", "나무도"),
        ("만", "책만", "물만", "나무만"), ("보다", "책보다", "물보다", "나무보다"), ("의", "책의", "물의", "나무의"), ("", "책", "물", "나무"),
    ],
)  # fmt: skip
def test_a_particle_after_a_consonant_after_rieul_after_a_vowel(particle, closed, liquid, opened):
    assert [with_particle(noun, particle) for noun in ("책", "물", "나무")] == [closed, liquid, opened]


def test_pronouns_melt_with_some():
    found = [
        with_particle(*pair)
        for pair in (("나", "이"), ("저", "이"), ("너", "이"), ("누구", "이"), ("나", "은"), ("저", "의"), ("뭐", "을"))
    ]
    assert found == ["내가", "제가", "네가", "누가", "나는", "제", "뭘"]


@given(SYLLABLES, st.sampled_from(sorted(AFTER_VOWEL)))
def test_the_form_follows_the_final_consonant_alone(syllable, particle):
    added = with_particle(f"아{syllable}", particle).removeprefix(f"아{syllable}")
    opened = final_of(syllable) in (("", "ㄹ") if particle == "으로" else ("",))
    assert added == (AFTER_VOWEL[particle] if opened else particle)


def test_every_noun_takes_them():
    for noun in lexicon().nouns:
        assert with_particle(noun.korean, "을")[-1] == ("을" if final_of(noun.korean) else "를")
