"""The page in a real browser (Debian's chromium, driven by playwright), made from trained models."""

import json
import re

import pytest
import torch
from cli.conftest import COPY_RECIPE, babble_run, copy_run, train_once, write_recipe  # noqa: F401 - fixtures
from lens.test_html import random_explanation

import jumok
from jumok.config import DecodingConfig
from jumok.inspection.record import AttentionMap, AttentionRecord
from jumok.lens.html import make_page
from jumok.lens.view import Side, View

TEXT = "k c a z m"
FIXED_RECIPE = re.sub(r"(?s)\[model\].*?(?=\[training\])", '[model]\nname = "seq2seq"\nwidth = 16\n', COPY_RECIPE).replace(
    "steps = 300", "steps = 3").replace("evaluate_every = 150\nsave_every = 150", "evaluate_every = 3\nsave_every = 3")  # fmt: skip


@pytest.fixture(scope="module")
def translator(copy_run):  # noqa: F811
    return jumok.load(copy_run)


@pytest.fixture(scope="module")
def explained(translator):
    found, worth = translator.importance(TEXT, options=DecodingConfig(beam=4, n_best=4), details=True)
    return found, worth


@pytest.fixture(scope="module")
def made(explained):
    found, worth = explained
    return make_page([found.view("copy", worth=worth)])


def word(tab, side, place):
    return tab.locator(f"#sentence [data-side={side}] .word").nth(place)


def lit(tab, side="key", inside="#sentence"):
    """Return the weights by which the words of a side are lit."""
    words = tab.locator(f"{inside} [data-side={side}] .word").all()
    return [float(one.get_attribute("data-weight")) for one in words if one.get_attribute("data-weight")]


def mean(found, kind="cross"):
    return torch.stack([one.weights.mean(dim=0) for one in found.record.of_kind(kind)]).mean(dim=0)


def choose(tab, name, value):
    tab.locator(f"#controls input[name={name}][value='{value}']").check()


def test_pointing_at_a_word_lights_what_it_looks_at(visit, made, explained):
    found, _ = explained
    tab = visit(made)
    for place, row in enumerate(mean(found)):
        word(tab, "query", place).hover()
        assert lit(tab) == pytest.approx(row.tolist(), abs=1e-6)
        strongest = int(row.argmax())
        beside = tab.locator("#pointed .weights li").first.inner_text().split("\n")
        assert beside == [
            found.record.of_kind("cross")[0].keys[strongest].strip("▁"),
            f"{100 * float(row.max()):.1f} %",
        ]
    assert tab.locator(".curves path").count() == int((row >= 0.02).sum())
    word(tab, "key", 2).hover()
    assert lit(tab, "query") == pytest.approx(mean(found)[:, 2].tolist(), abs=1e-6)
    tab.mouse.move(5, 5)
    assert lit(tab) == lit(tab, "query") == []


def test_a_word_tells_its_probability_and_its_rivals(visit, made, explained):
    found, _ = explained
    tab = visit(made)
    for place in (0, len(found.choices) - 1):
        word(tab, "query", place).hover()
        choice = found.choices[place]
        rows = [row.inner_text().split("\n") for row in tab.locator("#pointed .rivals li").all()]
        wanted = [(choice.token, choice.probability), *choice.rivals]
        assert rows == [[token, f"{100 * share:.1f} %"] for token, share in wanted]


def test_a_pinned_word_stays_and_arrow_keys_walk(visit, made, explained):
    rows = mean(explained[0]).tolist()
    tab = visit(made)
    word(tab, "query", 1).click()
    tab.mouse.move(5, 5)
    assert lit(tab) == pytest.approx(rows[1], abs=1e-6)
    word(tab, "query", 3).hover()
    assert lit(tab) == pytest.approx(rows[3], abs=1e-6), "pointing goes before the pin"
    tab.mouse.move(5, 5)
    word(tab, "query", 1).focus()
    for place in (2, 3):
        tab.keyboard.press("ArrowRight")
        assert lit(tab) == pytest.approx(rows[place], abs=1e-6)
        assert tab.evaluate("document.activeElement.dataset.place") == str(place)
    tab.keyboard.press("End")
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("document.activeElement.dataset.place") == str(len(rows) - 1)
    tab.keyboard.press("Home")
    tab.keyboard.press("Enter")
    assert word(tab, "query", 0).get_attribute("aria-selected") == "true"
    assert word(tab, "query", 1).get_attribute("aria-selected") == "false"
    assert re.match(r"k, probability \d+ %\. Looks at k \d+ %, ", tab.locator("#spoken").inner_text())
    tab.keyboard.press("Escape")
    assert word(tab, "query", 0).get_attribute("aria-selected") == "false"


def test_kind_head_and_manner_can_be_chosen(visit, made, explained):
    found, _ = explained
    tab = visit(made)
    choose(tab, "head", 1)
    word(tab, "query", 2).hover()
    cross = found.record.of_kind("cross")[0].weights
    assert lit(tab) == pytest.approx(cross[1, 2].tolist(), abs=1e-6)
    choose(tab, "head", 0)
    choose(tab, "combine", "max")
    word(tab, "query", 2).hover()
    assert lit(tab) == pytest.approx(cross[:, 2].amax(dim=0).tolist(), abs=1e-6)
    assert (
        len(set(tab.locator(".curves path").evaluate_all("paths => paths.map((path) => path.getAttribute('stroke'))")))
        == 2
    )
    for kind in ("cross", "encoder", "decoder"):
        choose(tab, "kind", kind)
        choose(tab, "combine", "rollout")
        word(tab, "query", 1).hover()
        side = "query" if kind == "encoder" else "key"  # a sentence that looks at itself is shown once
        assert lit(tab, side) == pytest.approx(found.record.rolled_out(kind)[1].tolist(), abs=1e-6)
    assert tab.locator("#controls input[name=head]").first.is_disabled()


def test_the_end_can_be_hidden_and_the_rest_shares_its_weight(visit, made, explained):
    row = mean(explained[0])[1, :-1]
    tab = visit(made)
    tab.locator("#controls input[name=hideEnd]").check()
    word(tab, "query", 1).hover()
    assert lit(tab) == pytest.approx((row / row.sum()).tolist(), abs=1e-6)
    assert "[END]" not in tab.locator("#sentence").inner_text()


def test_words_or_subwords(visit, babble_run):  # noqa: F811
    found = jumok.load(babble_run).explain("hello wonderful three", target="four five kick", details=True)
    tab = visit(found.page())
    whole = found.in_words()
    word(tab, "query", 1).hover()
    assert lit(tab) == pytest.approx(mean(whole)[1].tolist(), abs=1e-6)
    assert [one.inner_text().split("\n")[0] for one in tab.locator("#sentence [data-side=key] .word").all()] == list(
        whole.record.of_kind("cross")[0].keys
    )
    choose(tab, "words", "false")
    word(tab, "query", 1).hover()
    assert lit(tab) == pytest.approx(mean(found)[1].tolist(), abs=1e-6)
    tab.click("#tab-steps")
    assert tab.locator(".steps .where").inner_text().startswith("“")


def test_there_is_a_thumbnail_of_every_head_that_enlarges_it(visit, made, explained):
    found, worth = explained
    tab = visit(made)
    tab.click("#tab-heads")
    assert tab.locator(".thumbnails button").count() == 2
    rows = [row.inner_text().replace("−", "-").split("\t") for row in tab.locator(".table tbody tr").all()]
    for row, one in zip(rows, found.record.of_kind("cross")[0].summaries(), strict=True):
        lost = next(head for head in worth if (head.path, head.head) == (one.path, one.head))
        figures = [
            one.layer + 1,
            one.head + 1,
            one.entropy,
            one.distance,
            one.on_end,
            one.diagonality,
            lost.lost,
            lost.strongest,
        ]
        assert [float(value) for value in row] == pytest.approx(figures, abs=6e-3)
    tab.click("[data-sort=entropy]")
    ordered = [float(row.locator("td").nth(2).inner_text()) for row in tab.locator(".table tbody tr").all()]
    assert ordered == sorted(ordered)
    assert tab.locator("th[aria-sort=ascending]").inner_text().startswith("spread")
    tab.click("[data-sort=entropy]")
    assert tab.locator("th[aria-sort=descending]").count() == 1
    tab.click(".thumbnails [data-head='2']")
    assert tab.locator("#panel-map canvas").is_visible()
    assert "layer" in tab.locator("#selection").inner_text()
    assert tab.locator("#selection").inner_text().endswith("head 2")


def test_a_cell_of_the_map_tells_its_weight(visit, made, explained):
    found, _ = explained
    tab = visit(made)
    tab.click("#tab-map")
    canvas = tab.locator("#panel-map canvas")
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] - 5, "y": box["height"] - 5})
    assert tab.locator("#panel-map .readout").inner_text() == f"[END] → [END]: {100 * float(mean(found)[-1, -1]):.2f} %"


def pointed_number(tab, strip):
    """Return what the page tells of a strip's first number."""
    strip.hover(position={"x": 2, "y": 5})
    name, value = tab.locator(".steps .readout").inner_text().split(": ")
    return name, float(value.replace("−", "-"))


def test_step_by_step_shows_the_numbers_of_the_forward_pass(visit, made, explained):
    found, _ = explained
    tab = visit(made)
    choose(tab, "kind", "decoder")
    choose(tab, "head", 1)
    word(tab, "query", 2).click()
    tab.mouse.move(5, 5)
    tab.click("#tab-steps")
    assert tab.locator(".keys").count() == 0, "the embedding comes first"
    tab.click("[data-stage=query]")
    for _ in range(8):
        tab.click("[data-next]")
    assert tab.locator("[aria-current=step]").get_attribute("data-stage") == "output"
    decoder = found.record.of_kind("decoder")[0]
    details = decoder.details
    scores = details.query[1, 2] @ details.key[1].T
    rows = [row.inner_text().replace("−", "-").split("\t") for row in tab.locator(".keys tbody tr").all()]
    for place, row in enumerate(rows):
        key, _, score, scaled, allowed, weight = (part.strip() for part in row[:6])
        assert key == decoder.keys[place].strip("▁")
        assert float(score) == pytest.approx(float(scores[place]), abs=5e-3)
        assert float(scaled) == pytest.approx(float(scores[place]) * details.scale, abs=5e-3)
        assert allowed == ("✓" if details.mask[2, place] else "-∞")
        assert weight == f"{float(decoder.weights[1, 2, place]):.4f}"
    strip = tab.locator(".vector.new", has_text="output").locator("canvas")
    assert pointed_number(tab, strip) == (
        "output for a, number 1 of 32",
        pytest.approx(float(details.output[2, 0]), abs=1e-3),
    )
    strip.click()
    written = tab.locator(".steps .all-numbers").inner_text().removeprefix("output for a = ")
    assert json.loads(written) == pytest.approx(details.output[2].tolist(), abs=1e-3)
    strip = tab.locator(".vector", has_text="Σ").locator("canvas")
    summed = float(decoder.weights[1, 2] @ details.value[1, :, 0])
    assert pointed_number(tab, strip) == ("sum of head 2, number 1 of 16", pytest.approx(summed, abs=1e-3))


def test_positions_and_answers(visit, made, explained):
    found, _ = explained
    tab = visit(made)
    tab.click("#tab-positions")
    canvas = tab.locator("#panel-positions canvas").first
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] - 2, "y": 16 * 1.5})
    table = found.record.positions[0].table
    assert (
        tab.locator("#panel-positions .readout").first.inner_text()
        == f"c · position 1, feature 31: {float(table[1, -1]):.4f}"
    )
    tab.click("#tab-answers")
    said = [row.inner_text().replace("−", "-").split("\n") for row in tab.locator(".answers li").all()]
    assert said == [[one.text, f"{one.score:.3f}"] for one in (found.answer, *found.others)]


def test_the_slider_goes_through_the_steps_of_writing(visit, made, explained):
    rows = mean(explained[0]).tolist()
    tab = visit(made)
    slider = tab.locator("#written")
    slider.focus()
    tab.keyboard.press("Home")
    assert tab.locator("#sentence .unwritten").count() == len(rows)
    for count in (1, 2, 3):
        tab.keyboard.press("ArrowRight")
        assert tab.locator("#sentence .unwritten").count() == len(rows) - count
        assert lit(tab) == pytest.approx(rows[count - 1], abs=1e-6)
    assert tab.locator("#count").inner_text() == f"3 of {len(rows)}"
    choose(tab, "kind", "encoder")
    assert slider.is_hidden()


def test_runs_side_by_side(visit, translator, tmp_path_factory):
    runs = [
        train_once(tmp_path_factory, name, write_recipe(FIXED_RECIPE.replace("width = 16", f'width = 16\nattention = "{kind}"')))
        for name, kind in (("fixed", "none"), ("looking", "mlp"))
    ]  # fmt: skip
    found = [one.explain(TEXT, target="k c a", details=True) for one in (translator, *map(jumok.load, runs))]
    tab = visit(
        make_page([one.view(name) for one, name in zip(found, ("transformer", "fixed", "looking"), strict=True)])
    )
    assert tab.locator(".card").count() == 3
    tab.locator("[data-run='2'] [data-side=query] .word").nth(1).hover()
    assert lit(tab, inside="[data-run='2']") == pytest.approx(mean(found[2], "recurrent")[1].tolist(), abs=1e-6)
    assert "no attention to show: all that its decoder knows" in tab.locator("[data-run='1']").inner_text()
    choose(tab, "run", 1)
    assert tab.locator("#sentence .note").is_visible()
    word(tab, "query", 0).hover()
    assert tab.locator("#pointed .rivals li").count() == 6, "it has probabilities all the same"
    choose(tab, "run", 2)
    tab.click("#tab-steps")
    tab.click("[data-stage=softmax]")
    weights = [float(cell.get_attribute("data-weight")) for cell in tab.locator(".keys .weight").all()]
    assert weights == pytest.approx(mean(found[2], "recurrent")[0].tolist(), abs=1e-6)
    assert tab.locator("[data-stage=scores]").inner_text() == "v·tanh(q+k)"


def test_light_and_dark(visit, made):
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    for scheme in ("light", "dark"):
        tab = visit(made, color_scheme=scheme)
        first = tab.evaluate(paper)
        assert (sum(map(int, re.findall(r"\d+", first)[:3])) > 380) == (scheme == "light")
        tab.click("#theme")
        assert tab.evaluate(paper) != first
        word(tab, "query", 0).hover()
        tab.click("#theme")
        assert tab.evaluate(paper) == first


def test_a_phone_never_scrolls_sideways(visit):
    page = make_page([random_explanation(40, 40)])
    tab = visit(page, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    for name in ("lines", "map", "heads", "steps", "positions", "answers"):
        tab.click(f"#tab-{name}")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360, name
    word(tab, "query", 3).tap()
    assert len(lit(tab)) == 40


def test_nothing_to_look_at_is_no_error(visit, translator):
    tab = visit(translator.explain("", target="", details=True).page())
    for hidden in (False, True):
        tab.click("#tab-lines")
        tab.locator("#controls input[name=hideEnd]").set_checked(hidden)
        for name in ("lines", "map", "heads", "steps", "positions", "answers"):
            tab.click(f"#tab-{name}")
    assert tab.locator("#sentence .word").count() == 0


def test_a_record_of_a_forward_pass_was_not_written_word_by_word(visit):
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    with jumok.observe(layer) as record:
        layer(*[torch.randn(1, 4, 8)] * 3)
    tab = visit(jumok.show(record))
    assert tab.locator("#answer").inner_text() == "a record of attention"
    assert tab.locator("#sentence h3").all_inner_texts() == ["keys", "queries"]
    assert tab.locator("#written").is_hidden()


def test_figures_can_be_saved(visit, made):
    tab = visit(made)
    for name in ("lines", "map", "heads", "positions"):
        tab.click(f"#tab-{name}")
        for kind, begin in (("png", b"\x89PNG"), ("svg", b"<svg xmlns")):
            with tab.expect_download() as waiting:
                tab.click(f"#save-{kind}")
            assert waiting.value.suggested_filename == f"attention-{name}.{kind}"
            assert waiting.value.path().read_bytes().startswith(begin)
    tab.click("#tab-steps")
    assert tab.locator("#save-buttons").is_hidden()


def test_every_control_has_a_name_and_can_be_reached(visit, made):
    tab = visit(made)
    for one in tab.locator("button:visible, input:visible, [role=listbox], [role=img]:visible").all():
        assert one.evaluate("(e) => e.getAttribute('aria-label') || e.textContent || e.labels?.[0]?.textContent")
    tab.locator("#tab-lines").focus()
    tab.keyboard.press("ArrowRight")
    assert tab.locator("#tab-map").get_attribute("aria-selected") == "true"
    assert tab.evaluate("document.activeElement.id") == "tab-map"
    word(tab, "query", 0).focus()
    assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def seconds_of(tab, pointed):
    """Return the processor time of a page's own thread: to open it, to point at a word or patch, to change tabs.

    Other work on this machine does not count.
    """
    session = tab.context.new_cdp_session(tab)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy():
        tab.wait_for_timeout(100)  # what was begun is done
        return next(one["value"] for one in session.send("Performance.getMetrics")["metrics"] if one["name"] == "TaskDuration")  # fmt: skip

    before = busy()
    tab.reload()
    tab.wait_for_selector("html[data-ready]")
    opened = busy()
    tab.evaluate(
        """async (pointed) => {
      for (const one of [...document.querySelectorAll(pointed)].slice(20, 40)) {
        one.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
        await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
      }
    }""",
        pointed,
    )
    hovered = busy()
    for name in ("map", "heads"):
        tab.click(f"#tab-{name}")
    return opened - before, (hovered - opened) / 20, busy() - hovered


def test_a_hundred_words_stay_smooth(visit):
    """Six layers of eight heads, three kinds of attention, 100 × 100 tokens."""
    torch.manual_seed(1)
    labels = (
        Side("source", tuple(f"▁word{n}" for n in range(100))),
        Side("output", tuple(f"▁Wort{n}" for n in range(100))),
    )
    sides = dict.fromkeys(("encoder", "decoder", "cross"), labels[::-1])
    maps = [AttentionMap(f"{kind}.{layer}", kind, layer, (4 * torch.randn(8, 100, 100)).softmax(dim=-1), labels[1].labels, labels[0].labels)
            for kind in sides for layer in range(6)]  # fmt: skip
    page = make_page([View("large", AttentionRecord(maps), sides, output=labels[1], source="many", answer="viele")])
    opened, hovered, changed = seconds_of(visit(page), "#sentence [data-side=query] .word")
    print(f"\n{len(page.html) / 1e6:.1f} MB; open {opened:.2f} s, hover {1000 * hovered:.0f} ms, tabs {changed:.2f} s")
    assert opened < 2
    assert hovered < 0.05
    assert changed < 2


def test_words_of_bytes_can_be_read(visit):
    tab = visit(jumok.load("ko-en").explain("영화를 봤어요.").page())
    assert [word(tab, "key", place).inner_text().split("\n")[0] for place in range(4)] == [
        "[→en]",
        "영화를",
        "봤어요.",
        "[END]",
    ]
    choose(tab, "words", "false")
    pieces = [one.split("\n")[0] for one in tab.locator("#sentence [data-side=key] .word").all_inner_texts()]
    assert not any("<" in one for one in pieces), "bytes of a character are joined"
    assert "".join(pieces).replace("·", "") == "[→en]영화를봤어요.[END]"
