"""Workers: the same gradient as one process, exact after a resume, gone when the work is over or anybody dies."""

import json
import os
import signal
import subprocess
import sys

import pytest
import torch
from children import children, gone
from torch import nn
from torch.testing import assert_close

from jumok.config import TrainingConfig
from jumok.errors import ConfigError, TrainingError
from jumok.training.step import Sums
from jumok.training.workers import LARGEST, Sharing, Workers, settings_for, shared_like

CPU = torch.device("cpu")


def weights(trainer):
    return {name: value.detach().clone() for name, value in trainer.model.named_parameters()}


def rows(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(autouse=True)
def nothing_is_left():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    before = children()
    yield
    assert children() == before
    assert torch.get_num_threads() == 2, "the threads come back"
    torch.set_num_threads(threads)


@pytest.mark.parametrize("changes", [{}, {"accumulate": 2}, {"average": "ema"}], ids=str)
@pytest.mark.parametrize("workers", [2, 3])
def test_workers_learn_what_one_process_learns(toy, tmp_path, workers, changes):
    """Batches of one and two examples among them: some workers then have nothing to do."""

    def loss(model, batch, step):
        assert len(batch), "a worker without examples has nothing to compute"
        return toy.loss(model, batch, step)

    results = {}
    for count in (1, workers):
        trainer = toy.trainer(
            tmp_path / str(count),
            model=toy.Model(dropout=0.0),
            batches=toy.Batches((3, 1, 5, 2, 7)),
            workers=count,
            loss=loss,
            **changes,
        )
        trainer.train()
        results[count] = weights(trainer), rows(tmp_path / str(count))
    assert_close(results[workers][0], results[1][0], atol=1e-6, rtol=1e-5)
    for ours, theirs in zip(results[workers][1], results[1][1], strict=True):
        assert ours.keys() == theirs.keys()
        for key in ("loss", "nll", "gradient_norm"):
            assert ours.get(key) == (None if key not in theirs else pytest.approx(theirs[key], rel=1e-5))


def test_a_thread_each_while_they_work_and_all_for_what_only_we_do(toy, tmp_path):
    seen = {"loss": set(), "step": set()}

    def loss(model, batch, step):
        seen["loss"].add(torch.get_num_threads())
        return toy.loss(model, batch, step)

    trainer = toy.trainer(tmp_path, workers=2, loss=loss)
    plain = trainer.one_step.optimizer.step

    def step():
        seen["step"].add(torch.get_num_threads())
        plain()

    trainer.one_step.optimizer.step = step
    trainer.train()
    assert seen == {"loss": {1}, "step": {2}}


def test_a_resumed_run_is_the_uninterrupted_one(toy, tmp_path):
    toy.trainer(tmp_path / "parts", workers=2, steps=6, schedule="constant").train()
    whole = toy.trainer(tmp_path / "whole", workers=2, schedule="constant")
    whole.train()
    second = toy.trainer(tmp_path / "parts", workers=2, schedule="constant")
    second.resume()
    second.train()
    for name, value in weights(whole).items():
        assert torch.equal(value, weights(second)[name]), name


def test_dropout_differs_between_workers_and_not_between_runs():
    def draw():
        drawn = []
        with Workers(
            3, nn.Linear(2, 2), lambda step, rank, count: [Sums(0.0, 1, {str(rank): float(torch.rand(()))})], seed=5
        ) as workers:
            for step in (1, 2):
                drawn += workers.step(step)[0].parts.values()
        return drawn

    first = draw()
    assert len(set(first)) == 6
    assert draw() == first


def test_a_weight_that_nobody_used_has_no_gradient_and_one_that_any_used_has():
    model = nn.ModuleList(nn.Linear(2, 1) for _ in range(3))

    def compute(step, rank, count):
        chosen = model[0](torch.ones(2)) if rank == 0 else model[1](torch.ones(2))
        chosen.sum().backward()
        return [Sums(0.0, 1, {})]

    with Workers(2, model, compute, seed=1) as workers:
        workers.step(1)
    assert_close([layer.weight.grad for layer in list(model)[:2]], [torch.ones(1, 2)] * 2)
    assert model[2].weight.grad is None, "weight decay would shrink it"


def test_what_a_worker_cannot_do_is_told_as_if_there_were_none():
    def compute(step, rank, count):
        if rank == 1:
            raise ConfigError("no such thing")
        return [Sums(0.0, 1, {})]

    with pytest.raises(ConfigError, match="no such thing"), Workers(2, nn.Linear(2, 2), compute, seed=1) as workers:
        workers.step(1)


def test_a_worker_that_dies_is_told():
    def compute(step, rank, count):
        if rank == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return [Sums(0.0, 1, {})]

    with (
        pytest.raises(TrainingError, match=r"worker process 2 died at step 7, .*go on with --resume"),
        Workers(3, nn.Linear(2, 2), compute, seed=1) as workers,
    ):
        workers.step(7)


def test_workers_outlive_a_signal_to_the_whole_group_and_no_kill_of_the_trainer():
    """Ctrl-C reaches every process of a terminal; only the trainer's own may act on it."""
    script = """
import os, signal, sys
from torch import nn
from jumok.training.step import Sums
from jumok.training.workers import Workers

with Workers(3, nn.Linear(2, 2), lambda step, rank, count: [Sums(0.0, 1, {str(rank): os.getpid()})], seed=1) as workers:
    print(*workers.step(1)[0].parts.values(), flush=True)
    signal.signal(signal.SIGINT, lambda *_: None)
    os.killpg(0, signal.SIGINT)
    print(*workers.step(2)[0].parts.values(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, start_new_session=True, timeout=60
    )
    first, second = (line.split() for line in done.stdout.splitlines())
    assert first == second, done.stderr
    assert done.returncode == -signal.SIGKILL
    assert gone(int(float(number)) for number in first[1:])


def test_weights_are_one_memory():
    model = nn.Linear(3, 2)
    with torch.no_grad():
        model.weight.fill_(1.0)
    with Workers(
        2, model, lambda step, rank, count: [Sums(float(model.weight.detach().sum()), 1, {})], seed=1
    ) as workers:
        assert workers.step(1) == [Sums(12.0, 2, {})]
        with torch.no_grad():
            model.weight.mul_(2.0)
        assert workers.step(2) == [Sums(24.0, 2, {})]
    assert float(model.weight.detach().sum()) == 12.0


def test_shared_tensors_do_not_overlap():
    tensors = [torch.zeros(3), torch.zeros(5, 7), torch.zeros(()), torch.zeros(2, dtype=torch.int64)]
    shared = shared_like(tensors)
    for number, tensor in enumerate(shared):
        tensor.fill_(number + 1)
    for number, (tensor, like) in enumerate(zip(shared, tensors, strict=True)):
        assert (tensor.shape, tensor.dtype, tensor.data_ptr() % 64) == (like.shape, like.dtype, 0)
        assert (tensor == number + 1).all()


def settings(model, device=CPU, **options):
    return settings_for(model, TrainingConfig(**options), device)


def test_how_many_workers_there_may_be():
    """One process on one thread is always among them, unless the recipe says otherwise."""
    small, mixing = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    with torch.device("meta"):
        large = nn.Linear(LARGEST, 2)
    count, alone = min(torch.get_num_threads(), os.cpu_count()), Sharing(1, 1)
    assert settings(small) == [Sharing(count, 2), alone]
    assert settings(small, threads=2) == [Sharing(count, 2), alone]
    assert settings(small, workers=5) == [Sharing(5, 2)]
    assert settings(small, workers=1) == [Sharing(1, 2)]
    assert settings(large) == settings(mixing) == [Sharing(1, 2), alone]
    assert settings(large, threads=2) == [Sharing(1, 2)]
    assert settings(small, torch.device("cuda")) == [Sharing(1, 2)]
    torch.set_num_threads(1)
    assert settings(small) == settings(large) == [alone]
    torch.set_num_threads(2)
    with pytest.raises(ConfigError, match="batch norm needs the whole batch in one process"):
        settings(mixing, workers=2)
    with pytest.raises(ConfigError, match="is for CPUs under Linux"):
        settings(small, torch.device("cuda"), workers=2)
