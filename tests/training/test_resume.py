"""A run with stops in it is the run that never stopped: same weights to the bit, same log apart from times."""

import os
import random
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli.conftest import jumok
from safetensors.torch import load_file

from jumok.errors import RunError

JUMOK = Path(sys.executable).parent / "jumok"

VARIANTS = {
    "plain": [],
    "subword dropout, ema": ["tokenizer.dropout=0.2", "training.average=ema", "training.average_decay=0.9"],
    "accumulated, mean of the last": ["training.accumulate=2", "training.average=last", "training.average_last=2", "training.save_every=4"],
    "batch norm, bf16, adamw": ["model.norm=batch", "training.precision=bf16", "training.optimizer=adamw", "training.weight_decay=0.1"],
    "self-critical": ["training.self_critical=mean"],
    "muon": ["training.optimizer=muon", "training.weight_decay=0.1"],
}  # fmt: skip


class Killed(BaseException):
    """What kill -9 does to a process, for a test that wants to live on: nothing is caught, nothing cleaned up."""


def kill():
    raise Killed


@pytest.mark.parametrize("variant", VARIANTS)
def test_stops_and_kills_leave_no_trace(variant, run_recipe, assert_same_run, tmp_path):
    whole, broken, overrides = tmp_path / "whole", tmp_path / "broken", VARIANTS[variant]
    assert run_recipe(whole, overrides=overrides).finished
    polite = [
        lambda: signal.raise_signal(signal.SIGINT),
        lambda: signal.raise_signal(signal.SIGTERM),
    ]
    job = run_recipe(broken, overrides=overrides, at={4: polite[0]})
    assert not job.finished
    assert (broken / "last").resolve().name == "step-4"
    assert not run_recipe(broken, overrides=overrides, resume=True, at={5: polite[1]}).finished
    with pytest.raises(Killed):  # long after step 5's save, long before the next
        run_recipe(broken, overrides=overrides, resume=True, at={10: kill})
    with pytest.raises(Killed):  # again on the same stretch
        run_recipe(broken, overrides=overrides, resume=True, at={12: kill})
    assert not run_recipe(broken, overrides=overrides, resume=True, at={18: polite[1]}).finished
    assert run_recipe(broken, overrides=overrides, resume=True).finished
    assert_same_run(broken, whole)


def test_nor_do_they_with_tags_and_weights(run_recipe, assert_same_run, tmp_path):
    lines = [f"{' '.join(str(number))}\t{' '.join(str(number)[::-1])}\n" for number in range(1000, 1060)]
    (tmp_path / "pairs.tsv").write_text("".join(lines))
    corpus = f'file = "{tmp_path / "pairs.tsv"}"'
    overrides = [
        "data.set=''",
        f'data.train=[{{{corpus}, to="back", weight=2.5}}, {{{corpus}, to="forth", swap=true, weight=0.3}}]',
        f'data.val=[{{{corpus}, to="back"}}]',
        "tokenizer.dropout=0.2",
        "training.batch_tokens=400",
    ]
    job = run_recipe(tmp_path / "whole", overrides=overrides)
    assert "an epoch draws 168 pairs: 150 of pairs.tsv → back × 2.5, 18 of pairs.tsv → forth × 0.3" in job.shown
    assert job.batches.position[0] > 2  # several epochs, so that decks run out in between
    with pytest.raises(Killed):
        run_recipe(tmp_path / "broken", overrides=overrides, at={10: kill})
    assert not run_recipe(
        tmp_path / "broken", overrides=overrides, resume=True, at={18: lambda: signal.raise_signal(signal.SIGINT)}
    ).finished
    assert run_recipe(tmp_path / "broken", overrides=overrides, resume=True).finished
    assert_same_run(tmp_path / "broken", tmp_path / "whole")
    changed = [override.replace("weight=2.5", "weight=2.0") for override in overrides]
    with pytest.raises(RunError, match=r"data\.train\[1\]\.weight: 2\.5 in the run, 2\.0 now"):
        run_recipe(tmp_path / "whole", overrides=changed, resume=True)


def test_the_variants_differ_so_the_comparison_means_something(run_recipe, tmp_path):
    weights = set()
    for number, overrides in enumerate([*VARIANTS.values(), ["training.seed=2"]]):
        run_recipe(tmp_path / str(number), overrides=[*overrides, "training.steps=2"])
        weights.add((tmp_path / str(number) / "last/training.safetensors").read_bytes())
    assert len(weights) == len(VARIANTS) + 1


def test_killed_before_any_checkpoint_it_starts_from_the_beginning(run_recipe, assert_same_run, tmp_path):
    with pytest.raises(Killed):
        run_recipe(tmp_path / "broken", at={5: kill})
    assert (tmp_path / "broken/metrics.jsonl").read_text()  # what the resumed run must not repeat
    job = run_recipe(tmp_path / "broken", resume=True)
    assert "no checkpoint yet: starting from the beginning" in job.shown
    run_recipe(tmp_path / "whole")
    assert_same_run(tmp_path / "broken", tmp_path / "whole")


def test_resume_where_nothing_is_starts_a_run(run_recipe, tmp_path):
    assert run_recipe(tmp_path / "fresh", resume=True, overrides=["training.steps=2"]).finished


@pytest.mark.parametrize("schedule", ["constant", "inverse_sqrt"])
def test_steps_may_grow(schedule, run_recipe, assert_same_run, tmp_path):
    options = [f"training.schedule={schedule}", "training.average=ema"]
    run_recipe(tmp_path / "grown", overrides=[*options, "training.steps=9"])
    assert (tmp_path / "grown/last").resolve().name == "step-9"
    run_recipe(tmp_path / "grown", overrides=[*options, "training.steps=18"], resume=True)
    run_recipe(tmp_path / "whole", overrides=[*options, "training.steps=18"])
    assert_same_run(tmp_path / "grown", tmp_path / "whole", rows=False)  # step 9 was a last step: one more evaluation


def test_a_changed_recipe_is_refused_with_the_difference(run_recipe, tmp_path):
    run_recipe(tmp_path / "run", overrides=["training.steps=3"])
    with pytest.raises(RunError, match=r"training\.learning_rate: 0\.01 in the run, 0\.02 now"):
        run_recipe(tmp_path / "run", overrides=["training.steps=3", "training.learning_rate=0.02"], resume=True)
    with pytest.raises(RunError, match=r"training\.steps: 3 in the run, 2 now"):
        run_recipe(tmp_path / "run", overrides=["training.steps=2"], resume=True)
    with pytest.raises(RunError, match=r"already holds a run \(saved at step 3\)"):
        run_recipe(tmp_path / "run", overrides=["training.steps=3"])


def test_a_run_that_is_over_stays_as_it_is(run_recipe, tmp_path):
    run_recipe(tmp_path / "run", overrides=["training.steps=4"])
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert run_recipe(tmp_path / "run", overrides=["training.steps=4"], resume=True).finished
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before


def test_evaluating_more_often_changes_no_weight(run_recipe, tmp_path):
    for every in (5, 10):
        run_recipe(tmp_path / str(every), overrides=[f"training.evaluate_every={every}", "training.steps=10"])
    first, second = (load_file(tmp_path / str(every) / "last/training.safetensors") for every in (5, 10))
    assert first.keys() == second.keys()
    assert all(first[name].equal(second[name]) for name in first)


def test_going_on_leaves_the_checkpoint_it_began_from_alone(run_recipe, tmp_path):
    """Tensors are read through a memory map: what training writes must not reach the file."""
    run_recipe(tmp_path / "run", at={4: lambda: signal.raise_signal(signal.SIGINT)}, overrides=["training.average=ema"])
    path = tmp_path / "run/step-4/training.safetensors"
    before = path.read_bytes()
    run_recipe(
        tmp_path / "run",
        resume=True,
        at={6: lambda: signal.raise_signal(signal.SIGINT)},
        overrides=["training.average=ema"],
    )
    assert path.read_bytes() == before


# --- the toy, killed at every single write


PRIMITIVES = [
    ("jumok.tensor_file", "save_file"),
    ("jumok.training.checkpoint", "put_on_disk"),
    ("os", "open"),
    ("shutil", "rmtree"),
    ("pathlib.Path", "mkdir"),
    ("pathlib.Path", "write_text"),
    ("pathlib.Path", "rename"),
    ("pathlib.Path", "replace"),
    ("pathlib.Path", "symlink_to"),
    ("pathlib.Path", "unlink"),
]


def toy_run(toy, folder):
    """Train the toy as a job does: from the newest checkpoint, or from the beginning with an empty log."""
    trainer = toy.trainer(folder, steps=4, save_every=2, evaluate_every=3, log_every=1, average="ema")
    if trainer.checkpoints.steps():
        trainer.resume()
    else:
        (folder / "metrics.jsonl").unlink(missing_ok=True)
    return trainer.train()


def test_killed_at_any_write_it_goes_on_to_the_same_end(toy, assert_same_run, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # a kill of the process, not of the power
    toy_run(toy, tmp_path / "whole")
    kills = 0
    while True:
        folder, counted = tmp_path / f"killed-{kills}", 0
        folder.mkdir()

        def mortal(real, deadline=kills):
            def call(*arguments, **options):
                nonlocal counted
                counted += 1
                if counted > deadline:
                    if real.__name__ == "save_file":  # half a file
                        real(*arguments, **options)
                        os.truncate(arguments[1], os.path.getsize(arguments[1]) // 2)
                    raise Killed
                return real(*arguments, **options)

            return call

        with monkeypatch.context() as patch:
            for module, name in PRIMITIVES:
                owner = Path if module == "pathlib.Path" else sys.modules[module]
                patch.setattr(owner, name, mortal(getattr(owner, name)))
            try:
                toy_run(toy, folder)
                break  # it ran to the end before the deadline
            except Killed:
                pass
        for name in ("last", "best"):  # never half a file under a name
            if (folder / name).exists():
                load_file(folder / name / "model.safetensors")
                load_file(folder / name / "training.safetensors")
        toy_run(toy, folder)
        assert_same_run(folder, tmp_path / "whole")
        assert not list(folder.glob(".*")), "a half-written file was left behind"
        kills += 1
    assert kills > 50


@pytest.mark.parametrize("step", [1, 2, 5, 6, 11])
def test_the_toy_stopped_at_any_step(step, toy, assert_same_run, tmp_path):
    def stopping_loss(model, batch, number):
        if number == step and model.training:
            trainer.stop_signal = signal.SIGTERM
        return toy.loss(model, batch, number)

    toy.trainer(tmp_path / "whole").train()
    trainer = toy.trainer(tmp_path / "broken", loss=stopping_loss)
    assert trainer.train().step == step
    trainer = toy.trainer(tmp_path / "broken")
    trainer.resume()
    assert trainer.train().step == 12
    assert_same_run(tmp_path / "broken", tmp_path / "whole")


def test_a_signal_during_the_last_step_stops_nothing(toy, tmp_path):
    def late_loss(model, batch, number):
        if number == 12 and model.training:
            trainer.stop_signal = signal.SIGTERM
        return toy.loss(model, batch, number)

    trainer = toy.trainer(tmp_path / "run", loss=late_loss)
    assert trainer.train().step == 12
    assert trainer.stop_signal == 0


def test_a_second_ctrl_c_stops_at_once_and_the_handlers_come_back(toy, tmp_path):
    def impatient_loss(model, batch, number):
        if number == 4:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        return toy.loss(model, batch, number)

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    trainer = toy.trainer(tmp_path / "run", loss=impatient_loss)
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert trainer.checkpoints.steps() == [3]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_cut_off_or_missing_log_does_not_keep_a_run_from_going_on(toy, rows, tmp_path):
    folder = tmp_path / "run"
    toy.trainer(folder, steps=6).train()
    with (folder / "metrics.jsonl").open("ab") as file:
        file.write('{"step": 7, "loss": 0.5}\n{"step": 8, "note": "각'.encode()[:-1])  # half a row, half a letter
    trainer = toy.trainer(folder, steps=9)
    trainer.resume()
    assert {row["step"] for row in rows(folder)} == {4, 5, 6}
    (folder / "metrics.jsonl").unlink()
    trainer = toy.trainer(folder, steps=9)
    trainer.resume()
    trainer.train()
    assert {row["step"] for row in rows(folder)} == {8, 9}


# --- real processes


def command(recipe, folder, *more):
    return [str(JUMOK), "train", str(recipe), "--out", str(folder), *more]


LONG = ["--set", "training.steps=90", "--set", "training.save_every=10", "--set", "training.evaluate_every=45"]


def start(arguments, **options):
    return subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)


def wait_for(process, path):
    deadline = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_kill_9_then_ctrl_c_then_the_printed_command(recipe, run_recipe, assert_same_run, tmp_path):
    run_recipe(tmp_path / "whole", overrides=LONG[1::2])
    broken = tmp_path / "broken"
    process = start(command(recipe, broken, *LONG))
    wait_for(process, broken / "last")
    time.sleep(random.random() / 10)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL

    newest = int((broken / "last").resolve().name.removeprefix("step-"))
    process = start(command(recipe, broken, *LONG, "--resume"))
    wait_for(process, broken / f"step-{newest + 10}")
    process.send_signal(signal.SIGINT)
    _, shown = process.communicate(timeout=60)
    assert f"going on from step {newest}" in shown
    printed = shown.strip().splitlines()[-1].strip()
    assert printed.startswith("jumok train")

    _, *arguments = shlex.split(printed)
    done = jumok(*arguments)
    assert done.code == 0, done.err
    assert f'jumok translate {broken} "…"' in done.out
    assert "\x1b" not in done.err
    assert_same_run(broken, tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_kill_9_over_and_over(seed, recipe, run_recipe, assert_same_run, tmp_path):
    run_recipe(tmp_path / "whole", overrides=LONG[1::2])
    broken, generator, kills = tmp_path / "broken", random.Random(seed), 0
    while True:
        process = start(command(recipe, broken, *LONG, "--resume"))
        said = ""
        while "parameters" not in said:  # then the data is read, and the first step is near
            line = process.stderr.readline()
            assert line, said
            said += line
        try:
            # a little longer each time: on a busy machine no second of it reaches the next checkpoint
            _, shown = process.communicate(timeout=generator.random() * (1 + kills / 5))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
            assert kills < 60
            continue
        assert process.returncode == 0, shown
        break
    assert kills
    assert_same_run(broken, tmp_path / "whole")
