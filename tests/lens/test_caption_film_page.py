"""The film of a captioner in a real browser: at each step, every word over the image where it looked then."""

import pytest
import torch
from lens.test_film import caption_frame

from jumok.lens.film import Film
from jumok.lens.film_page import make_film_page

FRAMES = [caption_frame(step) for step in (0, 2, 3)]


@pytest.fixture(scope="module")
def made():
    scores = {2: {"cider_d": 11.5, "loss": 2.0}, 3: {"cider_d": 23.0, "loss": 1.0}}
    return make_film_page(Film(FRAMES, scores), name="attend", words=True)


def words_of(frame):
    """Return the weights (words, cells) of a frame, a mean over heads."""
    weights = frame.shots[0].maps[0].weights.mean(dim=0)
    return torch.stack([weights[0], weights[1], weights[2:4].mean(dim=0), weights[4]])


def test_each_step_has_its_own_maps(visit, made):
    tab = visit(made, reduced_motion="reduce")
    tab.locator("#frame").press("Home")
    for frame in FRAMES:
        assert tab.locator("#step").inner_text() == f"step {frame.step}"
        assert tab.locator("#answer").inner_text() == f"at {frame.step}"
        tab.locator("#caption .word").nth(2).hover()
        lit = tab.locator("#patches .patch").evaluate_all("all => all.map((one) => Number(one.dataset.weight))")
        assert lit == pytest.approx(words_of(frame)[2].tolist(), abs=1e-4)
        assert tab.locator("#strip .word-panel").all_inner_texts() == ["a", "red", "triangle"]
        tab.locator("#frame").press("ArrowRight")
    tab.locator("#strip .word-panel").nth(1).click()
    tab.keyboard.press("Escape")
    tab.locator("#frame").press("Home")
    tab.mouse.move(5, 5)
    lit = tab.locator("#patches .patch").evaluate_all("all => all.map((one) => Number(one.dataset.weight))")
    assert lit == pytest.approx(words_of(FRAMES[0])[1].tolist(), abs=1e-4), "a pinned word is followed through the film"


def test_charts_of_scores_and_of_words_apart(visit, made):
    tab = visit(made)
    points = tab.locator("[data-chart='CIDEr-D'] circle[data-step]").evaluate_all(
        "all => all.map((one) => one.dataset.value)"
    )
    assert points == ["11.5", "23"]
    points = tab.locator("[data-chart=apart] circle[data-step]").evaluate_all(
        "all => all.map((one) => Number(one.dataset.value))"
    )
    assert points == pytest.approx([frame.shots[0].apart for frame in FRAMES], abs=2e-3)
    assert tab.locator("[data-chart=end]").count() == 0, "an image has no end token"


def test_korean_a_phone_and_dark(visit, made):
    tab = visit(made, color_scheme="dark", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    tab.click("#language")
    assert tab.locator("#step").inner_text() == "3스텝"
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
