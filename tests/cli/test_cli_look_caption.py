"""`jumok look` at captioners: strips, small maps, JSON, pages and films of runs, and what it refuses."""

import json
import math

import numpy as np
import pytest
import torch
from cli.conftest import jumok, refusal, train_once, write_recipe
from PIL import Image
from torch.testing import assert_close

import jumok as library
from jumok.config import DecodingConfig
from jumok.data.builtin import shapes
from jumok.predictors.caption_explanation import LOOKS_ALIKE

RECIPE = """
task = "image-captioning"
[data]
set = "shapes"
set_size = 24
size = 16
loaders = 0
[tokenizer]
kind = "word"
[model]
name = "captioner"
{model}
dropout = 0.0
[model.encoder]
name = "cnn"
width = 8
stages = 2
[training]
steps = 3
batch_size = 8
warmup = 1
evaluate_every = 3
save_every = 3
evaluate_sentences = 3
probes = 2
"""
MODELS = {
    "attend": 'decoder = "recurrent"\nattention = "mlp"\nwidth = 11\nembedding_width = 7',
    "caption": 'decoder = "transformer"\nlayers = 2\nheads = 2\nwidth = 12\nfeedforward = 13',
    "tell": 'decoder = "recurrent"\nattention = "none"\nwidth = 11\nembedding_width = 7',
}


def run_of(tmp_path_factory, name):
    return train_once(tmp_path_factory, f"captions-{name}", write_recipe(RECIPE.format(model=MODELS[name])))


@pytest.fixture(scope="module")
def attend(tmp_path_factory):
    return run_of(tmp_path_factory, "attend")


@pytest.fixture(scope="module")
def transformer(tmp_path_factory):
    return run_of(tmp_path_factory, "caption")


@pytest.fixture(scope="module")
def tell(tmp_path_factory):
    return run_of(tmp_path_factory, "tell")


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    file = tmp_path_factory.mktemp("images") / "scene.png"
    shapes.draw(shapes.scene("test", 27), 32).save(file)
    return file


SHORT = ("--max-length", 7)


@pytest.mark.parametrize("name", ["attend", "caption"])
def test_an_explanation_is_of_the_caption_that_is_written(tmp_path_factory, image, name):
    writer = library.load(run_of(tmp_path_factory, name))
    options = DecodingConfig(beam=3, n_best=3, max_length=7)
    found = writer.explain(image, options=options, every=True)
    assert found.answer.text == writer.caption(image, options=options)
    [answers] = writer.answers([image], options=options)
    assert [one.text for one in (found.answer, *found.others)] == [one.text for one in answers]
    for one in (found, *found.alternatives):
        chosen = sum(math.log(choice.probability) for choice in one.choices[: None if one.answer.finished else -1])
        assert chosen == pytest.approx(one.answer.log_probability, abs=1e-3), "search score = rescoring"
    again = writer.explain(image, target=found.answer.text, options=options)
    kind = "recurrent" if name == "attend" else "cross"
    for one, other in zip(found.record.of_kind(kind), again.record.of_kind(kind), strict=True):
        assert one.grid == other.grid == (8, 8)
        assert_close(one.weights, other.weights, atol=1e-5, rtol=1e-4)
        assert_close(one.weights.sum(dim=-1), torch.ones(one.weights.shape[:2]))


def test_images_keep_their_shape(attend, tmp_path):
    wide = shapes.draw(shapes.scene("test", 5), 60).resize((60, 30))
    wide.save(tmp_path / "wide.png")
    found = library.load(attend).explain(tmp_path / "wide.png", options=DecodingConfig(max_length=3))
    assert found.pixels.shape == (16, 32, 3)
    assert found.record.maps[0].grid == (8, 8), "cells are as oblong as the image"


def test_the_terminal_has_a_small_map_per_word(attend, image):
    done = jumok("look", attend, image, *SHORT)
    assert done.code == 0
    caption = library.load(attend).caption(image, options=DecodingConfig(max_length=7))
    assert done.out.startswith(f"{image}  →  {caption}\n")
    assert "recurrent attention, its one layer, its one head" in done.out
    assert done.out.count("██") >= len(caption.split()), "each has its own strongest cell"
    assert LOOKS_ALIKE.split(":")[0] in done.err, "hardly trained: all words look everywhere"


def test_json_has_the_weights_of_each_word(transformer, image):
    done = jumok("look", transformer, image, *SHORT, "--json", "--layer", 2, "--head", 1)
    told = json.loads(done.out)
    found = library.load(transformer).explain(image, options=DecodingConfig(max_length=7))
    assert told["caption"] == found.answer.text
    assert told["grid"] == [8, 8]
    assert told["what"] == "cross attention, layer 2, head 1"
    weights = found.record.of_kind("cross")[1].weights[0]
    assert_close(torch.tensor(told["weights"]).flatten(1), weights[: len(told["words"])], atol=1e-6, rtol=0)
    assert told["choices"][0]["token"] == told["words"][0]
    back = json.loads(jumok("look", transformer, image, *SHORT, "--json", "--kind", "decoder").out)
    assert back["keys"][0] == "[START]"


def test_a_strip_a_page_and_several_runs(attend, transformer, tell, image, tmp_path):
    done = jumok("look", attend, image, *SHORT, "--png", tmp_path / "strip.png", "--target", "a red 별")
    assert done.code == 0, done.err
    with Image.open(tmp_path / "strip.png") as drawn:
        assert np.asarray(drawn).std() > 20
    done = jumok("look", transformer, attend, tell, image, *SHORT, "--html", tmp_path / "page.html")
    assert done.code == 0, done.err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "there is no attention to show" in page
    assert f"page: {tmp_path / 'page.html'}" in done.out


def test_what_heads_were_worth(transformer, image):
    done = jumok("look", transformer, image, *SHORT, "--importance")
    assert done.code == 0, done.err
    table = done.out.partition("dearest first:")[2]
    assert table.count("cross") == 4
    assert table.count("decoder") == 4


def test_without_attention_there_is_a_sentence_and_no_page(tell, image, tmp_path):
    done = jumok("look", tell, image, *SHORT, "--html", tmp_path / "page.html")
    assert done.code == 0
    assert "This model gets one vector of the image for every word: there is no attention to show." in done.out
    assert "probability" in done.out
    assert not (tmp_path / "page.html").exists()
    told = json.loads(jumok("look", tell, image, *SHORT, "--json").out)
    assert told["weights"] is None
    assert "no attention" in told["note"]


def test_films_of_captioners(attend, tell, tmp_path):
    done = jumok("look", attend, "--film")
    assert done.code == 0, done.err
    assert "words apart" in done.out
    assert "This is the first of 2 images; --open or --html FILE shows all." in done.out
    done = jumok("look", attend, "--film", "--html", tmp_path / "film.html")
    assert done.code == 0, done.err
    assert "data:image/" in (tmp_path / "film.html").read_text(encoding="utf-8")
    assert "looks nowhere" in jumok("look", tell, "--film").err


def test_what_is_refused(attend, transformer, image, tmp_path):
    refused = {
        ("--to", "ko"): f"--to is for translation; {attend} describes images",
        ("--matrices", "--html", tmp_path / "a.html"): "--matrices is for the page of a text or a classified image; leave it out",
        ("--layer", 2): "--layer 2: there are 1",
        ("--kind", "decoder"): "--kind decoder: this model has recurrent",
        ("--temperature", 2): f"--temperature is for language models; {attend} describes images",
    }  # fmt: skip
    for options, message in refused.items():
        assert refusal(jumok("look", attend, image, *options)) == message
    assert refusal(jumok("look", attend, tmp_path / "none.png")).startswith(
        f"there is no image {tmp_path / 'none.png'}"
    )
    for name in ("a.png", "b.png"):
        Image.new("RGB", (9, 9)).save(tmp_path / name)
    assert refusal(jumok("look", attend, tmp_path)) == f"look shows one image, {tmp_path} holds 2; name one, for example {tmp_path / 'a.png'}"  # fmt: skip
