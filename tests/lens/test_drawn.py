"""Drawings shown: blocks for a terminal, a sheet, and the page in a real browser."""

import numpy as np
from rich.cells import cell_len

from jumok.lens.contact_sheet import contact_sheet, in_square
from jumok.lens.drawing_blocks import ImageBlocks
from jumok.lens.drawn_page import DrawnView, make_drawn_page

SIDE = 14


def image(seed: int, *, rows: int = SIDE, channels: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (rows, SIDE, channels), dtype=np.uint8)


def test_blocks_hold_every_pixel_of_images_in_grey_and_in_colour():
    grey, colour = image(1, channels=1), image(2)
    text = ImageBlocks([grey, colour], ["one", "two"]).fitted(80)
    assert text.plain.splitlines()[: SIDE // 2] == ["▀" * SIDE + "  " + "▀" * SIDE] * (SIDE // 2)
    seen = [
        (span.style.color.triplet, span.style.bgcolor.triplet) for span in text.spans if hasattr(span.style, "bgcolor")
    ]
    first = [
        (tuple(above), tuple(below)) for above, below in zip(grey[0].repeat(3, 1), grey[1].repeat(3, 1), strict=True)
    ]
    second = [(tuple(above), tuple(below)) for above, below in zip(colour[0], colour[1], strict=True)]
    assert seen[: 2 * SIDE] == first + second


def test_what_is_not_drawn_yet_is_blank():
    lines = ImageBlocks([image(1, rows=6), image(2, rows=7), image(3, rows=0)], [""] * 3).fitted(80).plain.split("\n")
    assert [line.count("▀") for line in lines[: SIDE // 2]] == [2 * SIDE] * 3 + [SIDE] + [0] * 3
    assert {len(line) for line in lines[: SIDE // 2]} == {3 * SIDE + 4}, "they keep their places"


def test_labels_stay_under_their_images():
    labels = ["시드 1\n큰 빨간 원이 왼쪽 위에 있습니다", "a-word-that-is-longer-than-its-image and more", ""]
    lines = ImageBlocks([image(number) for number in range(3)], labels).fitted(47).plain.split("\n")[SIDE // 2 :]
    assert all(cell_len(line) <= 47 for line in lines)
    assert lines[0].startswith("시드 1")
    assert cell_len(lines[0][: lines[0].index("a-word")]) == SIDE + 2
    assert "…" in lines[0]


def test_a_sheet_is_nearly_square_and_repeats_pixels():
    images = [image(number) for number in range(7)]
    rows = in_square(images)
    assert [len(row) for row in rows] == [3, 3, 1]
    sheet = np.asarray(contact_sheet(rows))
    assert sheet.shape == (14 * (2 + 3 * 16), 14 * (2 + 3 * 16), 3), "192 / 14 is about 14"
    assert np.array_equal(sheet[2 * 14 : 16 * 14 : 14, 18 * 14 : 32 * 14 : 14], images[1])
    assert (sheet[-14 * 10 :, -14 * 10 :] == 255).all(), "where there is no drawing there is paper"


def test_the_page_shows_sharp_images_with_words(visit):
    views = [
        DrawnView(text, image(number), number, "읽은 글 <b>") for number, text in enumerate(["a < b", "a < b", "c"])
    ]
    page = make_drawn_page(views, run="runs/x", options={"guidance": 3.0}, given_rows=2, lang="en")
    tab = visit(page, viewport={"width": 390, "height": 800})
    assert tab.locator("h1").inner_text() == "drawings of 2 texts"
    assert tab.locator("#options").inner_text() == "guidance 3 · the first 2 rows of codes are given"
    assert tab.locator(".gallery h2").all_inner_texts() == ["a < b", "c"]
    images = tab.locator(".drawings img")
    assert [one.get_attribute("alt") for one in images.all()] == [
        "drawing 1 of: a < b", "drawing 2 of: a < b", "drawing 1 of: c"
    ]  # fmt: skip
    assert images.first.evaluate("one => [one.naturalWidth, getComputedStyle(one).imageRendering]") == [
        14,
        "pixelated",
    ]
    assert tab.locator("figcaption").first.inner_text() == "seed 0\nread as: 읽은 글 <b>"
    tab.locator("#language").click()
    assert tab.locator("figcaption").first.inner_text().startswith("시드 0")
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
