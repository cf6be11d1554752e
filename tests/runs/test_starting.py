"""A recipe that starts from a run: what it leaves out is the run's, what it says wins, and a resume needs nobody else."""

import shutil
import tomllib

import pytest
import torch
from cli.conftest import bert_run, classifier_run, copy_run, gpt_run, reviews, write_lines  # noqa: F401 - fixtures

import jumok
from jumok.api import prepare_job
from jumok.errors import ConfigError
from jumok.runs.run import Run
from jumok.runs.starting import read_recipe
from jumok.runs.weights import load_weights


@pytest.fixture
def short(tmp_path, bert_run):  # noqa: F811
    """Return the shortest recipe that fine-tunes a BERT: task, data, training."""
    write_lines(tmp_path / "train.tsv", ["text\tverdict", *map("\t".join, reviews(80, seed=3))])
    return {
        "task": "text-classification",
        "data": {"train": {"file": tmp_path / "train.tsv", "label": "verdict"}, "max_length": 16, "hold_out": 20},
        "training": {"init": bert_run, "steps": 4, "batch_tokens": 200, "save_every": 2, "evaluate_every": 2},
    }


def test_what_is_left_out_is_the_earlier_runs(short, bert_run):  # noqa: F811
    earlier, given = Run.open(bert_run).recipe, read_recipe(short)
    assert given.tokenizer == earlier.tokenizer
    for key, value in earlier.model.model_dump().items():
        if key not in ("vocabulary", "classes"):
            assert getattr(given.model, key) == value, key
    assert (given.model.vocabulary, given.model.classes) == (0, 0), "these come from the data"


def test_every_weight_but_the_new_head_starts_from_it(short, bert_run, tmp_path):  # noqa: F811
    job = prepare_job(short, out=tmp_path / "run")
    earlier = load_weights(Run.open(bert_run))
    for name, value in job.model.state_dict().items():
        if name in earlier and not name.startswith("project"):
            assert torch.equal(value, earlier[name]), name
    assert job.notes[1] == "new: project.weight, project.bias"


def test_single_keys_win_and_another_model_takes_nothing(short, bert_run):  # noqa: F811
    changed = read_recipe(short, {"model.dropout": 0.25, "tokenizer.vocabulary": 8000})
    assert (changed.model.dropout, changed.model.width) == (0.25, 32)
    assert read_recipe(short, {"model": {"name": "bert", "preset": "tiny"}}).model.width != 32, "a preset's sizes win"
    other = read_recipe(short, {"model.name": "recurrent-classifier"})
    assert (other.model.name, other.model.width) == ("recurrent-classifier", 128)
    assert other.tokenizer == Run.open(bert_run).recipe.tokenizer


def test_a_contradiction_is_refused(short, copy_run, tmp_path):  # noqa: F811
    with pytest.raises(ConfigError, match=r"tokenizer.kind: 'word' there, 'bpe' here\nWeights belong to a tokenizer: "):
        prepare_job(short, out=tmp_path / "run", overrides={"tokenizer.kind": "bpe"})
    with pytest.raises(ConfigError, match="model 'transformer' is for translation, not for text-classification"):
        prepare_job(short, out=tmp_path / "run", overrides={"training.init": copy_run})


def test_a_run_is_whole_and_goes_on_without_the_earlier_one(short, bert_run, tmp_path):  # noqa: F811
    shutil.copytree(bert_run, tmp_path / "earlier", symlinks=True)
    short["training"]["init"] = tmp_path / "earlier"
    whole = jumok.train(short, out=tmp_path / "whole", quiet=True)
    begun = jumok.train(short, out=tmp_path / "run", quiet=True, on_step=lambda report: report.step < 2)
    saved = tomllib.loads((begun / "recipe.toml").read_text())
    assert saved["tokenizer"]["kind"] == "word"
    assert saved["model"]["width"] == 32
    shutil.rmtree(tmp_path / "earlier")
    assert jumok.train(short, out=begun, resume=True, quiet=True) == begun
    one, other = (load_weights(Run.open(folder), "last") for folder in (whole, begun))
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert jumok.load(begun, jumok.TextClassifier).classify("the film was lovely").label in ("good", "bad", "dull")


def test_a_language_model_goes_on_from_another(gpt_run, tmp_path):  # noqa: F811
    (tmp_path / "text.txt").write_text("import this, and read it again.\n" * 60)
    recipe = {
        "task": "language-modeling",
        "data": {"train": tmp_path / "text.txt", "val": tmp_path / "text.txt"},
        "training": {"init": gpt_run, "steps": 1, "batch_tokens": 100},
    }
    job = prepare_job(recipe, out=tmp_path / "run")
    assert len(job.notes) == 1, "nothing is new, nothing is left"
