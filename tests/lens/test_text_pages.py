"""Pages of masks, continuations and classes in a real browser: nothing twice, nothing that has no meaning there."""

import pytest
from cli.conftest import bert_run, classifier_run, gpt_run, rnn_run  # noqa: F401 - fixtures
from lens.test_page import choose, lit, mean, word

import jumok
from jumok.config import DecodingConfig
from jumok.lens.html import make_page
from jumok.lens.view import Side, View

MASKED, REVIEW = "the [MASK] was lovely", "the play was superb"


def tabs(tab):
    return [one.inner_text() for one in tab.locator("[role=tab]").all()]


def classes(tab):
    """Return the classes told beside the text."""
    return [tuple(one.inner_text().split("\n")) for one in tab.locator("#classes li").all()]


def test_a_page_of_masks(visit, bert_run):  # noqa: F811
    found = jumok.load(bert_run).explain(MASKED, details=True)
    tab = visit(found.page())
    assert tab.locator("#source").inner_text() == "", "its words stand below"
    assert tab.locator("#answer").inner_text() == found.answer.headline
    assert not tab.locator("#writing").is_visible(), "nothing was written step by step"
    assert tabs(tab) == ["Lines", "Map", "Heads", "Step by step", "Positions"]
    mask, choice = 2, found.choices[2]
    notes = [one.inner_text() for one in tab.locator("#sentence [data-side=query] .word small").all()]
    assert notes == ["", "", f"{100 * choice.probability:.0f}", "", "", ""]
    word(tab, "query", mask).hover()
    assert lit(tab, "query") == pytest.approx(mean(found, "encoder")[mask].tolist(), abs=1e-6)
    rivals = [one.inner_text().split("\n")[0] for one in tab.locator("#pointed .rivals li").all()]
    assert rivals == [choice.token, *(token for token, _ in choice.rivals)]
    word(tab, "query", 1).hover()
    assert tab.locator("#pointed .rivals").count() == 0, "nothing was decided there"
    assert "probability" not in tab.locator("#spoken").inner_text()


def test_a_page_of_a_continuation(visit, gpt_run):  # noqa: F811
    writer = jumok.load(gpt_run)
    found = writer.explain("the ", target="cat", details=True)
    tab = visit(found.page())
    assert (tab.locator("#source").inner_text(), tab.locator("#answer").inner_text()) == ("the", "cat")
    words = tab.locator("#sentence [data-side=query] .word")
    assert words.count() == 7, "it opens on characters"
    assert [one.inner_text() for one in words.locator("small").all()][:4] == [""] * 4
    slider = tab.locator("#written")
    assert (slider.get_attribute("min"), slider.get_attribute("max")) == ("4", "7")
    slider.focus()
    tab.keyboard.press("Home")
    assert tab.locator("#count").inner_text() == "4 of 7"
    assert tab.locator("#sentence .word.unwritten").count() == 3
    word(tab, "query", 5).hover()
    assert lit(tab) == pytest.approx(mean(found, "decoder")[5].tolist(), abs=1e-6)
    choose(tab, "words", "true")
    assert words.count() == 2
    drawn = visit(writer.explain("", options=DecodingConfig(sample=True, max_length=5)).page())
    assert drawn.locator("#written").get_attribute("min") == "0"
    assert "Answers" not in tabs(drawn)


def test_a_page_of_a_class(visit, classifier_run):  # noqa: F811
    found, _ = jumok.load(classifier_run).importance(REVIEW, details=True)
    tab = visit(found.page())
    assert (tab.locator("#source").inner_text(), tab.locator("#answer").inner_text()) == ("", found.answer.headline)
    assert classes(tab) == [(label, f"{100 * share:.1f} %") for label, share in found.classes]
    assert not tab.locator("#writing").is_visible()
    assert tabs(tab)[-1] == "Tokens"
    tab.locator("#tab-tokens").click()
    told = [tuple(one.inner_text().split("\n")) for one in tab.locator("#panel-tokens .word").all()]
    lost = [f"{'+' if one.lost > 0 else ''}{one.lost:.2f}".replace("-", "−") for one in found.token_worth]
    assert told == list(zip(REVIEW.split(), lost, strict=True))
    word(tab, "query", 0).hover()
    assert lit(tab, "query") == pytest.approx(mean(found, "encoder")[0].tolist(), abs=1e-6)


def test_a_page_of_a_model_without_attention(visit, classifier_run, rnn_run):  # noqa: F811
    recurrent, bert = jumok.load(rnn_run), jumok.load(classifier_run)
    tab = visit(recurrent.explain(REVIEW).page())
    assert tab.locator("#sentence").inner_text().strip() == recurrent.model.why_no_attention
    assert len(classes(tab)) == 3
    assert tab.locator("main").inner_text().count("superb") == 0, "the heading has the text already"
    assert not tab.locator("#views").is_visible()
    assert tab.locator("#controls input").count() == 0
    weighed, _ = recurrent.importance(REVIEW)
    assert tabs(visit(weighed.page())) == ["Tokens"]
    both = visit(make_page([bert.explain(REVIEW).view("bert"), weighed.view("rnn")]))
    assert both.locator(".card .answer").all_inner_texts() == [
        bert.explain(REVIEW).answer.headline,
        weighed.answer.headline,
    ]
    choose(both, "run", "1")
    assert both.locator("#answer").inner_text() == weighed.answer.headline
    both.locator("#tab-tokens").click()
    assert both.locator("#panel-tokens .word").count() == 4


def test_a_class_that_was_asked_for_and_many_classes(visit, classifier_run):  # noqa: F811
    found = jumok.load(classifier_run).explain(REVIEW, label="dull")
    assert visit(found.page()).locator("#answer").inner_text().startswith("dull ")
    view = found.view()
    many = View("many", view.record, view.sides, output=Side("text", ()), classes=[(str(n), 1 / 9) for n in range(9)])
    assert "and 3 less likely ones" in visit(make_page([many])).locator("#classes").inner_text()
