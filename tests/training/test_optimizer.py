"""The optimizer's state as named tensors: what was saved and loaded goes on as if nothing had happened."""

import re

import pytest
import torch
from torch import nn

from jumok.config import TrainingConfig
from jumok.training.optimizer import load_optimizer_tensors, make_optimizer, optimizer_tensors


def convolution():
    """Return a module whose weights lie in another order than they are counted in, as those of a CNN do."""
    torch.manual_seed(3)
    module = nn.Sequential(nn.Conv2d(3, 5, 2), nn.Linear(4, 4))
    module[0].weight.data = module[0].weight.data.contiguous(memory_format=torch.channels_last)
    return module


def step(module, optimizer, seed):
    generator = torch.Generator().manual_seed(seed)
    optimizer.zero_grad()
    module(torch.randn(2, 3, 5, 5, generator=generator)).square().sum().backward()
    optimizer.step()


@pytest.mark.parametrize("kind", ["adam", "adamw", "muon"])
def test_a_loaded_state_goes_on_exactly_whatever_the_order_in_memory(kind):
    config = TrainingConfig(optimizer=kind)
    module, again = convolution(), convolution()
    optimizer, other = make_optimizer(module, config), make_optimizer(again, config)
    step(module, optimizer, 1)
    again.load_state_dict(module.state_dict())
    saved = {name: value.contiguous().clone() for name, value in optimizer_tensors(optimizer).items()}
    load_optimizer_tensors(other, saved)
    for seed in (2, 3):
        step(module, optimizer, seed)
        step(again, other, seed)
    assert again[0].weight.is_contiguous(memory_format=torch.channels_last)
    for one, two in zip(module.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, two)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("1.exp_avg", "1.exp_avgg", "the optimizer's tensors of parameter 1 are exp_avg_sq, exp_avgg, step"),
        ("1.exp_avg", "99.exp_avg", "the optimizer has a tensor '99.exp_avg', which belongs to no parameter"),
        ("1.exp_avg", "x", "the optimizer has a tensor 'x', which belongs to no parameter"),
        ("1.exp_avg", "3.average", "the optimizer's tensor '3.average' has the shape (4, 4)"),
        ("1.exp_avg", "", "the optimizer has a tensor '', which belongs to no parameter"),
    ],
)
def test_a_state_whose_tensors_are_renamed_is_refused(old, new, why):
    module = convolution()
    optimizer = make_optimizer(module, TrainingConfig(optimizer="adam"))
    step(module, optimizer, 1)
    tensors = {new if name == old else name: value for name, value in optimizer_tensors(optimizer).items()}
    with pytest.raises(ValueError, match=re.escape(why)):
        load_optimizer_tensors(make_optimizer(convolution(), TrainingConfig(optimizer="adam")), tensors)
