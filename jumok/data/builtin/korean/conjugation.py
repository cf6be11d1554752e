"""Conjugation: a stem and an ending become one form.

Stem("덥", "ㅂ") + "아요" → "더워요", + "으면" → "더우면", + "습니다" → "덥습니다"

An ending is written as it stands after a regular stem in a consonant with a bright vowel (받다): those in "아" follow
the stem's vowel, those in "으" lose it after a vowel, "습니다" and "는다" shrink to "ㅂ니다" and "ㄴ다".
"""

from dataclasses import dataclass, replace
from functools import cache

from jumok.data.builtin.korean.jamo import final_of, vowel_of, with_final, with_vowel

BRIGHT = "ㅏㅑㅗ"  # vowels after which "아" stays "아"
FUSED = {"ㅗ": "ㅘ", "ㅜ": "ㅝ", "ㅣ": "ㅕ", "ㅚ": "ㅙ", "ㅏ": "ㅏ", "ㅓ": "ㅓ", "ㅐ": "ㅐ", "ㅔ": "ㅔ", "ㅕ": "ㅕ"}
REGULAR_IN_REU = ("따르", "치르", "들르", "우러르", "잠그")  # 르 as any other 으: 따라, not *딸라
BRIGHT_IN_B = ("돕", "곱")  # 도와, 고와; all others 워


@dataclass(frozen=True, slots=True)
class Stem:
    """What is left of a verb or an adjective without 다, and how it changes.

    kind: empty where regular or told by the spelling; ㅂ ㄷ ㅅ ㅎ 르 러 우 for the irregular ones; 시 after the
    honorific; 었 after the past; 이 for the copula; 있 for 있다 and 없다.
    """

    text: str
    kind: str = ""
    action: bool = True  # a verb; False: an adjective, which has no 는다 and whose 은 is the present

    @property
    def past(self) -> "Stem":
        """The stem of the past: 갔, 먹었."""
        return Stem(attach(self, "았"), "었", action=False)

    @property
    def honorific(self) -> "Stem":
        """The stem with 시: 가시, 읽으시."""
        return Stem(attach(self, "으시"), "시", action=self.action)


def stem(word: str, kind: str = "", *, action: bool = True) -> Stem:
    """Return the stem of a dictionary form; 르 is told by the spelling."""
    text = word.removesuffix("다")
    if not kind and text.endswith("르") and not text.endswith(REGULAR_IN_REU):
        kind = "르"
    if not kind and text.endswith(("있", "없")):
        kind = "있"
    if not kind and text.endswith(("계시", "주무시", "드시", "돌아가시", "말씀하시", "편찮으시")):
        kind = "시"
    return Stem(text, kind, action)


@cache
def attach(verb: Stem, ending: str) -> str:
    """Return the form of a stem with an ending."""
    if verb.kind == "이":
        return _copula(verb, ending)
    if ending[0] in "아았":
        return _after_harmony(verb, ending)
    if ending[0] in "으은을읍":
        return _after_eu(verb, ending)
    return _after_consonant(verb, ending)


def plain(verb: Stem) -> str:
    """Return the written form of a statement: 간다, 먹는다, 크다, 갔다."""
    return attach(verb, "는다") if verb.action and verb.kind != "있" else attach(verb, "다")


def adnominal(verb: Stem, tense: str) -> str:
    """Return the form before a noun: past 먹은, present 먹는 or 큰, future 먹을; an adjective's past is 크던."""
    if tense == "future":
        return attach(verb, "을")
    if tense == "past":
        return attach(verb, "은") if verb.action and verb.kind != "있" else attach(verb.past, "던")
    return attach(verb, "는") if verb.action or verb.kind == "있" else attach(verb, "은")


def _after_harmony(verb: Stem, ending: str) -> str:
    text, rest = verb.text, ending[1:]
    past = "ㅆ" if ending[0] == "았" else ""

    def fused(whole: str) -> str:
        return (with_final(whole, past) if past else whole) + rest

    def apart(whole: str, *, bright: bool) -> str:
        return fused(whole + ("아" if bright else "어"))

    if verb.kind == "었":
        return fused(text + "어")
    if verb.kind == "시":
        return text[:-1] + "세요" if ending == "아요" else fused(with_vowel(text, "ㅕ"))
    if text.endswith("하"):
        return fused(text[:-1] + "해")
    if text == "아니":
        return {"아": "아니야", "아요": "아니에요", "아서": "아니어서"}.get(ending) or fused("아니어")
    if verb.kind == "ㅂ":
        return fused(with_final(text, "") + ("와" if text.endswith(BRIGHT_IN_B) else "워"))
    if verb.kind == "ㄷ":
        return apart(with_final(text, "ㄹ"), bright=vowel_of(text[-1]) in BRIGHT)
    if verb.kind == "ㅅ":
        return apart(with_final(text, ""), bright=vowel_of(text[-1]) in BRIGHT)
    if verb.kind == "ㅎ":
        return fused(with_vowel(text, "ㅒ" if vowel_of(text[-1]) in "ㅑㅕ" else "ㅐ"))
    if verb.kind == "르":
        return fused(with_final(text[:-1], "ㄹ") + ("라" if vowel_of(text[-2]) in BRIGHT else "러"))
    if verb.kind == "러":
        return fused(text + "러")
    if verb.kind == "우":
        return fused(with_vowel(text, "ㅓ"))
    vowel = vowel_of(text[-1])
    if final_of(text):
        return apart(text, bright=vowel in BRIGHT)
    if vowel == "ㅡ":
        bright = len(text) > 1 and vowel_of(text[-2]) in BRIGHT
        return fused(with_vowel(text, "ㅏ" if bright else "ㅓ"))
    return fused(with_vowel(text, FUSED[vowel])) if vowel in FUSED else apart(text, bright=False)


def _after_eu(verb: Stem, ending: str) -> str:
    text, final = verb.text, final_of(verb.text)
    if verb.kind == "ㅂ":
        text = with_final(text, "") + "우"
    elif verb.kind == "ㅎ":
        text = with_final(text, "")
    elif verb.kind == "ㄷ":
        return with_final(text, "ㄹ") + ending
    elif verb.kind == "ㅅ":
        return with_final(text, "") + ending
    elif final and final != "ㄹ":
        return text + ending
    final = final_of(text)
    taken, rest = final_of(ending[0]), ending[1:]
    if taken:  # 을 → ㄹ, 은 → ㄴ, 읍 → ㅂ
        return with_final(text, taken) + rest
    if final == "ㄹ" and rest[0] in "니네시세십신셨":
        return with_final(text, "") + rest
    return text + rest


def _after_consonant(verb: Stem, ending: str) -> str:
    text, final = verb.text, final_of(verb.text)
    soft = final in ("", "ㄹ")
    if ending.startswith("습니") and soft:
        return with_final(text, "ㅂ") + ending[1:]
    if ending.startswith("는다") and soft:
        return with_final(text, "ㄴ") + ending[1:]
    if final == "ㄹ" and ending[0] in "는니네냐":
        return with_final(text, "") + ending
    return text + ending


def _copula(verb: Stem, ending: str) -> str:
    """Return 이다 after a noun, whose 이 shrinks after a vowel: 의사예요, 학생이에요, 의사다, 의사였다."""
    noun = verb.text
    closed = bool(final_of(noun))
    special = {
        "아": ("이야", "야"), "아요": ("이에요", "예요"), "았": ("이었", "였"), "아서": ("이라서", "라서"),
        "다": ("이다", "다"), "니": ("이니", "니"), "고": ("이고", "고"), "지만": ("이지만", "지만"), "네": ("이네", "네"), "지": ("이지", "지"),
        "아도": ("이어도", "여도"), "으니까": ("이니까", "니까"), "으면": ("이면", "면"),
    }  # fmt: skip
    if ending in special:
        return noun + special[ending][not closed]
    return noun + attach(replace(verb, text="이", kind=""), ending)


def copula(noun: str) -> Stem:
    """Return the stem of "to be" after a noun."""
    return Stem(noun, "이", action=False)
