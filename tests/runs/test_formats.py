"""Runs of format 1, from before images were images: used as they are, never trained on."""

import json
import shutil
import tomllib
from pathlib import Path

import pytest
import tomli_w
from safetensors.torch import load_file, save_file

from jumok import api
from jumok.config import DecodingConfig, TokenizerConfig
from jumok.config.recipe import LAST_LINE
from jumok.errors import RunError
from jumok.runs import formats

BERT = """
task = "masked-language-modeling"
[data]
train = "text.txt"
documents = "line"
masked = 0.2
next_sentence = true
[tokenizer]
kind = "word"
vocabulary = 60
[model]
name = "bert"
layers = 1
width = 8
heads = 2
feedforward = 8
max_positions = 16
[training]
steps = 2
batch_tokens = 200
"""
VIT = """
task = "image-classification"
[data]
set = "shapes"
set_size = 40
size = 16
[model]
name = "vit"
preset = "small-images"
layers = 1
width = 8
heads = 2
feedforward = 8
[training]
steps = 2
batch_size = 20
"""


def as_in_format_1(run: Path) -> None:
    """Write a run's folder as the first format had it."""
    raw = tomllib.loads((run / "recipe.toml").read_text())
    raw["task"] = {new: old for old, new in formats.TASKS.items()}[raw["task"]]
    if "masked" in raw["data"]:
        raw["data"]["gaps"] = raw["data"].pop("masked")
    if "image_size" in raw["model"]:
        raw["model"]["picture_size"] = raw["model"].pop("image_size")
        raw["model"]["preset"] = "small-pictures"
    raw = {"tokenizer": TokenizerConfig().model_dump(), "decoding": DecodingConfig().model_dump(), **raw}
    (run / "recipe.toml").write_text(f"{tomli_w.dumps(raw)}\n{LAST_LINE}\n")
    facts = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(facts | {"format": 1}))
    old = {"transform_norm.": "gap_norm.", "transform.": "gap.", "next_sentence.": "follows."}
    for file in {path.resolve() for path in run.glob("*/model.safetensors")}:
        tensors = {}
        for name, value in load_file(file).items():
            prefix = next((new for new in old if name.startswith(new)), "")
            tensors[old.get(prefix, "") + name.removeprefix(prefix)] = value
        save_file(tensors, file)


@pytest.fixture(scope="module", params=["bert", "vit"])
def runs(request, tmp_path_factory):
    """Return the recipe of a run, the run, and the same in format 1."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "text.txt").write_text("".join(f"the {a} was {b}\n" for a in "abcde" for b in "fghij"))
    recipe = folder / "recipe.toml"
    recipe.write_text({"bert": BERT, "vit": VIT}[request.param])
    run = api.train(recipe, out=folder / "today")
    old = Path(shutil.copytree(run, folder / "earlier", symlinks=True))
    as_in_format_1(old)
    return recipe, run, old


def test_a_run_of_format_1_scores_as_it_did(runs):
    _, run, old = runs
    assert b"picture" in (old / "recipe.toml").read_bytes() or b'masked-language"' in (old / "recipe.toml").read_bytes()
    assert api.evaluate(old) == api.evaluate(run)


def test_it_does_not_go_on_but_another_run_may_start_from_it(runs, tmp_path):
    recipe, _, old = runs
    with pytest.raises(RunError, match=r"begun with an earlier jumok \(run format 1\).*training\.init="):
        api.train(recipe, out=old, resume=True)
    job = api.prepare_job(recipe, out=tmp_path / "new", overrides=[f"training.init={old}"])
    assert "start from" in job.notes[0]
    assert not any(note.startswith(("new:", "not used:")) for note in job.notes)


def test_formats_from_the_future_are_refused(runs, tmp_path):
    _, run, _ = runs
    copied = Path(shutil.copytree(run, tmp_path / "later", symlinks=True))
    facts = json.loads((copied / "run.json").read_text())
    (copied / "run.json").write_text(json.dumps(facts | {"format": 3}))
    with pytest.raises(RunError, match=r"has run format 3, this jumok .* reads formats 1 and 2"):
        api.load(copied)
