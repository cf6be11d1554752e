"""Parts with a learning rate of their own: they rest, then learn more slowly, the same in any number of processes."""

import pytest
import torch
from torch.testing import assert_close

from jumok.config import TrainingConfig
from jumok.nn.model import Model, OwnRate
from jumok.training.optimizer import make_optimizer, optimizer_tensors

AFTER = 4


@pytest.fixture
def apart(toy):
    """Return the toy whose first layer was trained before."""

    class Apart(toy.Model, Model):
        own_rates = (OwnRate("first.", 0.1, AFTER),)

        def features(self, batch):
            raise AssertionError("the toy has a forward of its own")

    return Apart


def weights(trainer):
    return {name: value.detach().clone() for name, value in trainer.model.named_parameters()}


def test_the_groups_of_other_models_stay_as_they_were(toy, apart):
    """Their order names the optimizer's tensors in checkpoints."""
    config = TrainingConfig(weight_decay=0.3)

    def groups(model):
        names = {parameter: name for name, parameter in model.named_parameters()}
        return [
            ([names[p] for p in group["params"]], group["weight_decay"], group["share"])
            for group in make_optimizer(model, config).param_groups
        ]

    assert groups(toy.Model()) == [
        (["first.weight", "second.weight"], 0.3, 1.0),
        (["first.bias", "second.bias"], 0.0, 1.0),
    ]
    assert groups(apart()) == [
        (["second.weight"], 0.3, 1.0),
        (["second.bias"], 0.0, 1.0),
        (["first.weight"], 0.3, 0.1),
        (["first.bias"], 0.0, 0.1),
    ]


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "muon"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_part_rests_and_then_learns_at_its_share(apart, toy, tmp_path, optimizer, workers):
    options = {"optimizer": optimizer, "weight_decay": 0.1, "warmup": 0, "schedule": "constant", "workers": workers}
    model = apart(dropout=0.0)
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    resting = toy.trainer(tmp_path, model=model, steps=AFTER, **options)
    resting.train()
    for name, value in weights(resting).items():
        assert torch.equal(value, before[name]) == name.startswith("first."), name
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert len({name.partition(".")[0] for name in optimizer_tensors(resting.one_step.optimizer)}) == 2

    learning = toy.trainer(tmp_path, model=apart(dropout=0.0), steps=AFTER + 1, **options)
    learning.resume()
    learning.train()
    moved = (weights(learning)["first.bias"] - before["first.bias"]).abs()
    assert_close(moved, torch.full_like(moved, 0.1 * learning.config.learning_rate), atol=0, rtol=1e-2)


def test_workers_learn_what_one_process_learns(apart, toy, tmp_path):
    found = {}
    for count in (1, 2):
        trainer = toy.trainer(tmp_path / str(count), model=apart(dropout=0.0), workers=count)
        trainer.train()
        found[count] = weights(trainer)
    assert_close(found[2], found[1], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("stop", [3, 6])
def test_a_resumed_run_is_the_uninterrupted_one(apart, toy, tmp_path, workers, stop):
    toy.trainer(tmp_path / "parts", model=apart(), workers=workers, steps=stop, schedule="constant").train()
    whole = toy.trainer(tmp_path / "whole", model=apart(), workers=workers, schedule="constant")
    whole.train()
    second = toy.trainer(tmp_path / "parts", model=apart(), workers=workers, schedule="constant")
    second.resume()
    second.train()
    for name, value in weights(whole).items():
        assert torch.equal(value, weights(second)[name]), name
