"""The page of a drawing in a real browser: cells light up words and earlier cells, words their cells; it grows again."""

import re

import pytest
from lens.drawing_examples import GRID, WORDS, drawing
from lens.test_page import choose
from lens.test_texts import words_of

from jumok.lens.drawing_page import make_drawing_page

COLUMNS, CELLS, FIRST = GRID[1], GRID[0] * GRID[1], 7  # FIRST: the place of the first cell among the keys, in words


@pytest.fixture(scope="module")
def found():
    return drawing(guidance=3.0)


def looked_at(found, **which):
    """Return what cells looked at (cells, words and marks and cells)."""
    return found.in_words().looked_at(**which).weights


def weights(tab, where):
    """Return the weights by which places are lit; None where nothing is."""
    lit = tab.locator(where).evaluate_all("all => all.map((one) => one.dataset.weight ?? null)")
    return None if None in lit else [float(one) for one in lit]


def cells_of(tab):
    return weights(tab, "#patches .patch")


def words_lit(tab):
    return weights(tab, "#caption .word")


def word(tab, number):
    return tab.locator(f"#caption .word[data-place='{number}']")


def cell(tab, number):
    return tab.locator(f"#patches .patch[data-place='{number}']")


def close(values):
    return pytest.approx(values.tolist(), abs=1e-6)


def test_at_rest_the_drawing_is_plain_and_words_have_their_shares(visit, found):
    tab, mean = visit(found.page()), looked_at(found).mean(dim=0)
    assert tab.locator("#caption .letters").all_inner_texts() == WORDS
    assert cells_of(tab) is None
    notes = [float(one) for one in tab.locator("#caption small").all_text_contents()]
    assert notes == pytest.approx((100 * mean[:FIRST]).tolist(), abs=0.5)
    shares = tab.locator("#pointed [data-share]").evaluate_all("all => all.map((one) => Number(one.dataset.share))")
    words, marks, cells = found.shares()
    assert shares == pytest.approx([sum(words), cells, marks], abs=1e-6)
    assert "guidance 3" in tab.locator("#remark").inner_text()
    assert "guidance" not in visit(drawing().page()).locator("#remark").inner_text()
    assert "was given" in visit(drawing(given=True).page()).locator("#remark").inner_text()


def test_pointing_at_a_cell_lights_words_and_earlier_cells(visit, found):
    tab, whole = visit(found.page()), looked_at(found)
    for number in (1, 7, CELLS - 1):
        cell(tab, number).hover()
        assert words_lit(tab) == close(whole[number, :FIRST])
        lit = cells_of(tab)
        assert lit[:number] == close(whole[number, FIRST : FIRST + number])
        assert lit[number:] == [0.0] * (CELLS - number), "it cannot look ahead"
        later = tab.locator("#patches .later")
        assert later.count() == CELLS - 1 - number
        assert tab.locator("#pointed .pointed-name").inner_text() == f"row {number // 5 + 1}, column {number % 5 + 1}"
        told = tab.locator("#pointed .likely").inner_text()
        share = float(found.probabilities.flatten()[number])
        assert told == f"code {found.codes.flat[number]}, {100 * share:.1f} % likely"
    best = WORDS[1 + int(whole[CELLS - 1, 1:5].argmax())]
    assert tab.locator("#pointed .weights").first.locator("li").first.inner_text().split("\n")[0] == best
    assert tab.locator("#pointed .rivals li").count() == 4
    cell(tab, 0).hover()
    assert cells_of(tab) is None
    assert "No cell was drawn before" in tab.locator("#scale").inner_text()


def test_pointing_at_a_word_lights_the_cells_that_looked_at_it(visit, found):
    tab, whole = visit(found.page()), looked_at(found)
    for number in (0, 3, 4, 6):
        word(tab, number).hover()
        assert cells_of(tab) == close(whole[:, number])
        assert words_lit(tab) is None
        assert f"{100 * float(whole[:, number].max()):.1f} %" in tab.locator("#scale").inner_text()
    choose(tab, "among", "words")
    word(tab, 3).hover()
    assert cells_of(tab) == close(whole[:, 3] / whole[:, 1:5].sum(dim=1))
    choose(tab, "words", "false")
    word(tab, 4).hover()
    assert cells_of(tab) == close(found.looked_at().weights[:, 4] / found.looked_at().weights[:, 1:6].sum(dim=1))
    tab.mouse.move(5, 5)
    assert cells_of(tab) is None


def test_a_cell_also_tells_which_later_cells_looked_at_it(visit, found):
    tab, whole = visit(found.page()), looked_at(found)
    choose(tab, "cell", "key")
    cell(tab, 4).hover()
    assert cells_of(tab) == close(whole[:, FIRST + 4])
    cell(tab, 4).click()
    tab.mouse.move(5, 5)
    assert cell(tab, 4).get_attribute("aria-selected") == "true"
    cell(tab, CELLS - 1).hover()
    assert cells_of(tab) == close(whole[:, FIRST + 4]), "nothing comes after the last cell: the pin stays"


def test_layers_and_heads(visit, found):
    tab = visit(found.page())
    choose(tab, "layer", 2)
    choose(tab, "head", 1)
    cell(tab, 9).hover()
    assert words_lit(tab) == close(looked_at(found, layer=2, head=2)[9, :FIRST])
    assert tab.locator("#selection").inner_text().endswith("layer 2 · head 2 · 3 × 5 cells")
    tab.click("#tab-heads")
    assert tab.locator(".thumbnails button").count() == 6
    rows = [row.inner_text().split("\t") for row in tab.locator(".table tr").all()]
    assert rows[0] == ["layer", "head", "spread", "on words", "on earlier cells", "cells away"]
    shares = found.in_words().shares(layer=1, head=2)
    assert rows[2][3:5] == [f"{sum(shares.words):.2f}", f"{shares.cells:.2f}"]
    tab.click(".thumbnails [data-layer='1'][data-head='3']")
    word(tab, 2).hover()
    assert cells_of(tab) == close(looked_at(found, layer=1, head=3)[:, 2])


def test_the_drawing_grows_cell_by_cell(visit, found):
    tab, whole = visit(found.page(), reduced_motion="reduce"), looked_at(found)
    assert tab.locator("#patches .undrawn").count() == 0
    for number in range(3):
        tab.click("#play")
        tab.mouse.move(5, 5)
        assert tab.locator("#patches .undrawn").count() == CELLS - 1 - number
        assert tab.locator("#count").inner_text() == f"{number + 1} of {CELLS}"
        assert words_lit(tab) == close(whole[number, :FIRST]), "the newest cell tells what it looked at"
    tab.locator("#written").focus()
    tab.keyboard.press("ArrowRight")
    assert tab.locator("#count").inner_text() == f"4 of {CELLS}"
    tab.keyboard.press("End")
    assert tab.locator("#patches .undrawn").count() == 0


def test_the_film_plays_by_itself(visit, found):
    tab = visit(found.page())
    tab.click("#play")
    tab.wait_for_function("document.querySelectorAll('#patches .undrawn').length < 12")
    assert tab.locator("#play").inner_text() == "pause"
    tab.click("#play")
    left = tab.locator("#patches .undrawn").count()
    tab.wait_for_timeout(500)
    assert tab.locator("#patches .undrawn").count() == left


def test_keys_walk_over_cells_and_words(visit, found):
    tab, whole = visit(found.page()), looked_at(found)
    for key, place in (("ArrowDown", 0), ("ArrowDown", 5), ("ArrowRight", 6), ("End", 9), ("ArrowUp", 4)):
        tab.keyboard.press(key)
        assert tab.evaluate("document.activeElement.dataset.place") == str(place)
    assert words_lit(tab) == close(whole[4, :FIRST])
    assert tab.locator("#spoken").inner_text().startswith("row 1, column 5, probability")
    tab.keyboard.press("Enter")
    tab.locator("#theme").focus()
    assert words_lit(tab) == close(whole[4, :FIRST]), "it stays"
    word(tab, 2).focus()
    tab.keyboard.press("ArrowRight")
    assert cells_of(tab) == close(whole[:, 3])
    assert tab.locator("#spoken").inner_text().startswith("triangle. Is looked at by row")
    tab.keyboard.press("Enter")
    tab.locator("#theme").focus()
    assert cells_of(tab) == close(whole[:, 3])
    assert tab.locator("#patches [aria-selected=true]").count() == 0, "one pin at a time"


def test_numbers_stand_in_cells_on_request(visit, found):
    tab = visit(found.page())
    assert tab.locator(".in-cell").count() == 0
    choose(tab, "numbers", "code")
    assert tab.locator(".in-cell").all_inner_texts() == [str(code) for code in found.codes.flat]
    choose(tab, "numbers", "probability")
    shares = [round(100 * float(share)) for share in found.probabilities.flatten()]
    assert [int(text) for text in tab.locator(".in-cell").all_inner_texts()] == pytest.approx(shares, abs=1)


def test_every_word_has_its_own_image(visit, found):
    tab, whole = visit(found.page()), looked_at(found)
    panels = tab.locator("#panel-strip .word-panel")
    assert panels.all_inner_texts() == WORDS[1:5], "marks are no words"
    panels.nth(2).hover()
    assert cells_of(tab) == close(whole[:, 3])
    panels.nth(1).click()
    tab.mouse.move(5, 5)
    assert cells_of(tab) == close(whole[:, 2])
    assert panels.nth(1).get_attribute("aria-pressed") == "true"


def test_several_runs_on_one_page(visit, found):
    other = drawing(seed=2, layers=1, heads=2)
    tab = visit(make_drawing_page([found, other]))
    choose(tab, "layer", 2)
    choose(tab, "run", 1)
    cell(tab, 3).hover()
    assert words_lit(tab) == close(looked_at(other)[3, :FIRST])


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_scrolls_sideways(visit, found, lang, width):
    tab = visit(found.page(lang=lang), viewport={"width": width, "height": 800}, color_scheme="dark")
    cell(tab, 9).hover()
    for name in ("strip", "heads"):
        tab.click(f"#tab-{name}")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, name


def test_touch_pins_a_cell(visit, found):
    tab = visit(found.page(), viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    cell(tab, 8).tap()
    assert words_lit(tab) == close(looked_at(found)[8, :FIRST])
    word(tab, 2).tap()
    assert cells_of(tab) == close(looked_at(found)[:, 2])


def test_the_button_changes_every_word(visit, found):
    tab = visit(found.page(lang="en"))
    tab.click("#language")
    for name in ("strip", "heads"):
        tab.click(f"#tab-{name}")
        for place in (cell(tab, 4), word(tab, 2)):
            place.hover()
            ours = [text for text in words_of(tab) if not re.search(r"triangle|red", text)]
            left = [one for one in ours if re.search(r"[a-z]{3}", re.sub(r"jumok|nat|Enter|PNG|SVG|\[.*?\]", "", one))]
            assert not left, name


def test_every_control_has_a_name_and_figures_are_saved(visit, found):
    tab = visit(found.page(), reduced_motion="reduce")
    named = "button:visible, input:visible, [role=grid], [role=gridcell], [role=listbox]:visible, [role=option]:visible"
    for one in tab.locator(named).all():
        assert one.evaluate("(e) => e.getAttribute('aria-label') || e.textContent || e.labels?.[0]?.textContent")
    cell(tab, 9).click()
    for button, name in (("#image-png", "attention-drawing.png"), ("#save-svg", "attention-strip.svg")):
        with tab.expect_download() as download:
            tab.click(button)
        assert download.value.suggested_filename == name
