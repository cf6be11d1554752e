"""What a new system costs: a task with its own model, data, predictor and command is six new files and two edited ones.

tests/toy_task has the six, as they would stand in models/, data/, tasks/, predictors/, cli/ and recipes/. The two that
exist are catalogue.py (a row for the task, a row for the model) and cli/main.py (a line for the command). Here they
are edited for the time of a test.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli.conftest import EACH
from toy_task import COUNTING
from toy_task.command import count
from typer.testing import CliRunner

from jumok import catalogue
from jumok.cli.main import app

FOLDER = Path(__file__).parent / "toy_task"


@pytest.fixture
def jumok(monkeypatch):
    """Return the command line with the new system in it."""
    monkeypatch.setitem(catalogue.TASKS, "counting", COUNTING)
    monkeypatch.setitem(catalogue.MODELS, "counter", catalogue.ModelEntry("counts bits", "toy_task.model:Counter"))
    monkeypatch.setattr(app, "registered_commands", [*app.registered_commands])
    app.command()(count)
    runner = CliRunner()
    return lambda *words: runner.invoke(app, [*map(str, words)], catch_exceptions=False)


def test_a_new_system_trains_scores_and_answers(jumok, tmp_path):
    run = tmp_path / "counting"
    checked = jumok("check", FOLDER / "counting.toml")
    assert "no problems found" in checked.output
    done = jumok("train", FOLDER / "counting.toml", "--out", run)
    assert done.exit_code == 0
    assert f"jumok count {run}" in done.output
    errors = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines() if "evaluation" in line]
    errors = [row["evaluation"]["error"] for row in errors]
    best = json.loads((run / "best/training.json").read_text())["step"]
    assert best == 200 * (1 + errors.index(min(errors))), "an error is better when it is smaller, as its task says"
    assert min(errors) < 0.1
    assert jumok("count", run, "010110").output.strip() == "3"
    assert "off by 0.0" in jumok("evaluate", run, "--split", "test").output
    (tmp_path / "own.txt").write_text("111111\n000000\n")
    scores = json.loads(jumok("evaluate", run, "--source", tmp_path / "own.txt", "--json").output)
    assert set(scores["own.txt"]) == {"loss", "error"}
    assert "off by" in jumok("evaluate", run, "--source", tmp_path / "own.txt").output
    resumed = jumok("train", FOLDER / "counting.toml", "--out", run, "--resume", "--set", "training.steps=601")
    assert resumed.exit_code == 0


def test_it_is_refused_where_it_has_no_part(jumok, tmp_path):
    recipe = tmp_path / "counting.toml"
    recipe.write_text((FOLDER / "counting.toml").read_text() + "[tokenizer]\nvocabulary = 30\n")
    with pytest.raises(catalogue.ConfigError, match=r"\[tokenizer\] is not for counting: take it out"):
        jumok("train", recipe)


def test_it_needs_no_edit_where_a_recipe_names_it(tmp_path):
    """The package stands beside the recipe, in a process that knows nothing of it; then the run is used from elsewhere."""
    shutil.copytree(FOLDER, tmp_path / "own" / "toy_task")
    text = (FOLDER / "counting.toml").read_text().replace('"counting"', '"toy_task:COUNTING"')
    (tmp_path / "own" / "counting.toml").write_text(text.replace('"counter"', '"toy_task.model:Counter"'))
    run = str(tmp_path / "counting")

    def jumok(*commands):
        """Type commands in a new process, one after another."""
        typed = [sys.executable, "-c", EACH, json.dumps(commands)]
        done = subprocess.run(typed, cwd=tmp_path, capture_output=True, text=True)
        assert done.stderr.count("exit 0\n") == len(commands), done.stderr
        return done.stdout

    trained = jumok(["train", "own/counting.toml", "--out", run, "--set", "training.steps=600"])
    assert f"Score it:  jumok evaluate {run}" in trained
    resume = ["train", "own/counting.toml", "--out", run, "--resume", "--set", "training.steps=601"]
    assert "off by 0.0" in jumok(["evaluate", run, "--split", "test"], resume)
    assert (tmp_path / "counting/last").resolve().name == "step-601"


def test_it_took_eight_files_of_which_two_exist():
    new = [path for path in FOLDER.iterdir() if path.suffix in (".py", ".toml") and path.name != "__init__.py"]
    assert len(new) == 6
    for existing in ("jumok/catalogue.py", "jumok/cli/main.py"):
        assert (FOLDER.parents[1] / existing).exists()
