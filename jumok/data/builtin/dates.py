"""The built-in set `dates`: dates written out in 50 languages → ISO 8601, made by Babel from Unicode's CLDR data.

day, language, form → "2026년 11월 15일" | "15 novembre 2026" | "Nov 15, 2026" | … → "2026-11-15"

Only writings whose month cannot be mistaken are used (`forms`), so that a text has one right answer. Babel writes
every language with the digits 0-9. Babel's version is pinned: another release may spell some of the names anew.
"""

import datetime
import random
import re
from functools import cache

from babel import Locale
from babel.dates import format_date, get_date_format

from jumok.config import Split
from jumok.data.builtin.toys import checked_size, draw, split_of
from jumok.errors import DataError, did_you_mean

FIRST, LAST = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)
FORMS = ("full", "long", "medium")
DEFAULT_SIZES: dict[Split, int] = {"train": 40_000, "val": 1_000, "test": 2_000}

# Languages whose months and weekdays CLDR names completely, chosen for many speakers and for variety: fifteen scripts,
# the year first, last or in the middle, months declined, joined to prefixes and suffixes, numbered.
# Left out: Croatian, whose "1. listopada" is in October while Polish "1 listopada" is in November, so that only dots
# would tell them apart; and languages that would mostly repeat a neighbour's texts, as Malay does Indonesian's.
LANGUAGES: dict[str, str] = {
    "af": "Afrikaans", "am": "Amharic", "ar": "Arabic", "bg": "Bulgarian", "bn": "Bangla", "ca": "Catalan",
    "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish",
    "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fil": "Filipino", "fr": "French",
    "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "is": "Icelandic",
    "it": "Italian", "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh", "ko": "Korean", "lt": "Lithuanian",
    "lv": "Latvian", "mr": "Marathi", "nb": "Norwegian Bokmål", "nl": "Dutch", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sr": "Serbian", "sv": "Swedish", "sw": "Swahili",
    "ta": "Tamil", "te": "Telugu", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu",
    "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


def pairs(split: Split, size: int = 0, seed: int = 1) -> list[tuple[str, str]]:
    """Return size different pairs (text, ISO date) of a split; 0 stands for the split's default size.

    Every language has the same share, whatever the number of its forms. Which split a date belongs to follows from
    the date alone, so splits share no date even when their seeds differ.
    """
    size = checked_size("dates", split, size=size, defaults=DEFAULT_SIZES)
    days, languages = _days_of(split), list(LANGUAGES)
    # at least one text a day and language is nobody else's; half of them, or drawing slows down as they run out
    most = len(days) * len(languages) // 2
    if size > most:
        raise DataError(f"the {split} split of 'dates' has room for {most:,} pairs, not {size:,}; ask for fewer")
    generator = random.Random(f"dates {split} {seed}")
    found: dict[str, str] = {}
    while len(found) < size:
        day = days[draw(generator, len(days))]
        language = languages[draw(generator, len(languages))]
        choices = forms(language)
        text = write_date(day, language, choices[draw(generator, len(choices))])
        found[text] = day.isoformat()
    return list(found.items())


def write_date(day: datetime.date, language: str, form: str) -> str:
    """Return the day as the language writes it; form is one of those that forms(language) has."""
    choices = forms(language)
    if form not in choices:
        raise DataError(
            f"{LANGUAGES[language]} dates are not written in the form '{form}' here; known: {', '.join(choices)} "
            "(medium is left out where it writes the month as a mere number)"
        )
    return format_date(day, form, _locale(language))


@cache
def forms(language: str) -> tuple[str, ...]:
    """Return the forms in which the language's month cannot be taken for a day: full, long and perhaps medium."""
    if language not in LANGUAGES:
        raise DataError(f"there are no dates in the language '{language}'; {did_you_mean(language, LANGUAGES)}")
    patterns = {form: get_date_format(form, _locale(language)).pattern for form in FORMS}  # type: ignore[arg-type]
    return tuple(form for form, pattern in patterns.items() if _month_is_clear(form, pattern))


def _month_is_clear(form: str, pattern: str) -> bool:
    # CLDR writes a month of one or two letters M as a number, of three or more as a word (Korean "11월" and
    # Vietnamese "tháng 11" are such words). The longer forms of Chinese and Japanese have a number with the
    # character for month right behind it, between those for year and day, which is as clear as a word.
    return "MMM" in pattern or (form != "medium" and re.search("M月", pattern) is not None)


@cache
def _locale(language: str) -> Locale:
    return Locale.parse(language)


@cache
def _days_of(split: Split) -> tuple[datetime.date, ...]:
    every = (FIRST + datetime.timedelta(days=count) for count in range((LAST - FIRST).days + 1))
    return tuple(day for day in every if split_of(day.isoformat()) == split)
