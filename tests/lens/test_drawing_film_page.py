"""The film of a drawer in a real browser: at each step its own drawing, and the cells that looked at each word."""

import numpy as np
import pytest
import torch
from lens.drawing_examples import GRID

from jumok.inspection.data_url import as_data_url
from jumok.inspection.film import Frame, Shot
from jumok.inspection.labels import cell_labels
from jumok.inspection.record import AttentionMap
from jumok.lens.film import Film
from jumok.lens.film_page import make_film_page

STEPS = (0, 2, 3)
WORDS = ("▁a", "▁red", "▁circle")


def image(seed):
    return as_data_url(np.random.default_rng(seed).integers(100, 255, (12, 20, 3)).astype(np.uint8))


def frame(step):
    weights = 0.2 * torch.rand(2, 3, 15, generator=torch.Generator().manual_seed(step))  # what cells gave to words
    maps = AttentionMap("stack.0", "decoder", 0, weights, WORDS, cell_labels(GRID, 0), GRID)
    shots = [
        Shot(f"{number}.png", "a red circle", "a red circle", (maps,), tuple(range(15)), (0, 1, 2),
             sides=("words", "cells that look at them"), answer_is="drawing",
             image=image(number), drawing=image(100 + 10 * step + number))
        for number in (1, 2)
    ]  # fmt: skip
    return Frame(step, tuple(shots))


FRAMES = [frame(step) for step in STEPS]


@pytest.fixture(scope="module")
def made():
    return make_film_page(Film(FRAMES, {2: {"loss": 2.0}, 3: {"loss": 1.0}}), name="drawer")


def test_each_step_has_its_own_drawing_and_maps(visit, made):
    tab = visit(made, reduced_motion="reduce")
    assert tab.locator("#answer").inner_text() == "a red circle"
    tab.locator("#frame").press("Home")
    for one in FRAMES:
        assert tab.locator("#step").inner_text() == f"step {one.step}"
        assert tab.locator("#drawing").get_attribute("src") == one.shots[0].drawing
        assert tab.locator("#patches img").get_attribute("src") == one.shots[0].image, "the val image stays"
        tab.locator("#caption .word").nth(1).hover()
        lit = tab.locator("#patches .patch").evaluate_all("all => all.map((one) => Number(one.dataset.weight))")
        assert lit == pytest.approx(one.shots[0].maps[0].weights.mean(dim=0)[1].tolist(), abs=1e-4)
        tab.locator("#frame").press("ArrowRight")
    tab.locator("#controls input[name=run][value='1']").check()
    assert tab.locator("#drawing").get_attribute("src") == FRAMES[-1].shots[1].drawing
    assert tab.locator("#strip .word-panel").all_inner_texts() == ["a", "red", "circle"]


def test_charts_tell_how_much_cells_look_at_words(visit, made):
    tab = visit(made)

    def chart(name):
        points = tab.locator(f"[data-chart='{name}'] circle[data-step]")
        return points.evaluate_all("all => all.map((one) => Number(one.dataset.value))")

    maps = [one.shots[0].maps[0].weights for one in FRAMES]
    assert chart("on-words") == pytest.approx([float(one.mean(dim=0).sum(dim=0).mean()) for one in maps], abs=1e-4)
    assert chart("val loss") == [2.0, 1.0]
    assert len(chart("apart")) == 3


def test_korean_a_phone_and_dark(visit, made):
    tab = visit(made, color_scheme="dark", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    tab.click("#language")
    assert tab.locator("#step").inner_text() == "3스텝"
    assert "이 스텝에서 모델이 그린 그림" in tab.locator("figcaption").first.inner_text()
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
