"""The page of a caption in a real browser: words light up the image, places the words, by mouse, by keys and aloud."""

import re

import pytest
import torch
from lens.caption_examples import caption, noisy_image
from lens.test_page import choose
from lens.test_texts import words_of

from jumok.lens.caption_page import make_caption_page
from jumok.predictors.caption_explanation import LOOKS_ALIKE

WORDS = ["a", "red", "triangle", "빨간", "[END]"]


@pytest.fixture(scope="module")
def attend():
    return caption()


@pytest.fixture(scope="module")
def transformer():
    return caption("cross", layers=2, heads=3, alternatives=2)


def cells_of(tab):
    """Return the weights by which the cells are lit; None where nothing is."""
    found = tab.locator("#patches .patch").evaluate_all("all => all.map((one) => one.dataset.weight ?? null)")
    return None if None in found else [float(one) for one in found]


def word(tab, number):
    return tab.locator(f"#caption .word[data-place='{number}']")


def cell(tab, number):
    return tab.locator(f"#patches .patch[data-place='{number}']")


def close(values):
    return pytest.approx(values.tolist(), abs=1e-6)


def in_words(found, *, layer=None, head=None):
    """Return the weights (words, cells) of an explanation, its end included."""
    whole = found.in_words()
    return whole.alignment(layer=layer, head=head).weights


def veil(tab):
    """Return the opacity of what lies over the image, (rows, columns) of its canvas."""
    size, data = tab.locator("#patches canvas").evaluate(
        """(canvas) => {
      const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
      const pen = copy.getContext("2d", { willReadFrequently: true });
      pen.drawImage(canvas, 0, 0);
      return [[canvas.height, canvas.width], [...pen.getImageData(0, 0, canvas.width, canvas.height).data]];
    }"""
    )
    return torch.tensor(data).view(*size, 4)[..., 3] / 255


def test_pointing_at_a_word_lights_the_places_it_looked_at(visit, attend):
    tab, weights = visit(attend.page(), reduced_motion="reduce"), in_words(attend)
    assert tab.locator("#caption .letters").all_inner_texts() == WORDS
    assert cells_of(tab) is None, "at rest the image is plain"
    for number in (0, 2, 3):
        word(tab, number).hover()
        assert cells_of(tab) == close(weights[number])
        best = weights[number].argsort(descending=True)[:4].tolist()
        rows = [row.inner_text().split("\n")[-2:] for row in tab.locator("#pointed .weights li").all()]
        assert rows == [[f"{n // 5 + 1}, {n % 5 + 1}", f"{100 * float(weights[number, n]):.1f} %"] for n in best]
        assert f"has {100 * float(weights[number].max()):.1f} %" in tab.locator("#scale").inner_text()
        clear = divmod(int(veil(tab).argmin()), veil(tab).shape[1])
        strongest = divmod(int(weights[number].argmax()), 5)
        near = abs(clear[0] / 8 - strongest[0] - 0.5) + abs(clear[1] / 8 - strongest[1] - 0.5)
        assert near < 1.6, "the veil is lifted where it looks most"
    tab.mouse.move(5, 5)
    assert cells_of(tab) is None


def test_pointing_at_a_place_lights_the_words_that_looked_there(visit, attend):
    tab, weights = visit(attend.page()), in_words(attend)
    for number in (0, 7, 14):
        cell(tab, number).hover()
        told = tab.locator("#caption .word").evaluate_all("all => all.map((one) => Number(one.dataset.weight))")
        assert told == close(weights[:, number])
        assert tab.locator("#pointed .pointed-name").inner_text() == f"row {number // 5 + 1}, column {number % 5 + 1}"
        best = WORDS[int(weights[:, number].argmax())]
        assert tab.locator("#pointed li").first.inner_text().split("\n")[0] == best
        assert (
            tab.locator("#spoken").inner_text().startswith(f"row {number // 5 + 1}, column {number % 5 + 1}. Is looked")
        )
    word(tab, 0).hover()
    assert tab.locator("#caption .word[data-weight]").count() == 0


def test_words_and_places_can_be_pinned_and_walked_over(visit, attend):
    tab, weights = visit(attend.page()), in_words(attend)
    for key, place in (("ArrowRight", 0), ("ArrowRight", 1), ("End", 4), ("ArrowLeft", 3), ("Home", 0)):
        tab.keyboard.press(key)
        assert tab.evaluate("document.activeElement.dataset.place") == str(place)
        assert cells_of(tab) == close(weights[place])
    tab.keyboard.press("Enter")
    tab.locator("#theme").focus()
    assert cells_of(tab) == close(weights[0]), "it stays"
    assert word(tab, 0).get_attribute("aria-selected") == "true"
    cell(tab, 6).click()
    tab.mouse.move(5, 5)
    assert cell(tab, 6).get_attribute("aria-selected") == "true"
    assert word(tab, 0).get_attribute("aria-selected") == "false", "one pin at a time"
    assert float(word(tab, 1).get_attribute("data-weight")) == pytest.approx(float(weights[1, 6]), abs=1e-6)
    cell(tab, 6).focus()
    for key, place in (("ArrowDown", 11), ("ArrowRight", 12), ("ArrowUp", 7)):
        tab.keyboard.press(key)
        assert tab.evaluate("document.activeElement.dataset.place") == str(place)
    tab.keyboard.press("Escape")
    tab.locator("#theme").focus()
    assert tab.locator("#patches [aria-selected=true]").count() == 0


def test_subwords_layers_and_heads(visit, transformer):
    tab, maps = visit(transformer.page()), transformer.record.of_kind("cross")
    word(tab, 2).hover()
    assert cells_of(tab) == close(in_words(transformer)[2])
    choose(tab, "words", "false")
    assert tab.locator("#caption .letters").all_inner_texts() == ["a", "red", "tri", "angle", "빨간", "[END]"]
    choose(tab, "layer", 2)
    choose(tab, "head", 1)
    word(tab, 3).hover()
    assert cells_of(tab) == close(maps[1].weights[1, 3])
    assert tab.locator("#selection").inner_text() == "caption → image · layer 2 · head 2 · 3 × 5 cells"
    tab.click("#tab-heads")
    assert tab.locator(".thumbnails button").count() == 6
    head = [row.inner_text().split("\t") for row in tab.locator(".table tr").all()]
    assert head[0] == ["layer", "head", "spread", "words apart"]
    tab.click(".thumbnails [data-layer='1'][data-head='3']")
    word(tab, 0).hover()
    assert cells_of(tab) == close(maps[0].weights[2, 0])


def test_words_that_look_back_at_words(visit, transformer):
    tab = visit(transformer.page())
    choose(tab, "kind", "decoder")
    assert tab.locator("#caption").is_hidden()
    back = tab.locator("#sentence [data-side=query] .word[data-place='1']")
    back.hover()
    lit = tab.locator("#sentence [data-side=key] .word").evaluate_all(
        "all => all.map((one) => Number(one.dataset.weight))"
    )
    assert lit[:2] == pytest.approx([0.5, 0.5])
    assert cells_of(tab) is None or not cells_of(tab), "the image is only looked at"
    assert "These weights look at words" in tab.locator("#panel-strip").inner_text()
    choose(tab, "kind", "cross")
    assert tab.locator("#panel-strip .word-panel").count() == 4


def test_every_word_has_its_own_image(visit, attend):
    tab, weights = visit(attend.page()), in_words(attend)
    panels = tab.locator("#panel-strip .word-panel")
    assert panels.all_inner_texts() == WORDS[:-1], "the end is no word"
    panels.nth(3).hover()
    assert cells_of(tab) == close(weights[3])
    panels.nth(1).click()
    tab.mouse.move(5, 5)
    assert cells_of(tab) == close(weights[1])
    assert panels.nth(1).get_attribute("aria-pressed") == "true"


def test_rivals_and_the_searchs_other_captions(visit, transformer):
    tab = visit(transformer.page())
    word(tab, 0).hover()
    rows = [row.inner_text().split("\n") for row in tab.locator("#pointed .rivals li").all()]
    assert rows[0][-1] == "50.0 %"
    assert [row[-1] for row in rows[1:]] == ["20.0 %", "10.0 %"]
    tab.click("#tab-answers")
    listed = tab.locator(".captions button")
    assert [one.split("\n")[0] for one in listed.all_inner_texts()] == [
        "a red triangle 빨간",
        "a blue triangle",
        "a cross",
    ]
    listed.nth(1).click()
    assert tab.locator("#answer").text_content() == "a blue triangle"
    word(tab, 1).hover()
    other = transformer.alternatives[0]
    assert cells_of(tab) == pytest.approx(in_words(other)[1].tolist(), abs=1e-4)
    assert listed.nth(1).get_attribute("aria-pressed") == "true"
    listed.nth(0).click()
    word(tab, 1).hover()
    assert cells_of(tab) == close(in_words(transformer)[1])


def test_the_caption_is_written_word_by_word(visit, attend):
    tab, weights = visit(attend.page(), reduced_motion="reduce"), in_words(attend)
    for number in range(3):
        tab.click("#play")
        tab.mouse.move(5, 5)
        assert cells_of(tab) == close(weights[number])
        assert tab.locator("#caption .unwritten").count() == 4 - number
        assert tab.locator("#count").inner_text() == f"{number + 1} of 5"
    tab.locator("#written").fill("5")
    assert tab.locator("#caption .unwritten").count() == 0


def test_cells_or_smooth_light_or_heat(visit, attend):
    tab, weights = visit(attend.page(), reduced_motion="reduce"), in_words(attend)
    choose(tab, "drawn", "cells")
    word(tab, 1).hover()
    covers = tab.locator("#patches .cells .patch").evaluate_all(
        "all => all.map((one) => getComputedStyle(one).backgroundColor)"
    )
    opacity = [float(re.findall(r"[\d.]+", cover)[3]) if cover.startswith("rgba") else 1.0 for cover in covers]
    assert opacity == pytest.approx((0.86 * (1 - weights[1] / weights[1].max())).tolist(), abs=6e-3)
    dark = visit(caption(pixels=noisy_image(20)).page(), reduced_motion="reduce")
    assert dark.locator("input[name=overlay][value=heat]").is_checked(), "a veil over black shows nothing"
    word(dark, 1).hover()
    assert float(veil(dark).max()) == pytest.approx(0.82, abs=0.02)


def test_several_captioners_on_one_image(visit, attend, transformer):
    tell = caption(maps=False)
    tab = visit(make_caption_page([transformer.view("trans"), attend.view("attend"), tell.view("tell")]))
    cards = tab.locator(".card")
    assert cards.count() == 3
    assert cards.nth(2).locator(".note").inner_text() == "This model has no attention to show."
    cards.nth(1).locator(".word").nth(3).hover()
    lit = cards.nth(1).locator(".patch").evaluate_all("all => all.map((one) => Number(one.dataset.weight))")
    assert lit == close(in_words(attend)[3])
    choose(tab, "run", 1)
    word(tab, 0).hover()
    assert cells_of(tab) == close(in_words(attend)[0])
    choose(tab, "run", 2)
    assert tab.locator("#note").inner_text() == "This model has no attention to show."
    word(tab, 1).hover()
    assert tab.locator("#pointed .pointed-name").inner_text() == "red"
    assert cells_of(tab) in (None, [])


def test_a_warning_stands_above_words_that_look_alike(visit, attend):
    assert visit(caption(constant=True).page()).locator("#warning").inner_text() == LOOKS_ALIKE
    assert visit(attend.page()).locator("#warning").is_hidden()


@pytest.mark.parametrize("tabs", [("strip", "heads", "answers")])
def test_the_button_changes_every_word(visit, transformer, tabs):
    tab = visit(transformer.page(lang="en"))
    tab.click("#language")
    for name in tabs:
        tab.click(f"#tab-{name}")
        cell(tab, 4).hover()
        ours = [text for text in words_of(tab) if not re.search(r"triangle|cross|red|shapes", text)]
        left = [text for text in ours if re.search(r"[a-z]{3}", re.sub(r"jumok|nat|Enter|PNG|SVG|\[.*?\]", "", text))]
        assert not left, name


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("lang", ["en", "ko"])
def test_nothing_scrolls_sideways(visit, transformer, attend, lang, width):
    views = [transformer.view("a"), attend.view("b")]
    tab = visit(make_caption_page(views, lang=lang), viewport={"width": width, "height": 800})
    for name in ("compare", "strip", "heads", "answers"):
        tab.click(f"#tab-{name}")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, name


def test_every_control_has_a_name(visit, transformer):
    tab = visit(transformer.page())
    named = "button:visible, input:visible, [role=grid], [role=gridcell], [role=listbox]:visible, [role=option]:visible"
    for one in tab.locator(named).all():
        assert one.evaluate("(e) => e.getAttribute('aria-label') || e.textContent || e.labels?.[0]?.textContent")
    assert tab.locator("#patches [role=grid]").get_attribute("aria-label")


def test_figures_are_saved(visit, transformer):
    tab = visit(transformer.page(), reduced_motion="reduce")
    word(tab, 1).click()
    for button, name in (("#image-png", "attention-image.png"), ("#save-svg", "attention-strip.svg")):
        with tab.expect_download() as download:
            tab.click(button)
        assert download.value.suggested_filename == name
