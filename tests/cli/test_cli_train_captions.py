"""Every option of a captioner and of its data trains, scores and describes."""

import tomllib

import pytest
from cli.conftest import CAPTIONER_RECIPE, jumok

from jumok.workflows.schema import recipe_schema

OWN = "model.encoder={name='cnn', width=8, stages=2, blocks=1"
OPTIONS = {
    "tell": ["model.attention=none", "model.cell=gru", "model.layers=2", "model.embedding_width=12"],
    "attend": [
        "model.attention=dot", "model.gate=false", "model.doubly_stochastic=0.5", "model.cell_positions=none",
        "model.width=24", "model.dropout=0.2", "model.tied=false",
    ],
    "transformer": [
        "model.decoder=transformer", "model.heads=2", "model.feedforward=20", "model.activation=gelu",
        "model.norm_position=post", "model.width=16",
    ],
    "preset": ["model.preset=tell", "model.name=captioner", "training.workers=1"],
    "encoder": [f"{OWN}, stem_pool=true, norm='batch'}}", "training.workers=1"],
    "data": [
        "data.set=shapes", "data.captions=plain", "data.size=20", "data.channels=1", "data.lowercase=true",
        "data.punctuation=false", "data.max_length=60", "data.limit=50", "data.fit=pad", "data.loaders=0",
        "data.augment={jitter=0.1}", "data.mean=[0.5]", "data.deviation=[0.3]", "data.set_size=60",
        "tokenizer.kind=bpe", "tokenizer.vocabulary=300", "tokenizer.target_dropout=0.1",
    ],
    "withheld": ["data.withhold=true", "data.brief=true", "data.captions=relations"],
    "rewarded": ["training.self_critical=greedy"],
    "own words": ["training.teacher_forcing=0.5"],
}  # fmt: skip
FILES = {"train", "val", "test", "folder", "hold_out"}  # tests/data/images, tests/cli/test_cli_new.py
FILLED_IN = {"vocabulary", "image_size", "map_width", "channels"}


@pytest.mark.parametrize("group", OPTIONS)
def test_every_option_trains_scores_and_describes(tmp_path, group):
    recipe, run = tmp_path / "recipe.toml", tmp_path / "run"
    recipe.write_text(CAPTIONER_RECIPE, encoding="utf-8")
    given = [*OPTIONS[group], "training.steps=3", "training.evaluate_every=3", "data.set_size=60", "training.probes=1"]
    done = jumok("train", recipe, "--out", run, *(part for override in given for part in ("--set", override)))
    assert done.code == 0, done.err
    assert done.out == f'Use it:    jumok caption {run} "…"\nScore it:  jumok evaluate {run}\n'
    saved = tomllib.loads((run / "recipe.toml").read_text(encoding="utf-8"))
    for override in OPTIONS[group]:
        key, _, text = override.partition("=")
        section, name = key.split(".")
        try:
            wanted = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            wanted = text
        found = saved[section][name]
        assert found == wanted or (isinstance(wanted, dict) and wanted.items() <= found.items())
    assert jumok("sample", "shapes", tmp_path / "image.png").code == 0
    answer = jumok("caption", run, tmp_path / "image.png", "--max-length", "5")
    assert answer.code == 0, answer.err
    assert answer.out.count("\n") == 1


def test_the_groups_leave_no_option_out():
    reached = {override.partition("=")[0] for overrides in OPTIONS.values() for override in overrides}
    definitions = recipe_schema()["$defs"]
    for section, name in (("model", "CaptionerConfig"), ("data", "CaptionData")):
        known = {f"{section}.{key}" for key in set(definitions[name]["properties"]) - FILES - FILLED_IN}
        assert known - reached == set()
