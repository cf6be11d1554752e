"""The page of a caption as a file: what is in it equals the record, nothing is loaded from outside."""

import html
import re

import numpy as np
import pytest
import torch
from lens.caption_examples import GRID, LABELS, caption, noisy_image
from lens.test_html import check_joined, read
from torch.testing import assert_close

import jumok
from jumok.inspection.data_url import as_data_url, from_data_url
from jumok.lens.caption_page import make_caption_page
from jumok.predictors.caption_explanation import LOOKS_ALIKE


def test_the_numbers_are_the_records_own():
    found = caption("cross", layers=2, heads=3, alternatives=2)
    data, arrays = read(found.page())
    (run,) = data["runs"]
    assert [one["kind"] for one in run["maps"]] == ["cross", "decoder"] * 2
    for told, one in zip(run["maps"], found.record.maps, strict=True):
        assert arrays[told["weights"]].equal(one.weights)
    assert run["grids"] == {"cross": {"rows": 3, "columns": 5, "block": 1}}
    assert run["sides"][run["maps"][0]["keys"]]["labels"][:6] == ["1,1", "1,2", "1,3", "1,4", "1,5", "2,1"]
    assert run["sides"][run["maps"][0]["queries"]]["labels"] == list(LABELS)
    assert [one["text"] for one in run["answers"]] == ["a red triangle 빨간", "a blue triangle", "a cross"]
    for told, one in zip(run["alternatives"], found.alternatives, strict=True):
        assert told["answer"] == one.answer.text
        assert_close(arrays[told["maps"][0]["weights"]].float(), one.record.maps[0].weights, atol=1e-4, rtol=0)
    assert (from_data_url(run["image"]) == found.pixels).all(), "the image as the model saw it"
    assert (run["width"], run["height"], run["dark"]) == (20, 12, False)
    assert data["words"] is True


def test_warnings_notes_and_dark_images():
    (run,) = read(caption(constant=True, pixels=noisy_image(30)).page())[0]["runs"]
    assert run["warnings"] == [LOOKS_ALIKE]
    assert run["dark"]
    (run,) = read(caption(maps=False).page())[0]["runs"]
    assert run["note"] == "This model has no attention to show."
    assert run["maps"] == []


def test_a_fine_grid_is_shown_in_blocks():
    found = caption(grid=(31, 57))
    data, arrays = read(found.page())
    (run,) = data["runs"]
    assert run["grids"] == {"recurrent": {"rows": 16, "columns": 29, "block": 2}}
    weights, told = found.record.maps[0].weights[0], arrays[run["maps"][0]["weights"]][0]
    assert_close(told[2, 0], weights[2].view(31, 57)[:2, :2].sum(), atol=1e-6, rtol=0)
    assert_close(told.sum(dim=-1), torch.ones(len(LABELS)))


def test_a_photograph_is_kept_as_a_jpeg_and_can_be_made_smaller():
    noise = np.random.default_rng(3).integers(0, 255, (301, 199, 3)).astype(np.uint8)
    told = as_data_url(noise)
    assert told.startswith("data:image/jpeg;base64,")
    assert from_data_url(told).shape == (301, 199, 3)
    assert from_data_url(as_data_url(noise, longest=60)).shape == (60, 40, 3)
    assert from_data_url(as_data_url(noise[:, :, :1], exact=10**9)).shape == (301, 199), "grey has one channel"


def test_nothing_is_loaded_from_outside_and_text_stays_text():
    made = make_caption_page([caption(alternatives=1).view("</title><script>")])
    assert set(re.findall(r"https?://[^\s\"'<]+", made.html)) <= {"http://www.w3.org/2000/svg"}
    assert "{{" not in made.html
    assert made.html.count("</script>") == caption().page().html.count("</script>")
    check_joined("caption")
    check_joined("caption_film")


def test_a_notebook_shows_the_page_in_a_frame():
    found = caption()
    assert html.unescape(re.search(r'srcdoc="(.*?)"', found._repr_html_(), re.DOTALL)[1]) == found.page().html
    assert jumok.show(found) == found.page()
    assert "<title>shapes.png → a red triangle 빨간 · jumok</title>" in found.page().html


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_both_languages(lang):
    assert f'<html lang="{lang}">' in caption().page(lang=lang).html
    assert read(caption().page())[0]["texts"]["ko"]["Word by word"] == "단어별로"
    assert GRID == (3, 5)
