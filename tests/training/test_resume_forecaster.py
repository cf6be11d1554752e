"""A forecaster that was stopped, killed or ran out of disk goes on to the run that never stopped, bit for bit."""

import fcntl
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from cli.conftest import jumok
from cli.test_bad_input import disk  # noqa: F401 - a fixture
from training.test_resume import Killed, kill, wait_for

RECIPE = """
task = "forecasting"
[data]
set = "waves"
calendar = ["hour"]
look_back = 24
horizon = 6
[model]
name = "forecaster"
layers = 1
width = 8
heads = 2
feedforward = 13
dropout = 0.2
head = "quantiles"
[training]
steps = 11
batch_size = 16
learning_rate = 0.01
warmup = 2
log_every = 3
evaluate_every = 6
save_every = 4
average = "ema"
average_decay = 0.9
"""
VARIANTS = {
    "patches": [],
    "steps": ["model.tokens=steps", "model.feedback=true", "model.head=student-t"],
    "variables": ["model.tokens=variables", "data.transform=difference", "training.accumulate=2"],
    "two processes": ["training.workers=2"],
}


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    """Return the forecaster's recipe file, for run_recipe."""
    path = tmp_path_factory.mktemp("recipe") / "waves.toml"
    path.write_text(RECIPE)
    return path


@pytest.mark.parametrize("variant", VARIANTS)
def test_stopped_and_killed_it_is_the_run_that_never_stopped(variant, run_recipe, assert_same_run, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    overrides = ["training.workers=1", *VARIANTS[variant]]
    assert run_recipe(whole, overrides=overrides).finished
    assert json.loads((whole / "run.json").read_text())["workers"] == (2 if variant == "two processes" else 1)
    job = run_recipe(broken, overrides=overrides, at={2: lambda: signal.raise_signal(signal.SIGTERM)})
    assert not job.finished
    if variant != "two processes":  # whose losses are computed elsewhere
        with pytest.raises(Killed):
            run_recipe(broken, overrides=overrides, resume=True, at={7: kill})
    job = run_recipe(broken, overrides=overrides, resume=True)
    assert job.finished
    assert "going on from step" in job.shown
    assert_same_run(broken, whole)


def test_kill_9_in_the_middle_of_a_process(recipe, run_recipe, assert_same_run, tmp_path):
    longer = ["training.steps=90", "training.evaluate_every=90", "training.workers=1"]
    run_recipe(tmp_path / "whole", overrides=longer)
    broken = tmp_path / "broken"
    options = [part for override in longer for part in ("--set", override)]
    start = [sys.executable, "-m", "jumok", "train", str(recipe), "--out", str(broken), *options]
    with subprocess.Popen(start, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        wait_for(process, broken / "last")
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert (broken / "last").resolve().name != "step-90"
    done = jumok("train", recipe, "--out", broken, "--resume", *options)
    assert done.code == 0, done.err
    assert "going on from step" in done.err
    assert_same_run(broken, tmp_path / "whole")


def test_two_trainings_in_one_folder(recipe, tmp_path):
    run = tmp_path / "run"
    assert jumok("train", recipe, "--out", run, "--set", "training.steps=2").code == 0
    handle = os.open(run, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        done = jumok("train", recipe, "--out", run, "--resume", "--set", "training.steps=3")
    finally:
        os.close(handle)
    assert done == (2, "", f"jumok: another process is training in {run}; wait for it, or choose another --out\n")


def test_a_full_disk_and_then_room(recipe, run_recipe, assert_same_run, disk, tmp_path):  # noqa: F811
    overrides = ["training.save_every=1", "training.workers=1"]
    run_recipe(tmp_path / "whole", overrides=overrides)
    options = [part for override in overrides for part in ("--set", override)]
    run = disk("160k") / "run"
    done = jumok("train", recipe, "--out", run, *options)
    assert (done.code, done.out) == (2, "")
    assert f"jumok: the disk of {run} is full: the checkpoint of step " in done.err
    assert "Free some space, then go on with --resume." in done.err
    disk("4m", "remount")
    done = jumok("train", recipe, "--out", run, "--resume", *options)
    assert done.code == 0, done.err
    assert_same_run(run, tmp_path / "whole")


def test_another_table_is_no_way_to_go_on(tmp_path):
    """The same rows are asked for: a run that goes on with others would be neither."""

    def write(rows):
        values = np.random.default_rng(1).normal(size=200)
        lines = [f"{step},{value:.4f}\n" for step, value in enumerate(values[:rows])]
        (tmp_path / "table.csv").write_text("step,y\n" + "".join(lines))

    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE.replace('set = "waves"\ncalendar = ["hour"]', 'train = "table.csv"\ndate = "step"'))
    write(200)
    more = ["--out", tmp_path / "run", "--set", "training.workers=1", "--set"]
    assert jumok("train", recipe, *more, "training.steps=2").code == 0
    write(199)
    done = jumok("train", recipe, *more, "training.steps=3", "--resume")
    assert (done.code, done.out) == (2, "")
    assert "the training data is not what" in done.err
    assert "Put the files back, or start another run with --out." in done.err
    write(200)
    done = jumok("train", recipe, *more, "training.steps=3", "--resume")
    assert done.code == 0, done.err
