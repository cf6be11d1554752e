"""What pages say: every text has its Korean and every Korean its text, and a page changes its language at once."""

import re

import pytest
from cli.conftest import copy_run  # noqa: F401 - a fixture
from lens.test_html import read

import jumok
from jumok.errors import ConfigError
from jumok.lens import (
    caption_page,
    codes_page,
    drawing_page,
    drawn_page,
    film_page,
    forecast_look,
    forecast_page,
    html,
    image_page,
    view,
)
from jumok.models.cnn import CNN
from jumok.models.mixer import Mixer
from jumok.models.recurrent_classifier import RecurrentClassifier
from jumok.predictors.caption_explanation import LOOKS_ALIKE
from jumok.predictors.text_classifier import NO_ATTENTION
from jumok.texts import LANGUAGES, catalogue

# What Python puts into pages, beside the texts of their own files.
SIDES = (
    "source",
    "output",
    "output so far",
    "reference",
    "queries",
    "keys",
    "patches",
    "text",
    "caption",
    "caption so far",
    "image",
    "forecast",
    "past",
    "variables",
    "stretches",
    "words",
    "cells",
    "words and earlier cells",
    "cells that look at them",
)
FROM_PYTHON = {
    *SIDES,
    "a record of attention",  # lens/view_of_record.py
    html.FOOTER,
    image_page.FOOTER,
    caption_page.FOOTER,
    codes_page.FOOTER,
    drawing_page.FOOTER,
    "drawing",  # a run without a name
    drawn_page.FOOTER,
    forecast_page.FOOTER,
    forecast_look.STEPS_ALIKE,
    LOOKS_ALIKE,
    *film_page.FOOTERS.values(),
    film_page.SCORES["loss"],
    film_page.SCORES["accuracy"],
    view.NOTHING_TO_SHOW,
    CNN.why_no_attention,
    Mixer.why_no_attention,
    RecurrentClassifier.why_no_attention,
    NO_ATTENTION,
}
PLACEHOLDER = re.compile(r"\{\w+\}")
OTHERS = [spoken for spoken in LANGUAGES if spoken != "en"]


def said():
    """Return every text that a file of the pages says."""
    return {text for path in html.PAGE_FILES.iterdir() for text in html.SAID.findall(path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("spoken", OTHERS)
def test_every_text_has_a_translation_and_every_translation_a_text(spoken):
    known = catalogue(spoken, "page")
    assert not (said() | FROM_PYTHON) - set(known), "without a translation"
    assert not set(known) - said() - FROM_PYTHON, "translations of what no page says"
    for english, translated in known.items():
        assert set(PLACEHOLDER.findall(english)) == set(PLACEHOLDER.findall(translated)), english


def test_no_file_says_what_the_tests_cannot_find():
    """A text is one literal: say("…"), never a sum or a variable; and no English stands outside of say."""
    for path in html.PAGE_FILES.glob("*.js"):
        source = path.read_text(encoding="utf-8")
        if path.name != "texts.js":
            assert len(re.findall(r"\bsay\(", source)) == len(html.SAID.findall(source)), path.name
        assert not re.findall(r"""text: (?:"|`)[A-Za-z]{2}""", source), path.name
        assert not re.findall(r"""(?:title|"aria-label"): (?:"|`)[A-Za-z]{2}""", source), path.name


@pytest.fixture(scope="module")
def explanation(copy_run):  # noqa: F811
    return jumok.load(copy_run).explain("k c a z", details=True)


def test_a_page_has_the_texts_it_needs_and_no_others(explanation):
    korean = read(explanation.page())[0]["texts"]["ko"]
    assert korean["written so far"] == "지금까지 쓴 말"
    assert korean["output so far"] == "지금까지의 출력"
    assert "step of training" not in korean, "of films alone"
    assert html.FOOTER in korean
    assert film_page.FOOTERS["translation"] not in korean


def test_a_page_opens_in_the_language_of_its_maker(explanation, monkeypatch):
    monkeypatch.setenv("JUMOK_LANG", "ko")
    assert '<html lang="ko">' in explanation.page().html
    assert '<html lang="en">' in explanation.page(lang="en").html
    with pytest.raises(ConfigError, match="lang = 'fr': a page speaks en or ko"):
        explanation.page(lang="fr")


def words_of(tab):
    """Return all that can be read or heard of a page, the model's own tokens left out."""
    return tab.evaluate(
        """() => [...document.querySelectorAll("body *")].flatMap((one) => {
      if (one.closest("script, noscript, .words, .pointed-name, .bars, canvas, #language, h1, #source")) return [];
      const own = [...one.childNodes].filter((node) => node.nodeType === 3).map((node) => node.textContent);
      return [...own, one.getAttribute("aria-label"), one.title, one.getAttribute("aria-description")];
    }).filter((text) => text && text.trim())"""
    )


def test_the_button_changes_every_word_at_once_and_is_remembered(visit, explanation):
    tab = visit(explanation.page(lang="en"))
    assert tab.locator("#tab-steps").inner_text() == "Step by step"
    tab.click("#language")
    assert tab.evaluate("document.documentElement.lang") == "ko"
    for name in ("lines", "map", "heads", "steps", "positions", "answers"):
        tab.click(f"#tab-{name}")
        english = [
            text
            for text in words_of(tab)
            if re.search(r"[a-z]{3}", re.sub(r"jumok|relu|nat|Enter|PNG|SVG|embed_\w+\.positions|\[.*?\]", "", text))
        ]
        assert not english, name
    assert tab.locator("#tab-steps").inner_text() == "단계별 계산"
    tab.reload()
    tab.wait_for_selector("html[data-ready]")
    assert tab.evaluate("document.documentElement.lang") == "ko", "remembered"
    tab.click("#language")
    assert tab.locator("#tab-steps").inner_text() == "Step by step"


def test_a_page_that_may_keep_nothing_changes_all_the_same(visit, explanation):
    tab = visit(explanation.page(lang="ko"))
    tab.evaluate("Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })")
    tab.click("#language")
    assert tab.locator("#tab-map").inner_text() == "Map"


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("lang", sorted(LANGUAGES))
def test_no_button_breaks_and_nothing_scrolls_sideways(visit, explanation, lang, width):
    tab = visit(explanation.page(lang=lang), viewport={"width": width, "height": 800})
    for name in ("lines", "map", "heads", "steps", "positions", "answers"):
        tab.click(f"#tab-{name}")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, name
        tall = tab.evaluate(
            """() => [...document.querySelectorAll("button:not(.thumbnail), .strip span")]
            .filter((one) => one.offsetParent && one.getBoundingClientRect().height > 48).map((one) => one.textContent)"""
        )
        assert not tall, "a label of more than one line"
