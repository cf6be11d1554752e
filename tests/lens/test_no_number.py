"""Pages of models whose numbers are none: valid JSON, nothing wrong in a real browser, and words instead of NaN."""

import json
import math
import re
from dataclasses import replace

import pytest
import torch
from cli.conftest import bert_run, classifier_run, copy_run, gpt_run  # noqa: F401 - fixtures
from lens.caption_examples import caption
from lens.drawing_examples import drawing
from lens.test_codes_page import view as codes_view
from lens.test_page import word

import jumok
from jumok.lens.codes_page import make_codes_page
from jumok.lens.packing import Packing

DATA = re.compile(r'<script[^>]*id="data"[^>]*>(.*?)</script>', re.DOTALL)


def spoilt(predictor, *parts):
    """Return a predictor with NaN in the last parameters of its way to an answer; the attention before is sound."""
    found = [value for name, value in predictor.model.named_parameters() if name.startswith(parts)]
    assert found, [name for name, _ in predictor.model.named_parameters()]
    with torch.no_grad():
        for value in found:
            value.fill_(math.nan)
    return predictor


def shown(visit, page):
    """Open a page whose JSON must be valid; return the tab, in which nothing says NaN."""

    def refused(name):
        raise AssertionError(f"{name} is no JSON")

    json.loads(DATA.search(page.html)[1].replace("\\u003c", "<"), parse_constant=refused)
    tab = visit(page)
    for one in tab.locator("[role=tab]").all():
        one.click()
    text = tab.locator("body").inner_text()
    assert not re.search(r"NaN|undefined|null|Infinity", text)
    return tab


def test_a_translation(visit, copy_run):  # noqa: F811
    found = spoilt(jumok.load(copy_run), "decoder.final", "decoder.layers.1.feedforward").explain("a b", details=True)
    tab = shown(visit, found.page())
    word(tab, "query", 0).hover()
    assert "not a number likely" in tab.locator("#pointed").inner_text()
    assert set(tab.locator("#sentence [data-side=query] .word small").all_inner_texts()) == {"–"}


def test_masks(visit, bert_run):  # noqa: F811
    found = spoilt(jumok.load(bert_run), "project").explain("the [MASK] was lovely")
    tab = shown(visit, found.page())
    word(tab, "query", 2).hover()
    assert "not a number" in tab.locator("#pointed").inner_text()


def test_a_continuation(visit, gpt_run):  # noqa: F811
    tab = shown(visit, spoilt(jumok.load(gpt_run), "stack.layers.0.feedforward").explain("the ", target="cat").page())
    word(tab, "query", 5).hover()
    assert "not a number" in tab.locator("#pointed").inner_text()


def test_classes_of_a_text(visit, classifier_run):  # noqa: F811
    tab = shown(visit, spoilt(jumok.load(classifier_run), "project").explain("the play was superb").page())
    assert "not a number" in tab.locator("#classes").inner_text()


def test_classes_of_an_image(visit, vit):
    unknown = replace(
        vit, verdict=replace(vit.verdict, probabilities=dict.fromkeys(vit.verdict.probabilities, math.nan))
    )
    tab = shown(visit, unknown.page())
    assert "not a number" in tab.locator("body").inner_text()


def test_a_caption_and_a_drawing(visit):
    one = caption("cross", layers=2, heads=3)
    unknown = replace(
        one,
        answer=replace(one.answer, score=math.nan),
        choices=tuple(replace(choice, probability=math.nan) for choice in one.choices),
    )
    tab = shown(visit, unknown.page())
    assert "–" in tab.locator("body").inner_text()
    unknown = replace(drawing(), probabilities=torch.full((3, 5), math.nan))
    shown(visit, unknown.page())


def test_codes_that_tell_all_of_an_image(visit):
    """The distance to the image itself is infinite."""
    tab = shown(visit, make_codes_page([replace(codes_view(), psnr=math.inf, ssim=1.0)]))
    assert "PSNR ∞ dB · SSIM 1.000" in tab.locator("#reference").inner_text()


@pytest.mark.parametrize("numbers", [[math.nan, 1.0], [math.inf, -2.0]])
def test_numbers_that_nothing_can_be_rounded_by_are_packed_as_they_are(numbers):
    packing = Packing()
    packing.rounded(torch.tensor(numbers), 9)
    assert packing.places == [{"type": "f4", "shape": (2,), "start": 0}]
