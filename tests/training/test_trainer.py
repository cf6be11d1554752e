"""The trainer: one division over all micro-batches, clipping, the log, early stopping, and a loss that blows up."""

import errno
import json
import math
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch.testing import assert_close

from jumok import api
from jumok.config import TrainingConfig
from jumok.errors import RunError, TrainingError
from jumok.tasks.losses import Loss
from jumok.training.average import model_tensors
from jumok.training.optimizer import load_optimizer_tensors, make_optimizer, optimizer_tensors
from jumok.training.schedule import learning_rate


def weights_of(trainer):
    return {name: tensor.clone() for name, tensor in model_tensors(trainer.model).items() if name != "calls"}


class Merged:
    """A toy stream whose batches are count batches of another in one."""

    def __init__(self, toy, count):
        self.toy, self.count, self.inner = toy, count, toy.Batches()
        self.describe, self.seek = self.inner.describe, self.inner.seek

    @property
    def position(self):
        return self.inner.position

    @property
    def last(self):
        return self.inner.last

    def take(self):
        parts = [self.inner.take() for _ in range(self.count)]
        return self.toy.Batch(torch.cat([part.inputs for part in parts]), torch.cat([part.wanted for part in parts]))


@pytest.mark.parametrize("count", [2, 3])
def test_accumulating_equals_one_big_batch(count, toy, tmp_path, rows):
    """The batches have different sizes: a mean of means would give other weights."""
    small = toy.trainer(tmp_path / "small", model=toy.Model(dropout=0.0), accumulate=count)
    large = toy.trainer(tmp_path / "large", model=toy.Model(dropout=0.0), batches=Merged(toy, count))
    small.train(), large.train()
    for name, tensor in weights_of(small).items():
        assert_close(tensor, weights_of(large)[name], rtol=1e-5, atol=1e-6)
    logs = [[row for row in rows(tmp_path / name) if "loss" in row] for name in ("small", "large")]
    for ours, theirs in zip(*logs, strict=True):
        assert ours["target_tokens"] == theirs["target_tokens"]
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-5)


def gradients_at_step(trainer, monkeypatch):
    """Return the gradients as the optimizer sees them at each step."""
    seen, step = [], trainer.one_step.optimizer.step

    def watch():
        seen.append(torch.cat([parameter.grad.flatten() for parameter in trainer.model.parameters()]))
        step()

    monkeypatch.setattr(trainer.one_step.optimizer, "step", watch)
    trainer.train()
    return seen


def test_gradients_are_of_the_mean_over_all_examples(toy, tmp_path, monkeypatch):
    trainer = toy.trainer(tmp_path / "run", model=toy.Model(dropout=0.0), steps=1, accumulate=3, clip=0.0)
    reference, batch = toy.Model(dropout=0.0), Merged(toy, 3).take()
    loss = toy.loss(reference, batch, 1)
    (loss.total / loss.count).backward()
    wanted = torch.cat([parameter.grad.flatten() for parameter in reference.parameters()])
    assert_close(gradients_at_step(trainer, monkeypatch)[0], wanted)


def test_clipping_shortens_long_gradients_only_and_the_log_tells_the_full_length(toy, tmp_path, monkeypatch, rows):
    free = gradients_at_step(toy.trainer(tmp_path / "free", clip=0.0, steps=1), monkeypatch)[0]
    clipped = gradients_at_step(toy.trainer(tmp_path / "clipped", clip=0.1, steps=1), monkeypatch)[0]
    roomy = gradients_at_step(toy.trainer(tmp_path / "roomy", clip=1e4, steps=1), monkeypatch)[0]
    assert free.norm() > 0.1
    assert_close(clipped, free * 0.1 / free.norm(), rtol=1e-4, atol=1e-7)
    assert_close(roomy, free)
    assert rows(tmp_path / "clipped")[0]["gradient_norm"] == pytest.approx(float(free.norm()), rel=1e-5)


def test_the_log_has_its_columns_and_sums(toy, tmp_path):
    options = {"steps": 10, "log_every": 4, "evaluate_every": 5, "accumulate": 2, "schedule": "cosine"}
    seen = []

    def loss(model, batch, step):
        found = toy.loss(model, batch, step)
        seen.append((step, float(found.total.detach()), found.count))
        return found

    toy.trainer(tmp_path / "run", loss=loss, **options).train()
    found = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert [(row["step"], "evaluation" in row) for row in found] == [
        (4, False),
        (5, True),
        (8, False),
        (10, False),
        (10, True),
    ]
    logged = [row for row in found if "evaluation" not in row]
    config = TrainingConfig(**options, warmup=3)
    for row, (first, last) in zip(logged, [(1, 4), (5, 8), (9, 10)], strict=True):
        part = [entry for entry in seen if first <= entry[0] <= last]
        assert row["loss"] == pytest.approx(sum(total for _, total, _ in part) / sum(count for _, _, count in part))
        assert row["nll"] == pytest.approx(row["loss"] / 2)
        assert row["target_tokens"] == sum(count for step, _, count in seen if step <= last)
        assert row["learning_rate"] == learning_rate(last, config)
        assert row["epoch"] in (2 * last // 5, (2 * last - 1) // 5)
    seconds = [row["seconds"] for row in found]
    assert seconds == sorted(seconds)
    assert found[1]["evaluation"].keys() == {"loss", "bleu"}
    assert found[1]["evaluation_seconds"] >= 0


def test_target_tokens_of_a_real_run_count_end_tokens_and_no_padding(run_recipe, tmp_path, rows):
    job = run_recipe(
        tmp_path / "run", overrides=["training.batch_tokens=100000", "training.steps=2", "training.log_every=1"]
    )
    whole = int(job.task.corpora.train.target.lengths.sum()) + len(job.task.corpora.train)  # a batch is the whole set
    assert [row["target_tokens"] for row in rows(tmp_path / "run") if "loss" in row] == [whole, 2 * whole]


def test_seconds_leave_evaluations_out(toy, tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("jumok.training.trainer.time.perf_counter", lambda: clock[0])

    def loss(model, batch, step):
        clock[0] += 3.0
        return toy.loss(model, batch, step)

    def evaluate(model):
        clock[0] += 1000.0
        return {"loss": 1.0}

    batches = toy.Batches()
    take = batches.take

    def slow_take():
        clock[0] += 0.5
        return take()

    batches.take = slow_take
    progress = toy.trainer(tmp_path / "run", loss=loss, evaluate=evaluate, batches=batches, steps=10).train()
    assert progress.seconds == pytest.approx(10 * 3.5)
    assert progress.outside == pytest.approx(10 * 0.5)


def test_evaluations_may_draw_random_numbers_without_changing_the_training(toy, tmp_path):
    """The toy's evaluation draws some, and its model has dropout."""
    trained = []
    for every in (2, 6):
        trainer = toy.trainer(tmp_path / str(every), evaluate_every=every, average="ema")
        trainer.train()
        trained.append(weights_of(trainer))
    assert all(tensor.equal(trained[1][name]) for name, tensor in trained[0].items())


# --- best, and early stopping


def scripted(values, name="loss"):
    """Return an evaluation that gives one value after another."""
    left = list(values)
    return lambda model: {"loss": 9.0, name: left.pop(0)}


@pytest.mark.parametrize(("monitor", "values", "best", "stops"), [
    ("loss", [5.0, 3.0, 4.0, 2.0, 2.5, 2.0, 1.0], 4, 6),
    ("bleu", [1.0, 3.0, 2.0, 4.0, 3.5, 4.0, 9.0], 4, 6),
    ("exact_match", [0.0, 0.0, 0.0, 5.0], 1, 3),  # an equal score is no better one
    ("perplexity", [9.0, 10.0, 8.0, 10.0, 10.0, 7.0], 3, 5),
    ("bits_per_byte", [3.0, 4.0, 2.0, 2.5, 2.0], 3, 5),
    ("bits_per_character", [3.0, 2.0, 4.0, 2.5], 2, 4),
    ("error", [3.0, 2.0, 4.0, 2.5], 2, 4),  # a measure that only its task knows: its direction is the task's
])  # fmt: skip
def test_early_stopping_waits_as_long_as_patience_says(monitor, values, best, stops, toy, tmp_path, rows):
    trainer = toy.trainer(
        tmp_path / "run", evaluate=scripted(values, monitor), monitor=monitor, patience=2, steps=100, evaluate_every=1, save_every=50
    )  # fmt: skip
    progress = trainer.train()
    assert (progress.finished, progress.step, progress.best_step) == (True, stops, best)
    assert trainer.checkpoints.find("best").resolve().name == f"step-{best}"
    assert trainer.checkpoints.find("last").resolve().name == f"step-{stops}"
    marked = [row["step"] for row in rows(tmp_path / "run") if row.get("best")]
    assert marked[-1] == best
    assert trainer.train().step == stops  # it is over


def test_without_patience_nothing_stops_it(toy, tmp_path):
    progress = toy.trainer(tmp_path / "run", evaluate=scripted([1.0] * 12), evaluate_every=1).train()
    assert (progress.finished, progress.step, progress.best_step) == (False, 12, 1)


def test_patience_is_remembered_by_a_resumed_run(toy, tmp_path):
    options = {"patience": 3, "evaluate_every": 1, "save_every": 1, "steps": 100}
    scores = [1.0, 2.0, 2.0, 2.0, 2.0]
    trainer = toy.trainer(tmp_path / "run", evaluate=scripted(scores), **options | {"steps": 3})
    trainer.train()
    trainer = toy.trainer(tmp_path / "run", evaluate=scripted(scores[3:]), **options)
    trainer.resume()
    assert trainer.train().step == 4


def test_a_score_that_is_no_number_is_never_the_best(toy, tmp_path):
    trainer = toy.trainer(tmp_path / "run", evaluate=scripted([math.nan, 5.0, math.nan]), evaluate_every=4)
    assert trainer.train().best_step == 8


def test_an_unknown_monitor_names_the_scores(toy, tmp_path):
    with pytest.raises(TrainingError, match=r"training\.monitor = 'blue' is not among the scores: loss, bleu"):
        toy.trainer(tmp_path / "run", monitor="blue").train()


# --- trouble


def blowing_up(toy, at, value, nth=1):
    """Return a loss that becomes value at a step, in its nth micro-batch."""
    calls = {}

    def loss(model, batch, step):
        found = toy.loss(model, batch, step)
        calls[step] = calls.get(step, 0) + 1
        return Loss(found.total * value, found.count) if (step, calls[step]) == (at, nth) else found

    return loss


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_no_number_stops_the_run_with_step_batch_and_advice(value, toy, tmp_path):
    trainer = toy.trainer(tmp_path / "run", loss=blowing_up(toy, 8, value), accumulate=2)
    with pytest.raises(TrainingError) as error:
        trainer.train()
    stream = toy.Batches()
    places = [stream.last for _ in range(16) if stream.take()]
    message = str(error.value)
    assert f"the loss became {float(value)} at step 8" in message
    assert stream.describe(places[14]) in message, "the first batch of step 8 was the guilty one"
    assert "Lower training.learning_rate" in message
    assert "The checkpoint of step 6 is kept." in message
    assert all(tensor.isfinite().all() for tensor in load_file(tmp_path / "run/last/training.safetensors").values())
    assert all(tensor.isfinite().all() for tensor in trainer.model.parameters())

    healthy = toy.trainer(tmp_path / "run", accumulate=2)
    healthy.resume()
    healthy.train()
    whole = toy.trainer(tmp_path / "whole", accumulate=2)
    whole.train()
    assert all(tensor.equal(weights_of(whole)[name]) for name, tensor in weights_of(healthy).items())


def test_an_infinite_gradient_of_a_finite_loss_is_caught_too(toy, tmp_path):
    def loss(model, batch, step):
        found = toy.loss(model, batch, step)
        return Loss(found.total + (model.first.bias * 0).abs().sqrt().sum(), found.count)

    with pytest.raises(
        TrainingError, match=r"the gradient's norm became (nan|inf) at step 1 .*No checkpoint had been saved yet"
    ):
        toy.trainer(tmp_path / "run", loss=loss).train()


def test_a_real_run_with_an_absurd_rate_ends_in_a_sentence_and_keeps_a_usable_checkpoint(run_recipe, tmp_path):
    overrides = [
        "training.learning_rate=1e30",
        "training.warmup=0",
        "training.save_every=1",
        "training.clip=0.0",
        "model.norm_position=pre",
    ]
    with pytest.raises(
        TrainingError,
        match=r"at step \d+ \(learning rate [\d.]+e\+\d+\), on this batch: \d+ pairs, the first: '[a-z ]+' → '[a-z ]+'",
    ):
        run_recipe(tmp_path / "run", overrides=overrides)
    assert api.load(tmp_path / "run", checkpoint="last")


def test_a_log_that_cannot_be_written_is_a_clear_error(toy, tmp_path, monkeypatch):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    trainer = toy.trainer(tmp_path / "run", log_every=1)
    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(
        RunError, match=r"metrics\.jsonl cannot be written: its disk is full; free some space, then go on with --resume"
    ):
        trainer.train()


# --- the optimizer


def test_weight_decay_is_for_matrices_only(toy):
    groups = make_optimizer(toy.Model(), TrainingConfig(weight_decay=0.3)).param_groups
    assert [(group["weight_decay"], {p.dim() for p in group["params"]}) for group in groups] == [(0.3, {2}), (0.0, {1})]


@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_an_optimizer_put_back_goes_on_alike(kind, toy):
    config = TrainingConfig(optimizer=kind, weight_decay=0.1)
    models = [toy.Model(dropout=0.0), toy.Model(dropout=0.0)]
    optimizers = [make_optimizer(model, config) for model in models]
    batch = toy.Batches().take()

    def step(model, optimizer):
        toy.loss(model, batch, 1).total.backward()
        optimizer.step()
        optimizer.zero_grad()

    step(models[0], optimizers[0])
    models[1].load_state_dict(models[0].state_dict())
    load_optimizer_tensors(
        optimizers[1], {name: tensor.clone() for name, tensor in optimizer_tensors(optimizers[0]).items()}
    )
    for model, optimizer in zip(models, optimizers, strict=True):
        step(model, optimizer)
    for ours, theirs in zip(models[0].parameters(), models[1].parameters(), strict=True):
        assert ours.equal(theirs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tensors, facts: facts.update(stepp=facts.pop("step")),
         "{run}/last/training.json is damaged (it has a 'stepp', which no run has); copy the run again, or train it anew"),
        (lambda tensors, facts: facts.pop("epoch"),
         "{run}/last/training.json is damaged (it has no 'epoch'); copy the run again, or train it anew"),
        (lambda tensors, facts: facts.update(index="0"),
         "{run}/last/training.json is damaged ('index' is \"0\"; a whole number is needed); copy the run again, or train it anew"),
        (lambda tensors, facts: facts.update(epoch=-1),
         "{run}/last/training.json is damaged (its step, its epoch or its index is below 0); copy the run again, or train it anew"),
        (lambda tensors, facts: facts.update(window=[]),
         "{run}/last/training.json is damaged ('window' is a list; a JSON object of numbers is needed); copy the run again, or train it anew"),
        (lambda tensors, facts: tensors.update({"modell/x": torch.ones(1)}),
         "{run}: training.safetensors has a tensor 'modell/x', which no run has; recipe.toml and the checkpoint do not belong together"),
        (lambda tensors, facts: tensors.pop("random/cpu"),
         "{run}: training.safetensors has no random state that fits; recipe.toml and the checkpoint do not belong together"),
        (lambda tensors, facts: tensors.update({"random/cpu": torch.ones(3, dtype=torch.uint8)}),
         "{run}: training.safetensors has no random state that fits; recipe.toml and the checkpoint do not belong together"),
        (lambda tensors, facts: tensors.update({"optimizer/0.exp": tensors.pop("optimizer/0.exp_avg")}),
         "{run}: the optimizer's tensors of parameter 0 are exp, exp_avg_sq, step; recipe.toml and the checkpoint do not belong together"),
        (lambda tensors, facts: tensors.update({"model/x": tensors.pop("model/first.bias")}),
         "{run}: weights do not fit the model: first.bias, x; recipe.toml and the checkpoint do not belong together"),
    ],
)  # fmt: skip
def test_a_checkpoint_that_has_something_else_in_it_is_told(toy, tmp_path, monkeypatch, change, message):
    run = tmp_path / "run"
    toy.trainer(run, steps=3).train()
    tensors, facts = toy.trainer(run).checkpoints.load_training()
    change(tensors, facts)
    trainer = toy.trainer(run)
    monkeypatch.setattr(trainer.checkpoints, "load_training", lambda tell: (tensors, facts))
    with pytest.raises(RunError) as told:
        trainer.resume()
    assert str(told.value) == message.format(run=run)
