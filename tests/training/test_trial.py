"""The trial of settings: it chooses the faster, leaves no trace, and is made for long runs only."""

import json
import multiprocessing
import signal
import sys
import time
from itertools import groupby
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from jumok.config import TrainingConfig
from jumok.training import trial as trials
from jumok.training.trial import Trial, choose_sharing, time_settings, unchanged
from jumok.training.workers import Sharing

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="several processes share steps under Linux only")

CPU = torch.device("cpu")
BOTH, ALONE = Sharing(2, 2), Sharing(1, 1)


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    monkeypatch.setattr(trials, "LONGEST", 3.0)  # as it is outside of tests
    torch.set_num_threads(2)
    yield
    assert multiprocessing.active_children() == []
    assert torch.get_num_threads() == 2, "the threads come back"
    torch.set_num_threads(1)


@pytest.fixture
def prefer(monkeypatch):
    """Return a function that lets every trial, whatever it measured, find one setting faster, in a run of any length."""
    made = []

    def prefer(wanted):
        real = time_settings

        def measured(*arguments, **options):
            found = real(*arguments, **options | {"short_run": 0.0, "shortest": 0.01})
            made.append(found)
            return Trial({one: 0.5 if one == wanted else 1.0 for one in found.seconds}, decisive=True)

        monkeypatch.setattr(trials, "FEW_STEPS", 0)
        monkeypatch.setattr(trials, "time_settings", measured)
        return made

    return prefer


SELDOM = ["training.evaluate_every=23", "training.probes=0"]  # evaluations are not what is asked about
CHOSEN = {BOTH: ["training.workers=2"], ALONE: ["training.workers=1", "training.threads=1"]}


@pytest.mark.parametrize("setting", CHOSEN, ids=str)
def test_a_run_after_a_trial_is_the_run_without_one(setting, prefer, run_recipe, assert_same_run, tmp_path):
    made = prefer(setting)
    tried = run_recipe(tmp_path / "tried", overrides=[*SELDOM, "training.average=ema", "tokenizer.dropout=0.2"])
    assert set(made[0].seconds) == {BOTH, ALONE}
    assert min(made[0].seconds.values()) > 0
    facts = json.loads((tmp_path / "tried/run.json").read_text())
    assert (facts["workers"], facts["threads"]) == (setting.workers, setting.threads)
    assert f"training in {setting}, the fastest on this machine as busy as it is now: 2 batches/s in" in tried.shown
    run_recipe(
        tmp_path / "told", overrides=[*SELDOM, "training.average=ema", "tokenizer.dropout=0.2", *CHOSEN[setting]]
    )
    assert len(made) == 1, "what the recipe says is never tried"
    torch.set_num_threads(2)
    assert_same_run(tmp_path / "tried", tmp_path / "told")


@pytest.mark.parametrize("setting", CHOSEN, ids=str)
def test_a_resumed_run_keeps_the_setting_and_is_the_whole_run(setting, prefer, run_recipe, assert_same_run, tmp_path):
    made = prefer(setting)
    run_recipe(tmp_path / "whole", overrides=SELDOM)
    stopped = run_recipe(tmp_path / "parts", overrides=SELDOM, at={9: lambda: signal.raise_signal(signal.SIGINT)})
    assert not stopped.finished
    assert len(made) == 2
    prefer(BOTH if setting == ALONE else ALONE)  # by now another setting would be faster
    resumed = run_recipe(tmp_path / "parts", overrides=SELDOM, resume=True)
    assert len(made) == 2, "a resumed run is not tried again"
    assert "going on from step 9" in resumed.shown
    assert "not to the last digit" not in resumed.shown
    assert_same_run(tmp_path / "parts", tmp_path / "whole")


def test_a_run_from_before_there_were_trials_goes_on_as_it_began(prefer, run_recipe, assert_same_run, tmp_path):
    prefer(BOTH)
    run_recipe(tmp_path / "whole", overrides=SELDOM)
    run_recipe(tmp_path / "parts", overrides=SELDOM, at={9: lambda: signal.raise_signal(signal.SIGINT)})
    facts = json.loads((tmp_path / "parts/run.json").read_text())
    facts.pop("workers")
    (tmp_path / "parts/run.json").write_text(json.dumps(facts))
    prefer(ALONE)
    run_recipe(tmp_path / "parts", overrides=SELDOM, resume=True)
    assert_same_run(tmp_path / "parts", tmp_path / "whole")


class Mixing(nn.Module):
    """A model with the buffers of batch norm, two tied weights, and dropout."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(5, 5), nn.BatchNorm1d(5), nn.Linear(5, 5)
        self.second.weight = self.first.weight

    def forward(self, inputs):
        return nn.functional.dropout(self.second(self.norm(self.first(inputs))), 0.5)[:, :3]


def test_nothing_of_a_trial_is_left(toy):
    model, batches = Mixing(), toy.Batches()
    batches.seek(1, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    random = torch.get_rng_state()
    with unchanged(model, batches):
        for _ in range(4):
            toy.loss(model, batches.take(), 0).total.backward()
            optimizer.step()
        assert not torch.equal(kept["norm.running_mean"], model.norm.running_mean)
        assert not torch.equal(kept["first.weight"], model.first.weight)
    assert batches.position == (1, 3)
    assert torch.equal(torch.get_rng_state(), random)
    assert all(parameter.grad is None for parameter in model.parameters())
    for name, value in model.state_dict().items():
        assert torch.equal(value, kept[name]), name


def timed(toy, batches, settings, **options):
    """Return the trial of a toy that has to take a few steps."""
    task = SimpleNamespace(loss=toy.loss)
    return time_settings(
        task, toy.Model(), batches=batches, config=TrainingConfig(steps=300), device=CPU, settings=settings, **options
    )


def test_every_setting_gets_the_same_batches_in_turns(toy):
    taken = []

    class Batches(toy.Batches):
        def batch_at(self, place):
            taken.append((torch.get_num_threads(), place))
            return super().batch_at(place)

    batches = Batches()
    batches.seek(2, 4)
    timed(toy, batches, [Sharing(1, 2), ALONE], shortest=0.01)
    turns = [list(group) for _, group in groupby(taken, key=lambda one: one[0])]
    assert [turn[0][0] for turn in turns] == [2, 1] * (len(turns) // 2)
    assert 1 + trials.FEWEST_ROUNDS <= len(turns) // 2 <= 1 + trials.ROUNDS
    for one, other in zip(turns[::2], turns[1::2], strict=True):
        assert [place for _, place in one] == [place for _, place in other]
    assert taken[0][1] == (2, 4)


def test_the_slower_setting_is_seen_to_be_slower(toy):
    def loss(model, batch, step):
        time.sleep(0.005 * torch.get_num_threads() ** 2)
        return toy.loss(model, batch, step)

    found = timed(SimpleNamespace(loss=loss, Model=toy.Model), toy.Batches(), [Sharing(1, 2), ALONE], shortest=0.1)
    assert found.decisive
    assert found.fastest == ALONE
    assert found.seconds[ALONE] >= 0.005
    assert found.words.endswith("batches/s in 1 process of 2 threads")


def test_one_noisy_moment_does_not_decide(toy):
    waits = iter([0.0] * 9 + [0.3] + [0.0] * 9999)

    def loss(model, batch, step):
        if torch.get_num_threads() == 1:
            time.sleep(next(waits))
        else:
            time.sleep(0.01)
        return toy.loss(model, batch, step)

    found = timed(SimpleNamespace(loss=loss, Model=toy.Model), toy.Batches(), [Sharing(1, 2), ALONE], shortest=0.3)
    assert found.fastest == ALONE


def test_a_short_run_and_one_that_says_how_are_not_tried(toy, monkeypatch):
    model, batches, task = toy.Model(), toy.Batches(), SimpleNamespace(loss=toy.loss)

    def choose(settings=(BOTH, ALONE), **options):
        config = TrainingConfig(**options)
        return choose_sharing(task, model, batches=batches, config=config, device=CPU, settings=settings)

    assert choose(steps=500) == (BOTH, None), "a second in all"
    monkeypatch.setattr(trials, "time_settings", None)
    assert choose(steps=99) == (BOTH, None)
    assert choose(steps=10_000, compile=True) == (BOTH, None)
    assert choose([ALONE], steps=10_000) == (ALONE, None)
