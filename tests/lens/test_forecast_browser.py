"""The page of a forecast in a real browser: pointing lights the past by weight, by mouse, by keys and aloud."""

import re
from dataclasses import replace

import pytest
import torch
from lens.forecast_examples import HORIZON, LOOK_BACK, explained
from lens.test_page import choose
from lens.test_texts import words_of

from jumok.lens.forecast_look import ForecastLook
from jumok.lens.forecast_page import make_forecast_page


@pytest.fixture(scope="module")
def steps():
    return explained("steps", head="quantiles")


@pytest.fixture(scope="module")
def patches():
    return explained("patches")


@pytest.fixture(scope="module")
def variables():
    return explained("variables", past=["MULL"], known=["holiday"])


@pytest.fixture(scope="module")
def path():
    return explained("steps", paths=True, head="mixture", ways=3)


def lit(tab):
    return tab.locator("#chart .cell").evaluate_all("all => all.map((one) => Number(one.dataset.weight))")


def point(tab, step, count=LOOK_BACK + HORIZON):
    """Point at a step of the chart, by the places of its strip."""
    room = tab.locator("#chart .strip-room").bounding_box()
    tab.mouse.move(room["x"] + (step + 0.5) / count * room["width"], room["y"] - 60)


def close(values):
    return pytest.approx(values.tolist(), abs=1e-5)


def test_pointing_at_a_step_lights_the_past_by_weight(visit, steps):
    tab, weights = visit(steps.page()), steps.attention.records[0].of_kind("cross")
    mean = torch.stack([one.weights.mean(0) for one in weights]).mean(0)  # (H, L)
    assert lit(tab) == close(mean.mean(0)), "at rest the mean over all steps"
    for number in (0, 4, HORIZON - 1):
        point(tab, LOOK_BACK + number)
        assert lit(tab) == close(mean[number])
        assert tab.locator(".pointed-name").inner_text() == steps.forecast.labels[number]
        best = int(mean[number].argmax())
        first = tab.locator("#pointed .bars li").first
        assert first.locator(".label").inner_text().split("\n")[0] == steps.forecast.history_labels[best]
        assert f"lag {LOOK_BACK + number - best}" in first.inner_text()
        assert first.locator(".number").inner_text() == f"{100 * float(mean[number].max()):.1f} %"
        assert "10 to 90 %" in tab.locator("#pointed").inner_text()
    choose(tab, "layer", 2)
    choose(tab, "head", 1)
    point(tab, LOOK_BACK + 4)
    assert lit(tab) == close(weights[1].weights[1, 4])
    point(tab, 3)
    assert lit(tab) == close(weights[1].weights[1, :, 3]), "who looked at a step of the past"


def test_the_past_looks_at_itself(visit, steps):
    tab, maps = visit(steps.page()), steps.attention.records[0].of_kind("encoder")
    choose(tab, "kind", "encoder")
    choose(tab, "layer", 1)
    point(tab, 7)
    assert lit(tab) == close(maps[0].weights.mean(0)[7])
    choose(tab, "side", "key")
    point(tab, 7)
    assert lit(tab) == close(maps[0].weights.mean(0)[:, 7])
    point(tab, LOOK_BACK + 2)
    assert tab.locator(".pointed-name").inner_text() == steps.forecast.labels[2], "its values are told all the same"


def test_patches_say_that_patches_look_and_offer_occlusion(visit, patches):
    tab = visit(patches.page())
    assert "Patches look at patches" in tab.locator("#pointed").inner_text()
    record = patches.attention.records[1]  # of the last variable
    mean = torch.stack([one.weights.mean(0) for one in record.maps]).mean(0)
    point(tab, LOOK_BACK - 1)
    assert lit(tab) == close(mean[-1])
    choose(tab, "aim", 0)
    other = torch.stack([one.weights.mean(0) for one in patches.attention.records[0].maps]).mean(0)
    point(tab, LOOK_BACK - 1)
    assert lit(tab) == close(other[-1]), "each variable has its own"
    tab.mouse.move(5, 5)
    tab.get_by_text("show what each step depends on").click()
    change = patches.attention.occlusion.change[..., 0]  # (S, H)
    point(tab, LOOK_BACK + 3)
    assert lit(tab) == close(change[:, 3])
    assert tab.locator("#chart .without").count() == 0
    point(tab, LOOK_BACK - 2)
    assert lit(tab) == close(change[-1])
    assert tab.locator("#chart .without").count() == 1, "the forecast without the stretch"
    assert "dashed" not in tab.locator("#pointed").inner_text()


def test_who_looks_at_whom_among_variables(visit, variables):
    tab = visit(variables.page())
    assert tab.locator("#tab-map").get_attribute("aria-selected") == "true"
    mean = torch.stack([one.weights.mean(0) for one in variables.attention.records[0].maps]).mean(0)
    tab.locator("#panel-map canvas").scroll_into_view_if_needed()
    box = tab.locator("#panel-map canvas").bounding_box()
    tab.mouse.move(box["x"] + box["width"] - 8, box["y"] + box["height"] - 8)
    name = tab.locator(".pointed-name").inner_text()
    assert name == "what is known ahead"
    rows = {
        row.locator(".label").inner_text(): row.locator(".number").inner_text()
        for row in tab.locator("#pointed li").all()
    }
    names = ["HULL", "OT", "MULL", "holiday", "what is known ahead"]
    assert rows == {one: f"{100 * float(mean[4, place]):.1f} %" for place, one in enumerate(names)}
    assert f"{100 * float(mean[4, 4]):.2f} %" in tab.locator("#panel-map .readout").inner_text()
    tab.click("#tab-lags")
    assert "there is no lag" in tab.locator("#panel-lags").inner_text()


def test_lags_have_marks_of_days(visit, steps):
    tab = visit(steps.page())
    assert tab.locator("#panel-lags .season.day").count() == (LOOK_BACK + HORIZON - 1) // 24
    mean = torch.stack([one.weights.mean(0) for one in steps.attention.records[0].of_kind("cross")]).mean(0)
    lags = LOOK_BACK + torch.arange(HORIZON)[:, None] - torch.arange(LOOK_BACK)
    by_lag = {int(lag): float(mean[lags == lag].mean()) for lag in lags.unique()}
    most = max(by_lag, key=by_lag.get)
    days = f" ({most // 24} × day)" if most % 24 == 0 else ""
    told = f"Most at lag {most}{days}: {100 * by_lag[most]:.2f} %."
    assert tab.locator("#panel-lags .readout").inner_text().startswith(told)


def test_keys_walk_pin_and_let_go(visit, steps):
    tab = visit(steps.page())
    slider = tab.locator("#chart")
    for key, step in (("ArrowRight", LOOK_BACK), ("ArrowRight", LOOK_BACK + 1), ("ArrowLeft", LOOK_BACK), ("Home", 0),
                      ("PageUp", 24), ("End", LOOK_BACK + HORIZON - 1)):  # fmt: skip
        tab.keyboard.press(key)
        assert slider.get_attribute("aria-valuenow") == str(step)
    assert steps.forecast.labels[-1] in slider.get_attribute("aria-valuetext")
    assert "looks most at" in tab.locator("#spoken").inner_text()
    shown = lit(tab)
    tab.keyboard.press("Enter")
    tab.locator("#theme").focus()
    assert lit(tab) == shown, "it stays"
    assert tab.locator("#chart .pinned").count() == 1
    slider.focus()
    tab.keyboard.press("Escape")
    assert tab.locator("#chart .pinned").count() == 0
    assert tab.locator("#pointed .pointed-name").count() == 0


def test_dots_along_a_path_grow_by_weight(visit, path):
    tab, maps = visit(path.page()), path.attention.records[0].of_kind("cross")
    mean = torch.stack([one.weights.mean(0) for one in maps]).mean(0)
    assert tab.locator("#chart .way").count() == 3
    dots = tab.locator("#chart circle")
    assert dots.count() == 8 + HORIZON
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    weights = [float(dots.nth(place).get_attribute("data-weight")) for place in range(8)]
    assert weights == close(mean[1])
    sizes = torch.tensor([float(dots.nth(place).get_attribute("r")) for place in range(8)])
    assert sizes.argsort().equal(mean[1].argsort())
    tab.mouse.move(*[dots.nth(2).bounding_box()[key] + dots.nth(2).bounding_box()["width"] / 2 for key in ("x", "y")])
    assert tab.locator(".pointed-name").inner_text() == "2"


def test_a_page_without_attention_tells_values(visit, steps):
    many = [ForecastLook("run", replace(steps.forecast, series=f"S{number}")) for number in range(11)]
    tab = visit(make_forecast_page(many))
    assert tab.locator("#views").is_hidden()
    assert tab.locator("#chart .cell").count() == 0
    point(tab, LOOK_BACK + 2)
    assert tab.locator(".pointed-name").inner_text() == steps.forecast.labels[2]
    assert tab.locator("select[name=chosen] option").all_inner_texts() == [f"S{number}" for number in range(11)]
    tab.locator("select[name=chosen]").select_option("7")
    assert tab.locator("#source").inner_text() == "run · S7"


@pytest.mark.parametrize("name", ["steps", "patches", "variables", "path"])
def test_the_button_changes_every_word_and_nothing_scrolls_sideways(visit, request, name):
    found = request.getfixturevalue(name)
    tab = visit(found.page(lang="en"), viewport={"width": 390, "height": 800})
    tab.click("#language")
    for kind in [None, "occlusion"]:
        if kind:
            choose(tab, "kind", kind)
        for panel in ("lags", "map", "heads"):
            tab.click(f"#tab-{panel}")
            tab.locator("#chart").focus()
            tab.keyboard.press("End")
            ours = [
                re.sub(r"jumok|nat|Enter|PNG|SVG|HULL|MULL|holiday|\[.*?\]|etth1|occlusion", "", one)
                for one in words_of(tab)
            ]
            assert not [one for one in ours if re.search(r"[a-z]{3}", one)], (panel, kind)
            assert tab.evaluate("document.documentElement.scrollWidth") <= 390, panel


def test_the_theme_redraws_and_every_control_has_a_name(visit, steps):
    tab = visit(steps.page())
    before = tab.locator("#chart .cell").first.get_attribute("fill")
    tab.click("#theme")
    assert tab.locator("#chart .cell").first.get_attribute("fill") != before
    for one in tab.locator("button:visible, input:visible, [role=slider]").all():
        assert one.evaluate("(e) => e.getAttribute('aria-label') || e.textContent || e.labels?.[0]?.textContent")


def test_the_map_and_the_heads_are_saved(visit, steps):
    tab = visit(steps.page())
    for panel in ("map", "heads"):
        tab.click(f"#tab-{panel}")
        with tab.expect_download() as download:
            tab.click("#save-svg")
        assert download.value.suggested_filename == f"attention-{panel}.svg"
    tab.click(".thumbnails [data-layer='2'][data-head='3']")
    point(tab, LOOK_BACK)
    assert lit(tab) == close(steps.attention.records[0].of_kind("cross")[1].weights[2, 0])
