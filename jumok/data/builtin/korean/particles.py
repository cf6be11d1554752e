"""Particles, whose form follows the last sound of the word before them: 책은, 나무는, 서울로, 집으로.

A particle is named by its form after a consonant: 은 이 을 과 으로 이나 …; those that never change by themselves.
"""

from functools import cache

from jumok.data.builtin.korean.jamo import final_of

AFTER_VOWEL = {"은": "는", "이": "가", "을": "를", "과": "와", "으로": "로", "이랑": "랑", "이나": "나", "아": "야"}
FUSED = {  # forms of pronouns with a particle that is not simply put behind
    ("나", "이"): "내가", ("저", "이"): "제가", ("너", "이"): "네가", ("누구", "이"): "누가", ("뭐", "을"): "뭘",
    ("나", "의"): "내", ("저", "의"): "제", ("너", "의"): "네",
    ("나", "에게"): "나에게", ("저", "에게"): "저에게",
}  # fmt: skip


@cache
def with_particle(word: str, particle: str) -> str:
    """Return a word with a particle in the form that fits it."""
    if not particle:
        return word
    if (word, particle) in FUSED:
        return FUSED[word, particle]
    final = final_of(word)
    open_ended = final in ("", "ㄹ") if particle == "으로" else not final
    return word + (AFTER_VOWEL.get(particle, particle) if open_ended else particle)
