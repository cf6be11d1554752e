"""The film in a real browser: the slider shows each step's own numbers, the charts those of the log."""

import re

import pytest
import torch
from cli.conftest import COPY_RECIPE, train_once, write_recipe
from lens.test_page import choose

from jumok.inspection.film import Frame, Shot
from jumok.inspection.record import AttentionMap
from jumok.lens.film import Film
from jumok.lens.film_page import make_film_page
from jumok.workflows.film import open_film

RECIPE = COPY_RECIPE.replace("steps = 300", "steps = 120").replace("every = 150", "every = 30")


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    return open_film(train_once(tmp_path_factory, "film", write_recipe(RECIPE)))


@pytest.fixture(scope="module")
def made(film):
    return make_film_page(film, name="copy")


def cell(tab):
    """Return what the map tells of its last cell."""
    canvas = tab.locator("#map canvas")
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] - 5, "y": box["height"] - 5})
    return tab.locator("#map .readout").inner_text()


def mean(shot):
    return torch.stack([found.weights.mean(dim=0) for found in shot.maps]).mean(dim=0)


def points(tab, chart):
    """Return the (step, value) pairs of a chart."""
    dots = tab.locator(f"[data-chart='{chart}'] circle[data-step]").all()
    return [(int(dot.get_attribute("data-step")), float(dot.get_attribute("data-value"))) for dot in dots]


def test_the_slider_shows_each_steps_own_numbers(visit, made, film):
    assert [frame.step for frame in film.frames] == [0, 30, 60, 90, 120]
    tab = visit(made)
    slider = tab.locator("#frame")
    slider.focus()
    tab.keyboard.press("Home")
    for number, frame in enumerate(film.frames):
        shot = frame.shots[0]
        assert tab.locator("#step").inner_text() == f"step {frame.step}"
        assert slider.get_attribute("aria-valuetext") == f"step {frame.step}"
        assert tab.locator("#answer").inner_text() == (" ".join(shot.translation.split()) or "–")
        told = tab.locator("#map canvas").get_attribute("aria-label").split(", ")
        for line, query, row in zip(told, shot.maps[0].queries, mean(shot), strict=True):
            keys = [
                key.strip("▁") for key, weight in zip(shot.maps[0].keys, row, strict=True) if weight > row.max() - 1e-3
            ]
            word, key, share = re.fullmatch(r"(\S+) looks at (\S+) (\d+) %", line).groups()
            assert word == query.strip("▁")
            assert key in keys
            assert float(share) == pytest.approx(100 * float(row.max()), abs=0.6)
        slider.focus()
        tab.keyboard.press("ArrowRight")
        assert int(slider.input_value()) == min(number + 1, len(film.frames) - 1)


def test_a_cell_has_the_weight_of_its_step(visit, made, film):
    tab = visit(made)
    for key, frame in (("End", film.frames[-1]), ("Home", film.frames[0])):
        tab.locator("#frame").press(key)
        weight = float(re.search(r"([\d.]+) %$", cell(tab))[1])
        assert weight == pytest.approx(100 * float(mean(frame.shots[0])[-1, -1]), abs=0.011)


def test_charts_have_the_logs_scores_and_the_heads_figures(visit, made, film):
    tab = visit(made)
    for chart, score in (("BLEU", "bleu"), ("val loss", "loss")):
        assert points(tab, chart) == [(step, scores[score]) for step, scores in film.scores.items()]
    for chart, figure in (("entropy", "entropy"), ("end", "on_end")):
        wanted = [getattr(frame.shots[0], figure) for frame in film.frames]
        assert [value for _, value in points(tab, chart)] == pytest.approx(wanted, abs=1e-3)
        choose(tab, "head", 1)
        heads = [frame.shots[0].maps[0].summaries()[1] for frame in film.frames]
        assert [value for _, value in points(tab, chart)] == pytest.approx([getattr(one, figure) for one in heads], abs=1e-3)  # fmt: skip
        choose(tab, "head", "all")
    choose(tab, "run", 1)
    assert tab.locator("#source").inner_text() == film.frames[0].shots[1].source
    wanted = [frame.shots[1].entropy for frame in film.frames]
    assert [value for _, value in points(tab, "entropy")] == pytest.approx(wanted, abs=1e-3)
    now = tab.locator("[data-chart=BLEU] b")
    assert now.inner_text() == f"{film.scores[120]['bleu']:.2f}"
    tab.locator("#frame").press("Home")
    assert now.inner_text() == "–", "no score was taken before the first step"
    chart = tab.locator("[data-chart=BLEU] svg")
    chart.click(position={"x": chart.bounding_box()["width"] / 2, "y": 40})
    assert tab.locator("#step").inner_text() == "step 60"
    assert "step 60: " in tab.locator("#spoken").inner_text()


def test_it_plays_from_the_beginning_and_can_be_paused(visit, made):
    tab = visit(made, reduced_motion="no-preference")
    tab.click("#play")
    assert tab.locator("#step").inner_text() in ("step 0", "step 30")
    assert tab.locator("#play").inner_text() == "pause"
    tab.wait_for_function("document.getElementById('step').textContent === 'step 60'")
    tab.click("#play")
    assert tab.locator("#play").inner_text() == "play"
    tab.click("#play")
    tab.wait_for_function("document.getElementById('play').textContent === 'play'")
    assert tab.locator("#step").inner_text() == "step 120"


def test_with_less_motion_the_button_goes_on_by_one_step(visit, made):
    tab = visit(made, reduced_motion="reduce")
    for step in (0, 30, 60):
        assert tab.locator("#play").inner_text() == "next"
        tab.click("#play")
        assert tab.locator("#step").inner_text() == f"step {step}"
    tab.wait_for_timeout(800)
    assert tab.locator("#step").inner_text() == "step 60"


def test_arrow_keys_walk_from_anywhere_and_every_control_has_a_name(visit, made):
    tab = visit(made)
    tab.keyboard.press("ArrowLeft")
    assert tab.locator("#step").inner_text() == "step 90"
    for one in tab.locator("button:visible, input:visible, [role=img]:visible").all():
        assert one.evaluate("(e) => e.getAttribute('aria-label') || e.textContent || e.labels?.[0]?.textContent")


def test_light_dark_and_a_phone(visit, made):
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    tab = visit(made, color_scheme="dark", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    first = tab.evaluate(paper)
    tab.click("#theme")
    assert tab.evaluate(paper) != first
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360


def test_nothing_is_loaded_from_outside_and_text_stays_text(made, film):
    assert set(re.findall(r"https?://[^\s\"'<]+", made.html)) <= {"http://www.w3.org/2000/svg"}
    assert "{{" not in made.html
    named = make_film_page(film, name="</title><script>").html
    assert named.count("</script>") == made.html.count("</script>")


def film_of_forecasts(sides):
    """Return the film of a forecaster with random weights: two layers of three heads, five that look at seven."""
    queries, keys = [f"+{step}" for step in range(1, 6)], [f"−{step}" for step in range(7, 0, -1)]
    maps = [
        AttentionMap(f"layers.{layer}", "cross", layer, torch.rand(3, 5, 7).softmax(-1), tuple(queries), tuple(keys))
        for layer in (1, 2)
    ]
    texts = "wave · value · 8", "▁▂▃▄▅  1 … 2", "▁▁▁▁▁  1 … 1"
    shot = Shot(*texts, tuple(maps), tuple(range(7)), tuple(range(5)), sides=sides, answer_is="forecast")
    return Film([Frame(step, (shot,)) for step in (0, 3)], {3: {"loss": 0.5}})


@pytest.mark.parametrize(
    ("sides", "noun"),
    [(("forecast", "past"), "step"), (("patches", "patches"), "patch"), (("variables", "variables"), "variable")],
)
def test_the_film_of_a_forecaster_speaks_of_steps_and_windows(visit, sides, noun):
    tab = visit(make_film_page(film_of_forecasts(sides), name="wave"))
    assert tab.locator("#reference").inner_text().startswith("what came: ▁▂▃▄▅")
    told = tab.locator("#charts [title]").evaluate_all("all => all.map((one) => one.title)")
    assert told[0] == "On validation windows, while the run was trained"
    assert f"0 looks at one {noun}, more at many" in told[1]
    assert len(told) == 2, "a forecast has no end token"
    whole = tab.locator("body").evaluate("one => one.outerHTML.replace(/<script.*?<.script>/gs, '')")
    assert not re.search(r"\bwords?\b|\bsentences?\b", re.sub(r'class="[^"]*"', "", whole))
