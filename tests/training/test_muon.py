"""Muon against its definition by singular values; whatever is no matrix of a layer against torch's AdamW."""

import pytest
import torch
from torch import nn

from jumok.config import TrainingConfig
from jumok.models.swin import Swin, SwinConfig
from jumok.models.vit import ViT, ViTConfig
from jumok.training.muon import MOMENTUM, POLYNOMIAL, ROUNDS, layer_matrices, orthogonalised
from jumok.training.optimizer import make_optimizer


def by_singular_values(matrix):
    """The same polynomial, applied to the singular values themselves."""
    left, values, right = torch.linalg.svd(matrix.double() / matrix.double().norm(), full_matrices=False)
    first, third, fifth = POLYNOMIAL
    for _ in range(ROUNDS):
        values = first * values + third * values**3 + fifth * values**5
    return left @ values.diag() @ right, values


@pytest.mark.parametrize("shape", [(8, 8), (6, 20), (20, 6)])
def test_directions_stay_and_lengths_become_equal(shape):
    torch.manual_seed(1)
    matrices = torch.randn(3, *shape)
    matrices[1] *= 1e-3  # the size of a gradient does not matter
    for found, matrix in zip(orthogonalised(matrices), matrices, strict=True):
        wanted, values = by_singular_values(matrix)
        torch.testing.assert_close(found.double(), wanted, rtol=0, atol=1e-4)
        assert values.min() > 0.5
        assert values.max() < 1.5


@pytest.mark.parametrize("shape", [(32, 32), (16, 48), (90, 16)])
def test_directions_a_thousandth_as_long_become_as_long_as_the_others(shape):
    torch.manual_seed(3)
    few = min(shape)
    left, right = (torch.linalg.qr(torch.randn(size, few)).Q for size in shape)
    matrix = (left * torch.logspace(0, -3, few)) @ right.T
    wanted, _ = by_singular_values(matrix)
    found = orthogonalised(matrix[None])[0].double()
    assert (found - wanted).norm() / wanted.norm() < 1e-3


def test_no_gradient_direction_is_no_division_by_zero():
    assert not orthogonalised(torch.zeros(2, 4, 6)).any()


def small_model():
    torch.manual_seed(2)
    layers = nn.ModuleList([nn.Linear(6, 6), nn.Linear(6, 6), nn.Conv2d(2, 4, 3)])
    return nn.ModuleDict(
        {"table": nn.Embedding(5, 6), "layers": layers, "norm": nn.LayerNorm(6), "project": nn.Linear(6, 3)}
    )


def gradients(model, seed):
    torch.manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)


def test_steps_are_those_of_the_definition():
    model, rate, decay = small_model(), 0.01, 0.1
    config = TrainingConfig(optimizer="muon", learning_rate=rate, weight_decay=decay, betas=[0.9, 0.99])
    plain = small_model()
    others = [
        name for name, _ in plain.named_parameters() if not (name.startswith("layers") and name.endswith("weight"))
    ]
    assert len(others) == 8
    named = dict(plain.named_parameters())
    adamw = torch.optim.AdamW(
        [{"params": [named[name]], "weight_decay": decay if named[name].dim() > 1 else 0.0} for name in others],
        lr=rate, betas=(0.9, 0.99), eps=config.epsilon,
    )  # fmt: skip
    optimizer, averages = make_optimizer(model, config), {}
    for step in range(3):
        gradients(model, step)
        gradients(plain, step)
        optimizer.step()
        adamw.step()
        for name, parameter in named.items():
            if name in others:
                continue
            averages[name] = MOMENTUM * averages.get(name, 0.0) + (1 - MOMENTUM) * parameter.grad
            ahead = MOMENTUM * averages[name] + (1 - MOMENTUM) * parameter.grad
            flat = ahead.flatten(1)
            direction = by_singular_values(flat)[0].float().view_as(parameter)
            with torch.no_grad():
                parameter.mul_(1 - rate * decay).sub_(rate * 0.2 * max(flat.shape) ** 0.5 * direction)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter, named[name], rtol=1e-4, atol=1e-5, msg=name)


def test_only_matrices_that_layers_multiply_with_are_orthogonal():
    sizes = {"image_size": 8, "channels": 3, "classes": 4}
    vit = ViT(ViTConfig(patch_size=2, layers=2, width=8, heads=2, feedforward=16, **sizes))
    swin = Swin(SwinConfig(patch_size=2, width=8, layers=[2, 2], heads=[2, 2], window=2, **sizes))
    for model, outside in (
        (vit, ["positions.table", "patches.project.weight", "project.weight"]),
        (swin, ["relative"]),
    ):
        chosen = {name for name, parameter in model.named_parameters() if parameter in layer_matrices(model)}
        assert all(name.endswith("weight") and "norm" not in name for name in chosen)
        assert any("query_key_value" in name for name in chosen)
        assert any("expand" in name for name in chosen)
        for part in outside:
            assert not any(name.endswith(part) and "layers" not in name for name in chosen), part
            assert not any("relative" in name for name in chosen)


def test_a_model_without_layers_is_left_to_adamw():
    model, plain = nn.Linear(4, 4), nn.Linear(4, 4)
    plain.load_state_dict(model.state_dict())
    gradients(model, 1)
    gradients(plain, 1)
    for parameters, kind in ((model, "muon"), (plain, "adamw")):
        make_optimizer(parameters, TrainingConfig(optimizer=kind)).step()
    assert torch.equal(model.weight, plain.weight)
    assert torch.equal(model.bias, plain.bias)
