"""How much alike two samples of text are by their letters: whether they can be of one language.

texts → letters of their words, accents and jamo taken apart → trigrams → shares → overlap of the shares, 0 to 1

Texts of one language have much the same trigrams, whatever they speak of: measured on captions, news, verses, reviews and
everyday sentences in five languages, samples of one language reach 0.71 and more, of two languages 0.67 at most.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

ONE_LANGUAGE = 0.69  # likeness, if both samples have ENOUGH characters
ONE_SCRIPT = 0.3  # less than this is another script, however short the sample
ENOUGH, MOST = 1000, 20_000  # characters of a sample
WORDS = re.compile(r"[^\W_]+")
DIGITS = re.compile(r"\d")


def likeness(texts: Sequence[str], others: Sequence[str]) -> float:
    """Return how much texts are like others: 1.0 for what others are like among themselves, 0.0 for nothing in common.

    Short samples overlap less by chance alone, so the overlap is divided by that of others' own sample of the same size.
    """
    size = min(_characters(texts), _characters(others[::2]), MOST)
    reference = _trigrams(others[1::2] or others)
    usual = _overlap(_trigrams(_first(others[::2], size)), reference)
    return _overlap(_trigrams(_first(texts, size)), reference) / usual if usual else 1.0


def can_be_one_language(texts: Sequence[str], others: Sequence[str], *, scripts: bool = False) -> bool:
    """Return whether nothing speaks against one language; with scripts, and for short samples, only another script does."""
    enough = not scripts and min(_characters(texts), _characters(others) // 2) >= ENOUGH
    return likeness(texts, others) >= (ONE_LANGUAGE if enough else ONE_SCRIPT)


def _characters(texts: Sequence[str]) -> int:
    return sum(map(len, texts))


def _first(texts: Sequence[str], size: int) -> Iterator[str]:
    """Yield texts until they have so many characters."""
    for text in texts:
        if size <= 0:
            return
        yield text
        size -= len(text)


def _trigrams(texts: Sequence[str] | Iterator[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for text in texts:
        words = " ".join(WORDS.findall(DIGITS.sub("0", text.casefold())))
        line = unicodedata.normalize("NFD", f" {words} ")
        found.update(line[place : place + 3] for place in range(len(line) - 2))
    return found


def _overlap(one: Counter[str], other: Counter[str]) -> float:
    """Return the Bhattacharyya coefficient of two distributions."""
    total = math.sqrt(max(one.total(), 1) * max(other.total(), 1))
    return sum(math.sqrt(count * other[gram]) for gram, count in one.items() if gram in other) / total
