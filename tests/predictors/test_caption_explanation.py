"""A caption explained: words of subwords keep the grid, JSON and PNG have every weight, words that look alike are told."""

import numpy as np
import pytest
import torch
from lens.caption_examples import GRID, LABELS, caption
from PIL import Image
from torch.testing import assert_close

from jumok.errors import ConfigError
from jumok.predictors.caption_explanation import LOOKS_ALIKE


def test_the_heat_of_words_is_the_records_own():
    found = caption("cross", layers=2, heads=3)
    maps = found.record.of_kind("cross")
    mean = torch.stack([one.weights.mean(dim=0) for one in maps]).mean(dim=0)
    heat = found.word_heat()
    assert heat.words == ("a", "red", "tri", "angle", "빨간"), "the end is no word"
    assert_close(heat.heat, mean[:5].view(5, *GRID))
    one = found.word_heat(layer=2, head=3)
    assert_close(one.heat.flatten(1), maps[1].weights[2, :5])
    assert one.title == "cross attention, layer 2, head 3"
    with pytest.raises(ConfigError, match="--layer 3: there are 2"):
        found.word_heat(layer=3)
    assert found.is_over_image()
    assert found.is_over_image("cross")
    assert not found.is_over_image("decoder")
    with pytest.raises(ConfigError, match="--kind encoder: this model has cross, decoder"):
        found.alignment(kind="encoder")


def test_words_of_subwords_look_where_their_pieces_do_on_average():
    found = caption()
    whole = found.in_words()
    assert whole.word_heat().words == ("a", "red", "triangle", "빨간")
    assert whole.record.maps[0].grid == GRID
    weights = found.record.maps[0].weights
    assert_close(whole.word_heat().heat[2].flatten(), weights[0, 2:4].mean(dim=0))
    assert whole.choices[2].probability == pytest.approx(found.choices[2].probability * found.choices[3].probability)
    assert [one.record.maps[0].grid for one in caption(alternatives=2).in_words().alternatives] == [GRID, GRID]


def test_words_that_look_alike_are_told_and_sharp_ones_are_not():
    assert caption(constant=True).warnings == (LOOKS_ALIKE,)
    assert caption("cross", heads=2, layers=2, constant=True).warnings == (LOOKS_ALIKE,)
    assert caption().warnings == ()
    assert caption(maps=False).warnings == ()


def test_without_attention_there_is_a_sentence():
    found = caption(maps=False)
    assert found.note == "This model has no attention to show."
    assert not found.is_over_image()
    assert caption().note == ""


def test_what_json_has():
    told = caption(alternatives=2).to_dict()
    assert told["image"] == "shapes.png"
    assert told["caption"] == "a red triangle 빨간"
    assert [one["caption"] for one in told["n_best"]] == ["a red triangle 빨간", "a blue triangle", "a cross"]
    assert [one["token"] for one in told["choices"]] == list(LABELS)
    assert told["choices"][0]["rivals"][0] == ("▁blue", 0.2)
    assert repr(caption()) == "Explanation('shapes.png' → 'a red triangle 빨간', 1 attention maps)"


def test_a_strip_is_drawn(tmp_path):
    caption().word_heat().save_png(tmp_path / "strip.png")
    with Image.open(tmp_path / "strip.png") as image:
        assert np.asarray(image).std() > 20
