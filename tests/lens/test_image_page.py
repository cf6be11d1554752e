"""The page of an image as a file: what is in it equals the record, whatever the grids; and any record can be laid over an image."""

import base64
import html
import io
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from lens.conftest import IMAGE
from lens.test_html import check_joined, read
from PIL import Image
from torch import nn
from torch.testing import assert_close

import jumok
from jumok.errors import ConfigError
from jumok.inspection.record import AttentionMap, AttentionRecord
from jumok.lens import image_page
from jumok.lens.heat import heat_of
from jumok.lens.image_page import make_image_page
from jumok.lens.image_view import ImageView


def shown_image(run):
    kind, _, rest = run["image"].partition(",")
    assert kind == "data:image/png;base64"
    with Image.open(io.BytesIO(base64.b64decode(rest))) as image:
        return np.asarray(image)


def test_what_is_in_the_page_equals_the_record(vit):
    data, arrays = read(vit.page())
    (run,) = data["runs"]
    assert run["grids"] == {"encoder": {"rows": 4, "columns": 4, "block": 1}}
    for told, found in zip(run["maps"], vit.record.maps, strict=True):
        assert (told["path"], told["kind"]) == (found.path, "encoder")
        assert arrays[told["weights"]].equal(found.weights), "weights are exact"
        assert run["sides"][told["keys"]]["labels"] == [
            "[CLASS]",
            *(f"{r},{c}" for r in range(1, 5) for c in range(1, 5)),
        ]
    assert {one["label"]: one["probability"] for one in run["classes"]} == vit.verdict.probabilities
    assert (run["source"], run["answer"]) == (IMAGE, vit.verdict.label)
    assert_close(arrays[run["heat"]].float(), vit.heat, rtol=0, atol=1e-5)
    assert (shown_image(run) == vit.pixels).all(), "the image as the model saw it"
    assert run["dark"] is False
    night = ImageView("night", vit.record, vit.pixels // 8)
    assert read(make_image_page([night]))[0]["runs"][0]["dark"] is True


def test_details_are_those_of_the_pass_and_positions_have_their_places(vit, swin):
    data, arrays = read(vit.page())
    (run,) = data["runs"]
    for told, found in zip(run["maps"], vit.record.maps, strict=True):
        scores = arrays[told["details"]["query"]] @ arrays[told["details"]["key"]].mT * told["details"]["scale"]
        assert_close(scores.softmax(dim=-1).float(), found.weights, rtol=0, atol=1e-3)
    (table,) = run["positions"]
    assert (table["kind"], table["join"], table["labels"][5]) == ("learned", "add", "2,2")
    assert arrays[table["table"]].shape == (16, 16)
    assert all(told["details"] is None for told in read(swin.page())[0]["runs"][0]["maps"])


def test_too_many_vectors_are_left_out(vit, monkeypatch):
    monkeypatch.setattr(image_page, "MOST_DETAILS", 10)
    data, _ = read(vit.page())
    assert all(told["details"] is None for told in data["runs"][0]["maps"])


def test_a_record_with_details_keeps_them_over_an_image(vit):
    again = ImageView.of_record(vit.record)
    assert [one.labels[0] for one in again.record.positions] == ["1,1"]
    odd = AttentionRecord(vit.record.maps, positions=[replace(vit.record.positions[0], table=torch.zeros(7, 3))])
    assert ImageView.of_record(odd).record.positions == [], "of another grid"


def test_the_stages_of_a_swin_are_kinds_of_their_own(swin):
    data, arrays = read(swin.page())
    (run,) = data["runs"]
    assert run["grids"] == {
        "stage 1": {"rows": 8, "columns": 8, "block": 1},
        "stage 2": {"rows": 4, "columns": 4, "block": 1},
    }
    assert [told["kind"] for told in run["maps"]] == ["stage 1", "stage 2", "stage 2"]
    for told, found in zip(run["maps"], swin.record.maps, strict=True):
        assert arrays[told["weights"]].equal(found.weights)
    assert arrays[run["heat"]].shape == (8, 8)


def test_nothing_is_loaded_from_outside_and_text_stays_text(vit):
    made = vit.page()
    assert set(re.findall(r"https?://[^\s\"'<]+", made.html)) <= {"http://www.w3.org/2000/svg"}
    assert "{{" not in made.html
    assert "@import" not in made.html
    classes = [("</script><b>", 0.5)]
    named = make_image_page([ImageView("</title><script>", vit.record, vit.pixels, "<i>", classes)]).html
    assert named.count("</script>") == made.html.count("</script>")
    assert "<b>" not in named
    check_joined("image")


def test_a_notebook_shows_the_page_in_a_frame(vit):
    shown = vit._repr_html_()
    assert "<title>shapes.png · jumok</title>" in html.unescape(shown)
    assert "<title>an image · jumok</title>" in make_image_page([ImageView("", vit.record)]).html
    assert html.unescape(re.search(r'srcdoc="(.*?)"', shown, re.DOTALL)[1]) == vit.page().html
    assert jumok.show(vit) == vit.page()


def test_a_fine_grid_is_shown_in_blocks():
    torch.manual_seed(1)
    weights = torch.rand(1, 1 + 57 * 30, 1 + 57 * 30).softmax(dim=-1)
    found = AttentionMap("a", "encoder", 0, weights, grid=(57, 30))
    data, arrays = read(make_image_page([ImageView.of_record(AttentionRecord([found]))]))
    (run,) = data["runs"]
    assert run["grids"] == {"encoder": {"rows": 29, "columns": 15, "block": 2}}
    told = arrays[run["maps"][0]["weights"]]
    assert told.shape == (1, 1 + 29 * 15, 1 + 29 * 15)
    block = [1, 2, 1 + 30, 2 + 30]  # the cells of the first block, after the class token
    assert float(told[0, 0, 1]) == pytest.approx(float(weights[0, 0, block].sum()), abs=1e-7)
    assert float(told[0, 1, 0]) == pytest.approx(float(weights[0, block, 0].mean()), abs=1e-7)
    last = float(weights[0, 0, -2:].sum())  # the lowest row has no second one below it
    assert float(told[0, 0, -1]) == pytest.approx(last, abs=1e-7)
    assert_close(told.sum(dim=-1), torch.ones(1, 436))


def test_stages_stay_apart_where_blocks_make_their_grids_alike():
    maps = [AttentionMap(f"a{side}", "window", 0, torch.eye(side * side).expand(heads, -1, -1), grid=(side, side)) for side, heads in ((32, 1), (16, 2))]  # fmt: skip
    (run,) = read(make_image_page([ImageView.of_record(AttentionRecord(maps))]))[0]["runs"]
    assert run["grids"] == {
        "stage 1": {"rows": 16, "columns": 16, "block": 2},
        "stage 2": {"rows": 16, "columns": 16, "block": 1},
    }
    assert [told["kind"] for told in run["maps"]] == ["stage 1", "stage 2"]


def test_very_many_weights_are_rounded():
    weights = torch.rand(9, 500, 500).softmax(dim=-1)
    found = AttentionMap("a", "encoder", 0, weights, grid=(20, 25))
    data, arrays = read(make_image_page([ImageView.of_record(AttentionRecord([found]))]))
    assert data["arrays"][data["runs"][0]["maps"][0]["weights"]]["type"] == "i2"
    assert_close(arrays[0].float(), weights, rtol=0, atol=float(weights.max()) / 60000)


def test_any_record_can_be_laid_over_an_image():
    """A model of somebody's own: 3 × 3 patches and a token before them."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    with jumok.observe(layer) as record:
        layer(torch.randn(2, 10, 8))
    colours = (torch.rand(12, 15, 3) * 255).byte().numpy()
    for image in (colours, Image.fromarray(colours)):
        data, arrays = read(jumok.show(record, image=image))
        (run,) = data["runs"]
        assert run["grids"] == {"encoder": {"rows": 3, "columns": 3, "block": 1}}
        assert (run["height"], run["width"]) == (12, 15)
        assert (shown_image(run) == colours).all()
        assert arrays[run["maps"][0]["weights"]].equal(record.maps[0].weights[0])
    assert shown_image(read(jumok.show(record, image=colours[..., 0]))[0]["runs"][0]).shape == (12, 15)
    assert "grids" not in read(jumok.show(record))[0]["runs"][0], "without an image these are words"
    with pytest.raises(ConfigError, match=r"image has shape \(12, 15, 3\) and numbers of kind float64; give a Pillow"):
        jumok.show(record, image=colours / 255)
    with jumok.observe(layer) as record:
        layer(torch.randn(1, 7, 8))
    with pytest.raises(ConfigError, match="self_attn has 7 × 7 weights, which are not those of a square image's cells"):
        jumok.show(record, image=colours)


def test_windows_of_other_models_are_not_taken_for_images():
    """A Swin of Hugging Face's has a row for each window, and fewer from stage to stage."""
    maps = [AttentionMap(f"stage.{n}", "encoder", n, torch.rand(count, 2, 9, 9)) for n, count in enumerate((16, 4))]
    with pytest.raises(
        ConfigError, match="the maps have different numbers of examples, as where a model looks inside windows"
    ):
        jumok.show(AttentionRecord(maps), image=np.zeros((12, 12, 3), dtype=np.uint8))


def test_a_record_with_grids_needs_no_image(swin):
    data, _ = read(jumok.show(swin.record))
    assert data["runs"][0]["image"] is None
    assert list(data["runs"][0]["grids"]) == ["stage 1", "stage 2"]
    assert data["runs"][0]["heat"] is not None


def test_there_is_no_rollout_through_grids_that_do_not_halve():
    grids = [(6, 6), (2, 2)]
    record = AttentionRecord([AttentionMap("a", "window", n, torch.full((1, r * c, r * c), 1 / (r * c)), grid=(r, c)) for n, (r, c) in enumerate(grids)])  # fmt: skip
    assert heat_of(record) is None
    assert read(jumok.show(record))[0]["runs"][0]["heat"] is None


def test_a_model_without_attention_has_its_classes(cnn, vit):
    data, _ = read(make_image_page([vit.view("vit"), cnn.view("cnn")]))
    assert data["runs"][1]["maps"] == []
    assert data["runs"][1]["note"].startswith("This model has no attention to show: its convolutions")
    assert len(data["runs"][1]["classes"]) == 5
