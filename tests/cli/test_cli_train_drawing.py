"""`jumok train` of image codes and drawers: every option of their models trains, scores and draws."""

import tomllib

import pytest
from cli.conftest import jumok

from jumok.workflows.schema import recipe_schema

CODES_RECIPE = """
task = "image-codes"
[data]
set = "shapes"
set_size = 40
size = 16
[model]
name = "image-codes"
halvings = 2
width = 8
most_width = 8
[training]
batch_size = 8
workers = 1
"""
DRAWER_RECIPE = """
task = "text-to-image"
[data]
set = "shapes"
set_size = 40
[tokenizer]
kind = "word"
[model]
name = "dalle"
codes = "CODES"
layers = 1
width = 16
heads = 2
feedforward = 16
[training]
batch_size = 8
workers = 1
"""
CODES_OPTIONS = {
    "fsq": ["model.halvings=1", "model.width=16", "model.most_width=24", "model.blocks=2", "model.levels=[3,2]",
            "model.loss=l1", "model.name=image-codes", "model.quantiser=fsq"],
    "vq": ["model.quantiser=vq", "model.codes=5", "model.code_width=3", "model.commitment=0.5"],
    "preset": ["model.preset=fine"],
}  # fmt: skip
DRAWER_OPTIONS = {
    "sizes": ["model.layers=2", "model.width=24", "model.heads=3", "model.feedforward=0", "model.activation=relu",
              "model.norm_position=post", "model.dropout=0.2", "model.attention_dropout=0.1", "model.name=dalle"],
    "losses": ["model.text_share=0", "model.text_dropout=0.5", "training.label_smoothing=0.1"],
    "withheld": ["data.withhold=true", "data.brief=true", "model.text_share=0.5"],
    "decoding": ["decoding.guidance=2.5", "decoding.temperature=0.7", "decoding.top_k=3", "decoding.seed=7"],
    "preset": ["model.preset=tiny"],
}  # fmt: skip
FILLED_IN = {"image_size", "channels", "vocabulary", "code_count", "rows", "columns", "longest_text"}
ELSEWHERE = {"codes", "perceptual", "critic"}  # every drawer here has codes; tests/tasks/test_image_codes.py


def train(folder, recipe, options):
    """Train a few steps; return the run's folder, after a look at what its recipe kept."""
    path, run = folder / "recipe.toml", folder / "run"
    path.write_text(recipe, encoding="utf-8")
    given = [*options, "training.steps=3", "training.evaluate_every=3"]
    done = jumok("train", path, "--out", run, *(part for override in given for part in ("--set", override)))
    assert done.code == 0, done.err
    saved = tomllib.loads((run / "recipe.toml").read_text(encoding="utf-8"))
    for override in options:
        key, _, text = override.partition("=")
        section, name = key.split(".")
        try:
            wanted = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            wanted = text
        assert saved[section][name] == wanted
    return run


@pytest.fixture(scope="module")
def codes(tmp_path_factory):
    """A small run of image codes."""
    return train(tmp_path_factory.mktemp("codes"), CODES_RECIPE, [])


@pytest.mark.parametrize("group", CODES_OPTIONS)
def test_every_option_of_image_codes_trains_and_shows(tmp_path, group):
    run = train(tmp_path, CODES_RECIPE, CODES_OPTIONS[group])
    assert jumok("sample", "shapes", tmp_path / "image.png").code == 0
    shown = jumok("look", run, tmp_path / "image.png", "--json")
    assert shown.code == 0, shown.err


@pytest.mark.parametrize("group", DRAWER_OPTIONS)
def test_every_option_of_a_drawer_trains_and_draws(tmp_path, group, codes):
    run = train(tmp_path, DRAWER_RECIPE.replace("CODES", str(codes)), DRAWER_OPTIONS[group])
    drawn = jumok("draw", run, "a small red circle at the top left", "--out", tmp_path / "drawn")
    assert drawn.code == 0, drawn.err
    assert drawn.out.count(".png\n") == 1


def test_the_groups_leave_no_option_out():
    definitions = recipe_schema()["$defs"]
    for name, groups in (("ImageCodesConfig", CODES_OPTIONS), ("DalleConfig", DRAWER_OPTIONS)):
        reached = {override.partition("=")[0] for options in groups.values() for override in options}
        known = {f"model.{key}" for key in set(definitions[name]["properties"]) - FILLED_IN - ELSEWHERE}
        assert known - reached == set()
