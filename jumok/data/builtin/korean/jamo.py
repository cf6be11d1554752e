"""Hangul by arithmetic: a syllable is a number made of a first consonant, a vowel and perhaps a final consonant.

"각" = 0xAC00 + (19 first consonants: ㄱ = 0) · 588 + (21 vowels: ㅏ = 0) · 28 + (28 finals: none = 0, ㄱ = 1)
"""

FIRST = 0xAC00
VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
FINALS = ["", *"ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"]


def is_syllable(letter: str) -> bool:
    """Return whether a letter is a whole Korean syllable."""
    return "가" <= letter <= "힣"


def vowel_of(syllable: str) -> str:
    """Return the vowel of a syllable."""
    return VOWELS[(ord(syllable) - FIRST) // 28 % 21]


def final_of(text: str) -> str:
    """Return the final consonant of the last syllable, empty where it ends in a vowel or is no Korean."""
    return FINALS[(ord(text[-1]) - FIRST) % 28] if text and is_syllable(text[-1]) else ""


def with_final(text: str, final: str) -> str:
    """Return the text with another final consonant in its last syllable; empty: none."""
    code = ord(text[-1]) - FIRST
    return text[:-1] + chr(FIRST + code - code % 28 + FINALS.index(final))


def with_vowel(text: str, vowel: str) -> str:
    """Return the text with another vowel in its last syllable, which has no final consonant afterwards."""
    code = ord(text[-1]) - FIRST
    return text[:-1] + chr(FIRST + code // 588 * 588 + VOWELS.index(vowel) * 28)
