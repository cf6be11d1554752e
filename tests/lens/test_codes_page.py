"""Codes of images shown: colours that tell codes apart, the PNG, and the page in a real browser."""

import numpy as np
import pytest
from lens.test_html import read
from PIL import Image

from jumok.lens.code_map import code_colours, code_map, digits_of
from jumok.lens.codes_figure import save_codes
from jumok.lens.codes_page import make_codes_page
from jumok.lens.codes_view import CodesView

CODES = np.array([[7, 7, 3], [59, 0, 7]])
LEVELS = (5, 4, 3)


def view(name="a run", source="a.png", codes=CODES, levels=LEVELS, seed=1):
    pixels = np.random.default_rng(seed).integers(0, 256, (12, 12, 3), dtype=np.uint8)
    return CodesView(name, pixels, 255 - pixels, codes, 21.5, 0.75, 60, levels, source)


def test_digits_make_the_code():
    codes = np.arange(60)
    digits = digits_of(codes, LEVELS)
    assert np.array_equal((digits * [1, 5, 20]).sum(axis=1), codes)
    assert digits.max(axis=0).tolist() == [4, 3, 2]


@pytest.mark.parametrize("levels", [LEVELS, (7,), (5, 4), (3, 3, 3, 3), ()])
def test_codes_have_colours_of_their_own(levels):
    count = int(np.prod(levels)) if levels else 61
    colours = code_colours(np.arange(count), levels)
    assert colours.shape == (count, 3)
    if len(levels) <= 3:
        assert len(np.unique(colours, axis=0)) == count
    assert np.array_equal(code_colours(np.array([[3, 3]]), levels)[0], colours[[3, 3]]), "whoever stands beside it"


def test_the_map_has_a_square_for_each_code():
    found = code_map(np.arange(4).reshape(2, 2), (4,), 6)
    assert found.shape == (6, 6, 3)
    assert np.array_equal(found[:3, 3:], np.broadcast_to(code_colours(np.array(1), (4,)), (3, 3, 3)))


def test_a_png_has_a_row_for_each_image(tmp_path):
    save_codes([view(), view(codes=np.zeros((20, 20), int), levels=())], tmp_path / "codes.png")
    with Image.open(tmp_path / "codes.png") as drawn:
        wide, high = drawn.size
    assert wide > high > 600


def test_the_page_holds_what_it_shows():
    data = read(make_codes_page([view(), view(source="b.png", seed=2)]))[0]
    first = data["views"][0]
    assert first["codes"] == CODES.ravel().tolist()
    assert (first["rows"], first["columns"], first["levels"], first["count"]) == (2, 3, [5, 4, 3], 60)
    assert len(set(first["colours"])) == 4
    assert not data["several"]
    assert read(make_codes_page([view(), view("other")]))[0]["several"]


def lit(tab, name):
    """Return the places of the first image's cells that have a class."""
    return (
        tab.locator("#images figure")
        .first.locator(f".patch.{name}")
        .evaluate_all("all => all.map((one) => Number(one.dataset.place))")
    )


def test_pointing_at_a_code_shows_where_else_it_is(visit):
    tab = visit(make_codes_page([view(), view(source="b.png", codes=np.full((2, 3), 7))]))
    assert tab.locator("#reference").inner_text() == "PSNR 21.5 dB · SSIM 0.750 · 4 of 60 codes"
    assert "Point at a cell" in tab.locator("#pointed").inner_text()
    tab.locator("#images figure").nth(2).locator(".patch[data-place='1']").hover()
    assert (lit(tab, "pointed"), lit(tab, "same"), lit(tab, "other")) == ([1], [0, 5], [2, 3, 4])
    told = tab.locator("#pointed").inner_text()
    for part in ("code 7", "row 1, column 2", "in this image: 3 of 6 cells, 50.0 %", "in 2 of the 2 images here"):
        assert part in told
    assert tab.locator(".code-digit").all_inner_texts()[0].split("\n")[-1] == "2 of 0–4"  # 7 = 2 + 1 · 5
    tab.mouse.move(2, 2)
    assert lit(tab, "pointed") == []
    tab.locator("#controls input").nth(1).check(force=True)
    assert "b.png" in tab.locator("#source").inner_text()
    tab.locator("#images .patch").first.hover()
    assert lit(tab, "same") == [1, 2, 3, 4, 5]


def test_keys_walk_over_the_codes_and_pin_one(visit):
    tab = visit(make_codes_page([view()]))
    tab.locator("#images .patch").first.focus()
    for key, place in (
        ("ArrowRight", 1),
        ("ArrowDown", 4),
        ("ArrowDown", 4),
        ("Home", 3),
        ("ArrowLeft", 3),
        ("End", 5),
    ):
        tab.keyboard.press(key)
        assert lit(tab, "pointed") == [place]
    tab.keyboard.press("Enter")
    assert lit(tab, "pinned") == [5]
    assert "code 7" in tab.locator("#spoken").inner_text()
    tab.keyboard.press("Escape")
    tab.mouse.click(5, 5)
    assert lit(tab, "pinned") == []


def test_the_page_speaks_korean(visit):
    tab = visit(make_codes_page([view()], lang="ko"))
    assert tab.locator("#answer").inner_text() == "코드 2 × 3"
    assert tab.locator("figcaption").all_inner_texts()[1] == "코드가 말하는 이미지"
