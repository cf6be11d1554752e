"""Whole layers on a page: its numbers are enough to compute each layer again, and what it shows is what the model had."""

import json
from itertools import pairwise

import pytest
import torch
from cli.conftest import copy_run  # noqa: F401 - a fixture
from inspection.test_layers import normed, passed
from lens.test_html import random_explanation, read
from lens.test_page import choose, word
from torch.nn import functional as F
from torch.testing import assert_close

import jumok
from jumok.inspection.layers import LayerDetails, Matrix, NormDetails, Sublayer
from jumok.lens.html import make_page

TEXT = "k c a z m"


@pytest.fixture(scope="module")
def explanation(copy_run):  # noqa: F811
    return jumok.load(copy_run).explain(TEXT, details=True)


def layers_of(page):
    """Return the layers of a page as a record has them, made of the page's own numbers."""
    data, arrays = read(page)
    (run,) = data["runs"]
    outputs = {told["path"]: told["details"]["output"] for told in run["maps"]}

    def numbers(place):
        return None if place is None else arrays[place].float()

    def norm(told):
        return told and NormDetails(*map(numbers, (told["scale"], told["shift"])), told["epsilon"], numbers(told["mean"]), numbers(told["variance"]))  # fmt: skip

    def sublayer(told):
        output = numbers(outputs.get(told["path"]) if told["output"] is None else told["output"])
        matrices = {name: Matrix(numbers(one["weight"]), numbers(one["bias"])) for name, one in told["matrices"].items()}  # fmt: skip
        return Sublayer(told["path"], output, norm(told["norm"]), told["pre"], told["residual"], numbers(told["hidden"]), told["activation"], matrices)  # fmt: skip

    return [
        LayerDetails(
            told["path"],
            numbers(told["before"]),
            tuple(map(sublayer, told["sublayers"])),
            torch.empty(0),
            numbers(told["embedded"]),
            told["positions"],
            norm(told["final"]),
        )
        for told in run["layers"]
    ]


@pytest.mark.parametrize("name", ["copy", "large"])
def test_layers_can_be_computed_from_the_pages_numbers(name, explanation):
    """A page of few numbers has them in 16 bits; a large one in fewer."""
    view = explanation.view() if name == "copy" else random_explanation()
    page, tolerance = make_page([view]), 1e-3 if name == "copy" else 3e-2
    layers, recorded = layers_of(page), {layer.path: layer for layer in view.record.layers}
    assert [layer.path for layer in layers] == list(recorded)
    for layer in layers:
        tokens = len(layer.before)
        wanted = recorded[layer.path].cut(tokens).after
        assert_close(passed(layer), wanted, rtol=0, atol=tolerance * float(wanted.abs().max()))
    for layer, following in pairwise(layers):
        if layer.path.split(".")[0] == following.path.split(".")[0]:
            wanted = following.before
            assert_close(passed(layer), wanted, rtol=0, atol=tolerance * float(wanted.abs().max()))


def test_the_last_vectors_give_the_probabilities_of_the_answer(explanation, copy_run):  # noqa: F811
    last = layers_of(explanation.page())[-1]
    states = passed(last) if last.final is None else normed(passed(last), last.final)
    shares = jumok.load(copy_run).model.project(states).softmax(dim=-1)
    chosen = [choice.probability for choice in explanation.choices]
    assert shares.amax(dim=-1).tolist() == pytest.approx(chosen, abs=0.01)


def test_matrices_come_along_where_they_are_few_or_wanted(explanation):
    assert all(one.matrices for layer in layers_of(explanation.page()) for one in layer.sublayers)
    assert not any(one.matrices for layer in layers_of(explanation.page(matrices=False)) for one in layer.sublayers)
    large = random_explanation(3, 3)
    assert not layers_of(make_page([large]))[0].sublayers[0].matrices
    layer = layers_of(make_page([large], matrices=True))[0]
    attention, feedforward = layer.sublayers
    (found,) = [one for one in large.record.maps if one.path == attention.path]
    query = attention.matrices["query"]
    queries = F.linear(layer.before, query.weight, query.bias).unflatten(-1, (4, -1)).transpose(0, 1)
    assert_close(queries, found.details.query, rtol=0, atol=0.02 * float(found.details.query.abs().max()))
    state = normed(layer.before + attention.output, attention.norm)
    hidden = F.linear(state, feedforward.matrices["expand"].weight, feedforward.matrices["expand"].bias)
    assert_close(hidden, feedforward.hidden, rtol=0, atol=0.02 * float(hidden.abs().max()))


def written(tab, stage, strip=-1):
    """Return the numbers of a stage's strip."""
    tab.click(f"[data-stage={stage}]")
    tab.locator(".vector.new canvas").nth(strip).click()
    return torch.tensor(json.loads(tab.locator(".steps .all-numbers").inner_text().rpartition(" = ")[2]))


def check_strip(tab, stage, wanted):
    assert_close(written(tab, stage), wanted, rtol=0, atol=2e-3 * float(wanted.abs().max()) + 1e-3, msg=stage)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_every_stage_of_a_layer_is_what_the_model_had(visit, explanation, kind):
    tab, place = visit(explanation.page()), 2
    choose(tab, "kind", kind)
    word(tab, "query", place).click()
    tab.mouse.move(5, 5)
    tab.click("#tab-steps")
    path = explanation.record.of_kind(kind)[-1].path
    layer = next(one for one in explanation.record.layers if path.startswith(f"{one.path}."))
    tokens = len(explanation.record.of_kind("encoder" if kind == "encoder" else "decoder")[0].queries)
    cut = layer.cut(tokens)
    table = next(one for one in explanation.record.positions if one.path == layer.positions)
    check_strip(tab, "embedding", cut.embedded[place])
    check_strip(tab, "position", table.table[place])
    check_strip(tab, "input", cut.before[place])
    stream = cut.before
    for one in cut.sublayers:
        name = one.path.split(".")[-1]
        output = "output" if one.path == path else f"{name}-output"
        check_strip(tab, output, one.output[place])
        if one.hidden is not None:
            hidden = written(tab, f"{name}-hidden")
            assert_close(hidden, one.hidden[place], rtol=0, atol=5e-3 * float(one.hidden.abs().max()) + 1e-3)
            assert_close(written(tab, f"{name}-activation"), hidden.relu(), rtol=0, atol=2e-3)
        summed, before = stream + one.output, stream
        check_strip(tab, f"{name}-residual", summed[place])
        stream = summed if one.pre else normed(summed, one.norm)
        check_strip(tab, f"{name}-norm", normed(before, one.norm)[place] if one.pre else stream[place])
    assert_close(stream, cut.after)
    check_strip(tab, "result", cut.after[place] if cut.final is None else normed(cut.after[place], cut.final))
    rows = [row.inner_text().split("\n") for row in tab.locator(".results li").all()]
    if kind == "encoder":
        assert not rows, "an encoder writes nothing"
        assert "keys and values" in tab.locator(".steps .remark").inner_text()
    else:
        choice = explanation.choices[place]
        wanted = [(choice.token, choice.probability), *choice.rivals]
        assert rows == [[token, f"{100 * share:.1f} %"] for token, share in wanted]


def test_one_walks_from_the_embedding_to_the_result(visit, explanation):
    tab = visit(explanation.page())
    tab.click("#tab-steps")
    names = tab.locator("[data-stage]").evaluate_all("all => all.map((one) => one.dataset.stage)")
    assert len(set(names)) == len(names)
    for name in names:
        assert tab.locator("[aria-current=step]").get_attribute("data-stage") == name
        if name != names[-1]:
            tab.click("[data-next]")
    assert tab.locator("[data-next]").is_disabled()
    captions = tab.locator(".stages .caption").all_inner_texts()
    assert captions == ["input", "self-attention", "cross-attention", "feed-forward", "output"]


def test_matrices_fold_out(visit, explanation):
    tab = visit(explanation.page())
    tab.click("#tab-steps")
    choose(tab, "head", 1)
    tab.click("[data-stage=query]")
    tab.click(".fold summary")
    tab.wait_for_selector("[data-matrix]")
    names = tab.locator("[data-matrix]").evaluate_all("all => all.map((one) => one.dataset.matrix)")
    assert set(names) == {"query", "key", "value", "output"}
    layer = explanation.record.layers[-1]
    weight = next(one for one in layer.sublayers if one.path.endswith("cross")).matrices["query"].weight
    canvas = tab.locator("[data-matrix=query] canvas")
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] - 2, "y": box["height"] - 2})
    told = tab.locator("[data-matrix=query] .readout").inner_text()
    rows, columns = weight.shape
    place, _, value = told.partition(": ")
    assert place == f"{rows // 2}, {columns}", "the rows of one of two heads"
    assert float(value.replace("−", "-")) == pytest.approx(float(weight[-1, -1]), abs=float(weight.abs().max()) / 100)
    bare = visit(explanation.page(matrices=False))
    bare.click("#tab-steps")
    bare.click("[data-stage=query]")
    bare.click(".fold summary")
    bare.wait_for_selector(".matrices .note")
    assert "--matrices keeps them" in bare.locator(".matrices").inner_text()


def test_the_layers_of_an_image(visit, vit):
    tab = visit(vit.page())
    layer = vit.record.layers[-1].cut(17)
    choose(tab, "layer", 3)
    tab.locator(".patch[data-place='6']").click()
    tab.mouse.move(5, 5)
    tab.click("#tab-steps")
    check_strip(tab, "input", layer.before[6])
    for one in layer.sublayers:
        name = one.path.split(".")[-1]
        check_strip(tab, "output" if name == "attention" else f"{name}-output", one.output[6])
    check_strip(tab, "feedforward-residual", layer.after[6])
    check_strip(tab, "final-norm", normed(layer.after[6], layer.final))
    tab.click("[data-stage=result]")
    rows = [row.inner_text().split("\n") for row in tab.locator(".results li").all()]
    assert rows == [[label, f"{100 * share:.1f} %"] for label, share in vit.verdict.probabilities.items()]
    choose(tab, "layer", 1)
    assert tab.locator("[data-stage=embedding]").count() == 1
    tab.locator(".patch[data-place='0']").click()
    tab.wait_for_timeout(100)
    assert tab.locator("[data-stage=embedding]").count() == 0, "a class token has no pixels"


def test_positions_as_a_table_of_64_rows_and_by_similarity(visit, explanation):
    tab = visit(explanation.page())
    tab.click("#tab-positions")
    canvas = tab.locator("#panel-positions canvas").first
    assert canvas.bounding_box()["height"] == 64 * 16
    canvas.hover(position={"x": canvas.bounding_box()["width"] - 2, "y": 16 * 63.5})
    table = explanation.record.positions[0].table
    told = tab.locator("#panel-positions .readout").first.inner_text()
    assert told == f"position 63, feature 31: {float(table[63, 31]):.4f}".replace("-", "−")
    tab.locator("#panel-positions [value=similarity]").check()
    canvas = tab.locator("#panel-positions canvas").first
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] - 2, "y": 26})  # beside the numbers of positions
    cosine = float(F.cosine_similarity(table[0], table[63], dim=0))
    told = tab.locator("#panel-positions .readout").first.inner_text().replace("−", "-")
    assert told.startswith("0 (k) and 63: ")
    assert float(told.rpartition(" ")[2]) == pytest.approx(cosine, abs=2e-3)


def test_the_positions_of_patches_are_compared_in_a_grid(visit, vit):
    tab = visit(vit.page())
    tab.click("#tab-positions")
    tab.locator("#panel-positions [value=similarity]").check()
    canvas = tab.locator("#panel-positions canvas")
    box, table = canvas.bounding_box(), vit.record.positions[0].table
    across, down = box["width"] / 4, box["height"] / 4  # a small map for each of 4 × 4 patches
    canvas.hover(position={"x": across * 2 + 2, "y": down * 1 + 2})
    told = tab.locator("#panel-positions .readout").inner_text().replace("−", "-")
    assert told.startswith("2,3 and 1,1: ")
    cosine = float(F.cosine_similarity(table[6], table[0], dim=0))
    assert float(told.rpartition(" ")[2]) == pytest.approx(cosine, abs=2e-3)
