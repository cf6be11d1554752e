"""What stands around the views of a page: controls that do something, words said once, a page that stays where it is."""

import pytest
import torch
from cli.conftest import copy_run  # noqa: F401 - a fixture
from lens.test_page import choose, lit, word

import jumok
from jumok.inspection.record import AttentionMap, AttentionRecord
from jumok.lens.html import make_page
from jumok.lens.view import Side, View

LABELS = ("▁the", "▁film", "▁was", "▁bo", "ring", "[END]")
WORDS = (0, 1, 2, 3, 3, 4)


def reader(**options):
    """Return the view of a model that reads a text: a BERT or a classifier."""
    torch.manual_seed(1)
    weights = (2 * torch.randn(2, 6, 6)).softmax(dim=-1)
    side = Side("text", LABELS, WORDS)
    record = AttentionRecord([AttentionMap(f"encoder.layers.{n}.attention", "encoder", n, weights, LABELS, LABELS) for n in range(2)])  # fmt: skip
    return View("bert", record, {"encoder": (side, side)}, output=side, source="the film was boring", written=False, **options)  # fmt: skip


@pytest.fixture(scope="module")
def page(copy_run):  # noqa: F811
    return jumok.load(copy_run).explain("k c a z m", details=True).page()


def controls(tab):
    names = tab.locator("#controls input").evaluate_all("all => all.map((one) => one.name)")
    return set(names)


def test_controls_that_do_nothing_are_not_there(visit, page):
    tab = visit(page)
    for name, there in {
        "lines": {"kind", "head", "combine", "hideEnd"},
        "map": {"kind", "head", "combine", "hideEnd"},
        "heads": {"kind", "head"},
        "steps": {"kind", "head"},
        "positions": set(),
        "answers": set(),
    }.items():
        tab.click(f"#tab-{name}")
        assert controls(tab) == there, name
    tab.click("#tab-steps")
    assert tab.locator("#controls input[name=head]").evaluate_all("all => all.map((one) => one.type)") == ["radio"] * 2
    choose(tab, "head", 1)
    assert tab.locator("#selection").inner_text().endswith("head 2")
    tab.click("#tab-lines")
    choose(tab, "head", "all")
    assert tab.locator("#selection").inner_text().endswith("all 2 heads · average")


def test_a_text_that_looks_at_itself_is_shown_once(visit):
    view = reader()
    tab = visit(make_page([view], words=False))
    assert tab.locator("#sentence .word").count() == len(LABELS)
    weights = view.record.maps[0].weights.mean(dim=0)
    word(tab, "query", 2).hover()
    assert lit(tab, "query") == pytest.approx(weights[2].tolist(), abs=1e-6)
    assert tab.locator(".word.pointed").inner_text().startswith("was")
    choose(tab, "side", "key")
    word(tab, "query", 2).hover()
    assert lit(tab, "query") == pytest.approx(weights[:, 2].tolist(), abs=1e-6)
    assert tab.locator("#pointed h3").all_inner_texts() == ["is looked at by"]
    assert tab.locator("#writing").is_hidden()
    assert tab.locator("#tab-answers").count() == 0
    word(tab, "query", 1).focus()
    tab.keyboard.press("ArrowRight")
    assert lit(tab, "query") == pytest.approx(weights[:, 2].tolist(), abs=1e-6)


@pytest.mark.parametrize(
    ("answer", "heading"), [("the film was boring", "bert"), ("", "bert"), ("negative", "negative")]
)
def test_the_heading_does_not_say_the_text_again(visit, answer, heading):
    tab = visit(make_page([reader(answer=answer)]))
    assert tab.locator("#answer").inner_text() == heading
    assert tab.locator("#source").inner_text() == ""


def test_only_what_was_decided_has_a_probability(visit):
    choices = [None, None, None, ("▁bo", 0.25, [("▁go", 0.5)]), None, None]
    tab = visit(make_page([reader(choices=choices, answer="bo 25 %")], words=False))
    assert tab.locator("#source").inner_text() == "", "the text is read below"
    notes = tab.locator("#sentence .word small").all_inner_texts()
    assert notes == ["", "", "", "25", "", ""]
    word(tab, "query", 3).hover()
    assert tab.locator("#pointed .rivals li").count() == 2
    word(tab, "query", 0).hover()
    assert tab.locator("#pointed .rivals").count() == 0
    choose(tab, "words", "true")
    word(tab, "query", 3).hover()
    assert "25.0 % likely" in tab.locator("#pointed").inner_text()


def test_a_classifier_has_its_classes_beside_the_text(visit):
    classes = [("negative", 0.875), ("positive", 0.125)]
    tab = visit(make_page([reader(classes=classes, answer="negative")]))
    rows = [row.inner_text().split("\n") for row in tab.locator("#classes li").all()]
    assert rows == [["negative", "87.5 %"], ["positive", "12.5 %"]]
    word(tab, "query", 0).hover()
    assert tab.locator("#classes li").count() == 2, "they stay"


@pytest.mark.parametrize("characters", [False, True])
def test_a_model_that_reads_characters_is_shown_by_them(visit, characters):
    tab = visit(make_page([reader(characters=characters)]))
    names = tab.locator("#controls label:has(input[name=words])").all_inner_texts()
    assert names == ["words", "characters" if characters else "subwords"]
    assert tab.locator("#controls input[name=words][value=false]").is_checked() == characters
    opened = visit(make_page([reader(characters=characters)], words=True))
    assert opened.locator("#controls input[name=words][value=true]").is_checked(), "asked for is asked for"


@pytest.mark.parametrize("width", [390, 1180])
def test_pointing_never_moves_the_page(visit, page, width):
    tab = visit(page, viewport={"width": width, "height": 1600})
    bar = tab.locator(".tab-bar")
    before = bar.bounding_box()
    for place in range(5):
        word(tab, "query", place).hover()
        assert bar.bounding_box() == before
    word(tab, "key", 1).hover()
    assert bar.bounding_box() == before
    assert tab.locator("#pointed .weights li").first.is_visible()


def test_every_choice_of_words_is_explained_on_hover(visit, page):
    tab = visit(page)
    for name in ("kind", "combine", "hideEnd"):
        for one in tab.locator(f"#controls label:has(input[name={name}])").all():
            assert len(one.get_attribute("title")) > 20
            assert one.get_attribute("aria-description") == one.get_attribute("title")
    tab.click("#tab-heads")
    for one in tab.locator(".table th button").all():
        assert one.get_attribute("title")
    shown = tab.locator("body").inner_text()
    for insider in ("rollout", "entropy", "diagonality", "combined by", "decoder.layers"):
        assert insider not in shown
