"""Finished sentences found among templates: the right one, with its values in their places, whatever they hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.texts import LANGUAGES, localized, phrasebook
from jumok.texts.templates import Phrasebook, Template

BOOK = Phrasebook(
    {
        "there is no {0} '{1}'; {2}": "'{1}'(이)라는 {0:word}은(는) 없습니다. {2}",
        "there is no {0}": "{0} 없음",
        "did you mean '{0}'?": "혹시 '{0}'인가요?",
        "model": "모델",
        "{0} of {1}": "{1} 중 {0}",
        "empty lines": "빈 줄",
        "the file {0} is empty": "{0}: 비어 있습니다.",
        "hypotheses kept": "유지할 가설 수",
        "changed:\n  {0}\nPut it back.": "바뀌었습니다:\n  {0}\n되돌리세요.",
        "{0} is missing": "{0}: 없습니다.",
    }
)


def test_the_template_with_most_letters_of_its_own_wins():
    assert (
        BOOK.render("there is no model 'gtp'; did you mean 'gpt'?")
        == "'gtp'(이)라는 모델은(는) 없습니다. 혹시 'gpt'인가요?"
    )
    assert BOOK.render("there is no hope") == "hope 없음"


def test_names_stay_even_where_a_catalogue_has_the_word():
    assert BOOK.render("the file model is empty") == "model: 비어 있습니다."
    assert BOOK.render("there is no x 'empty lines'; y") == "'empty lines'(이)라는 x은(는) 없습니다. y"


def test_a_template_of_few_letters_is_for_names_and_numbers():
    assert BOOK.render("3 of 7") == "7 중 3"
    assert BOOK.render("draw at random instead of searching") == "draw at random instead of searching"


def test_texts_that_were_put_together_are_translated_part_by_part():
    assert BOOK.render("a.x is missing\nb.y is missing") == "a.x: 없습니다.\nb.y: 없습니다."
    assert BOOK.render("recipe.toml: the file a b is empty") == "recipe.toml: a b: 비어 있습니다."
    assert BOOK.render("12 empty lines, 3 of 7") == "빈 줄 12, 7 중 3"


def test_a_value_holds_several_lines_only_where_it_stands_alone():
    assert BOOK.render("changed:\n  a: 1\n  b: 2\nPut it back.") == "바뀌었습니다:\n  a: 1\n  b: 2\n되돌리세요."
    assert Template("{0} is missing", "").match("a\nb is missing") is None


def test_an_entry_that_was_made_a_sentence_is_known():
    assert BOOK.render("Hypotheses kept.") == "유지할 가설 수."


def test_blanks_around_a_text_stay():
    assert BOOK.render("  there is no hope\n") == "  hope 없음\n"


@given(st.lists(st.text(alphabet="ab ;:.'\n{}0", max_size=7), min_size=3, max_size=3))
def test_a_template_finds_its_own_texts(values):
    """Filled with anything on one line, a template matches, and its values put together give the text again."""
    first, second, third = (value.replace("\n", " ") for value in values)
    text = f"there is no {first} '{second}'; {third}"
    found = Template("there is no {0} '{1}'; {2}", "").match(text)
    assert found is not None
    assert f"there is no {found['0']} '{found['1']}'; {found['2']}" == text


@given(st.text())
def test_any_text_passes(text):
    assert isinstance(localized(text, "ko"), str)
    assert localized(text, "en") == text


@given(st.data())
def test_any_message_with_any_values_passes(data):
    """Entries with hostile values: no exception, and nothing of a value is lost that the translation shows."""
    english = data.draw(st.sampled_from(sorted(phrasebook("ko").texts)))
    value = data.draw(st.text(alphabet="ab {}0:word;.'\n\\", max_size=9))
    assert isinstance(localized(english.replace("{0}", value).replace("{1}", value), "ko"), str)


@pytest.mark.parametrize("spoken", LANGUAGES)
def test_what_is_translated_already_stays(spoken):
    for shown in ("jumok list로 볼 수 있습니다.", "학습 결과 폴더.", "2026년 11월 15일"):
        assert localized(shown, spoken) == shown
