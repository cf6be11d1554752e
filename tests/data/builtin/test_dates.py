"""The dates set: one right answer a text, months that cannot be mistaken, splits that share no date."""

import datetime
import os
import re
import subprocess
import sys
import time
import unicodedata

import babel
import pytest
from babel.dates import format_date

from jumok.data.builtin.dates import DEFAULT_SIZES, FORMS, LANGUAGES, forms, pairs, write_date
from jumok.errors import DataError

SPLITS = ("train", "val", "test")
WRITINGS = [(language, form) for language in LANGUAGES for form in forms(language)]
# the languages whose months are numbers, and how the number is marked as a month
NUMBERED = {"ko": "{}월", "ja": "年{}月", "zh": "年{}月", "vi": "(?:tháng|thg) {},"}


@pytest.fixture(scope="module")
def splits():
    return {split: pairs(split) for split in SPLITS}


def bare(text):
    """The text as someone careless might type it: no capitals, punctuation or spaces of special widths."""
    kept = (" " if unicodedata.category(letter).startswith("P") else letter for letter in text.casefold())
    return " ".join(unicodedata.normalize("NFKC", "".join(kept)).split())


def test_the_promised_languages_are_there_under_their_names():
    assert len(LANGUAGES) >= 40
    for code in ("ko", "ar", "fa", "ur", "th", "hi", "ja", "zh", "ru", "el", "he", "vi", "tr", "fi", "hu", "eu"):
        assert code in LANGUAGES
    for code, name in LANGUAGES.items():
        assert babel.Locale.parse(code).english_name == name


def test_sizes_uniqueness_and_range(splits):
    for split, made in splits.items():
        assert len(made) == DEFAULT_SIZES[split]
        assert len({text for text, _ in made}) == len(made)
        for text, iso in made:
            day = datetime.date.fromisoformat(iso)
            assert 1900 <= day.year <= 2099
            assert re.search(rf"(?<!\d){day.year}(?!\d)", text), text


def test_splits_share_no_date_even_when_their_seeds_differ(splits):
    days = {split: {iso for _, iso in made + pairs(split, 3000, seed=7)} for split, made in splits.items()}
    assert not days["train"] & days["val"]
    assert not days["train"] & days["test"]
    assert not days["val"] & days["test"]


def test_train_covers_every_writing_month_and_decade(splits):
    unseen = set(WRITINGS)
    for text, iso in splits["train"][:2_500]:
        day = datetime.date.fromisoformat(iso)
        unseen -= {(language, form) for language, form in unseen if write_date(day, language, form) == text}
    assert not unseen
    assert len({iso[5:7] for _, iso in splits["train"]}) == 12
    assert len({iso[:3] for _, iso in splits["train"]}) == 20


@pytest.mark.parametrize("year", [1904, 2099])
def test_no_text_stands_for_two_dates_even_carelessly_typed(year):
    meaning = {}
    first = datetime.date(year, 1, 1)
    for count in range((datetime.date(year, 12, 31) - first).days + 1):
        day = first + datetime.timedelta(days=count)
        for language, form in WRITINGS:
            text = bare(write_date(day, language, form))
            assert meaning.setdefault(text, day) == day, f"{text} is {day} and {meaning[text]}"


@pytest.mark.parametrize(("language", "form"), WRITINGS)
def test_the_month_is_a_word_or_a_number_marked_as_month(language, form):
    mondays = [datetime.date(2026, month, 1) for month in range(1, 13)]
    mondays = [day + datetime.timedelta(days=-day.weekday() % 7) for day in mondays]
    texts = [write_date(day, language, form) for day in mondays]
    if language in NUMBERED:
        for day, text in zip(mondays, texts, strict=True):
            assert re.search(NUMBERED[language].format(day.month), text), text
    else:
        # all that is left to tell the twelve apart is the month's name
        assert len({re.sub(r"\d", "", text) for text in texts}) == 12


def test_medium_is_left_out_where_the_month_is_a_number():
    assert forms("en") == FORMS
    for language in ("de", "fi", "ar", "ja", "zh", "ko"):
        assert forms(language) == ("full", "long")


def test_known_writings():
    day = datetime.date(2026, 11, 15)
    assert write_date(day, "ko", "long") == "2026년 11월 15일"
    assert write_date(day, "ko", "full") == "2026년 11월 15일 일요일"
    assert write_date(day, "en", "medium") == "Nov 15, 2026"
    assert write_date(day, "fr", "full") == "dimanche 15 novembre 2026"
    assert write_date(day, "ar", "long") == "15 نوفمبر 2026"


def test_writing_is_babels_own():
    day = datetime.date(1987, 2, 3)
    for language, form in WRITINGS:
        assert write_date(day, language, form) == format_date(day, form, language)


def test_smaller_sets_seeds_and_speed():
    began = time.perf_counter()
    assert pairs("train", 500)[:70] == pairs("train", 70)
    assert pairs("val", 50, seed=1) != pairs("val", 50, seed=2)
    pairs("train")
    assert time.perf_counter() - began < 10  # about 1 s where it was written


def test_every_process_makes_the_same_pairs():
    program = "from jumok.data.builtin.dates import pairs; print(ascii(pairs('test', 20)))"
    for salt in ("0", "1"):
        answer = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": salt}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert answer.stdout.strip() == ascii(pairs("test", 20))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pairs("tset"), "no split 'tset'; did you mean 'test'?"),
        (lambda: pairs("train", -1), "cannot have -1 pairs"),
        (lambda: pairs("val", 10_000_000), "not 10,000,000; ask for fewer"),
        (lambda: write_date(datetime.date(2026, 1, 2), "fill", "long"), "did you mean 'fil'?"),
        (lambda: write_date(datetime.date(2026, 1, 2), "de", "medium"), "known: full, long (medium is left out"),
    ],
)
def test_a_wrong_request_is_explained(call, message):
    with pytest.raises(DataError) as error:
        call()
    assert message in str(error.value)
