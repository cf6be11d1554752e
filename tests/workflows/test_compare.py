"""Runs side by side: the same sentences, one yardstick of length, numbers that come from where they should."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from cli.conftest import COPY_RECIPE, babble_run, copy_run, write_lines  # noqa: F401 - fixtures

import jumok
from jumok.data.builtin.toys import pairs
from jumok.errors import ConfigError, DataError, MissingExtraError
from jumok.workflows.compare import name_runs
from jumok.workflows.compared_runs import training_time


@pytest.fixture(scope="module")
def early_run(copy_run, tmp_path_factory) -> Path:  # noqa: F811
    """The copying run as if half its training had been its best."""
    folder = tmp_path_factory.mktemp("early") / "early"
    shutil.copytree(copy_run, folder, symlinks=True)
    (folder / "best").unlink()
    (folder / "best").symlink_to("step-150")
    return folder


@pytest.fixture(scope="module")
def letters_run(tmp_path_factory) -> Path:
    """A run on the same data with another tokenizer, hardly trained."""
    folder = tmp_path_factory.mktemp("letters")
    (folder / "recipe.toml").write_text(COPY_RECIPE, encoding="utf-8")
    changes = [
        "tokenizer.kind=character", "training.steps=2", "training.evaluate_every=2", "training.save_every=2",
        "training.warmup=1", "decoding.beam=1", "decoding.max_length=20",
    ]  # fmt: skip
    return jumok.train(folder / "recipe.toml", out=folder / "letters", overrides=changes)


@pytest.fixture(scope="module")
def compared(copy_run, early_run, letters_run):  # noqa: F811
    told = []
    found = jumok.compare([copy_run, early_run, letters_run], progress=lambda *facts: told.append(facts))["copy"]
    return found, told


def test_scores_are_those_of_evaluate(compared, copy_run, early_run):  # noqa: F811
    for run, folder in zip(compared[0].runs[:2], (copy_run, early_run), strict=True):
        alone = jumok.evaluate(folder)["copy"]
        assert [run.bleu, run.chrf, run.exact_match] == [alone[name] for name in ("bleu", "chrf", "exact_match")]
        assert run.decoding == alone["decoding"]


def test_the_first_run_is_the_baseline(compared):
    baseline, early, letters = compared[0].runs
    assert (baseline.bleu_significance.p, baseline.chrf_significance.p) == (None, None)
    assert baseline.bleu > early.bleu > letters.bleu
    assert letters.bleu_significance.p == letters.chrf_significance.p == pytest.approx(1 / 1001)


def test_lengths_are_words_whatever_the_tokenizer(compared):
    words = sorted(len(source.split()) for source, _ in pairs("copy", "val"))
    edges = [(words[first], words[first + 39]) for first in range(0, 200, 40)]
    for run in compared[0].runs:
        assert [(bucket.shortest, bucket.longest) for bucket in run.by_length] == edges
        assert run.bleu_longest_fifth == run.by_length[-1].bleu


def test_size_and_speed(compared, copy_run):  # noqa: F811
    found, told = compared
    model = jumok.load(copy_run).model
    assert found.runs[0].parameters == sum(parameter.numel() for parameter in model.parameters())
    for run in found.runs:
        assert run.sentences_per_second * run.translation_seconds == pytest.approx(200)
        assert sum(done for name, done, total in told if name == run.name) == 200
    written = jumok.load(copy_run).answers([source for source, _ in pairs("copy", "val")])
    tokens = sum(len(answers[0].ids) + answers[0].finished for answers in written)
    run = found.runs[0]
    assert run.translation_tokens_per_second * run.translation_seconds == pytest.approx(tokens)


def test_differences_of_decoding_are_named(compared, copy_run, early_run):  # noqa: F811
    assert compared[0].decoding_differences["beam"] == [2, 2, 1]
    alike = jumok.compare([copy_run, early_run], beam=3)["copy"]
    assert alike.decoding_differences == {}
    assert [run.decoding["beam"] for run in alike.runs] == [3, 3]


def test_it_can_be_written_as_json(compared):
    assert json.loads(json.dumps(compared[0].to_dict()))["runs"][1]["name"] == "early"


def test_training_time_is_that_of_the_newest_record(tmp_path):
    assert training_time(tmp_path) == (None, None)
    rows = [
        {"step": 10, "seconds": 5.0, "target_tokens": 1000},
        {"step": 20, "seconds": 10.0, "target_tokens": 4000},
        {"step": 20, "seconds": 10.5, "evaluation": {}},
    ]
    write_lines(tmp_path / "metrics.jsonl", [*map(json.dumps, rows), '{"step": 30, "sec'])
    assert training_time(tmp_path) == (10.0, 400.0)
    assert training_time(tmp_path, "step-10") == (5.0, 200.0)
    for step, name in ((10, "step-10"), (40, "last")):
        (tmp_path / name).mkdir()
        facts = {"step": step, "seconds": step / 2 + 1, "target_tokens": 300 * step}
        (tmp_path / name / "training.json").write_text(json.dumps(facts, indent=1))
    assert training_time(tmp_path) == (21.0, 12000 / 21)
    assert training_time(tmp_path, "step-10") == (6.0, 500.0)
    (tmp_path / "last" / "training.json").write_text("{")
    assert training_time(tmp_path) == (10.0, 400.0)


def test_runs_are_called_by_their_folders(tmp_path):
    assert name_runs(["runs/a", tmp_path / "b"]) == ["a", "b"]
    assert name_runs(["x/a", "y/a", "b"]) == ["x/a", "y/a", "b"]
    with pytest.raises(ConfigError, match="1 run is given, compare needs two or more; jumok evaluate scores one"):
        name_runs(["a"])
    with pytest.raises(ConfigError, match=r"x/\.\./a is named twice; compare needs different runs"):
        name_runs(["a", "x/../a"])


def test_other_sentences_are_refused_before_any_work(copy_run, babble_run, tmp_path):  # noqa: F811
    told = []
    with pytest.raises(
        DataError, match=r"run does not have the sentences of copy-run \(copy\): 6 pairs instead of 200"
    ):
        jumok.compare([copy_run, babble_run], progress=lambda *facts: told.append(facts))
    assert not told
    source, target = write_lines(tmp_path / "s", ["A b", "c"]), write_lines(tmp_path / "t", ["a b", "c"])
    assert jumok.compare([copy_run, babble_run], source=source, target=target)["t"].sentences == 2


def test_a_run_that_reads_lowercase_is_refused(copy_run, tmp_path):  # noqa: F811
    shutil.copytree(copy_run, tmp_path / "low", symlinks=True)
    recipe = tmp_path / "low" / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("lowercase = false", "lowercase = true"))
    source, target = write_lines(tmp_path / "s", ["a b", "c"]), write_lines(tmp_path / "t", ["a b", "C"])
    wanted = (
        "the reference of pair 2 is 'c' instead of 'C'; compare needs the same sentences, and data.lowercase differs"
    )
    with pytest.raises(DataError, match=wanted):
        jumok.compare([copy_run, tmp_path / "low"], source=source, target=target)


def test_no_sentences_are_refused(copy_run, early_run, tmp_path):  # noqa: F811
    empty = write_lines(tmp_path / "empty", [])
    with pytest.raises(DataError, match="empty"):
        jumok.compare([copy_run, early_run], source=empty, target=empty)


def test_the_figure_needs_matplotlib_and_a_folder(copy_run, early_run, tmp_path, monkeypatch):  # noqa: F811
    with pytest.raises(ConfigError, match="must be a file in a folder that exists"):
        jumok.compare([copy_run, early_run], png=tmp_path / "no" / "lengths.png")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"--png needs matplotlib, .*; pip install 'jumok\[plot\]' brings it"):
        jumok.compare([copy_run, early_run], png=tmp_path / "lengths.png")
