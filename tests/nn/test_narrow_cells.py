"""Recurrent cells with products in bf16: near those in fp32, gradients too, and what they remember is not rounded."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from jumok.native import kernels
from jumok.nn.precision import products
from jumok.nn.recurrent import run_cells

KINDS = {"gru": nn.GRU, "lstm": nn.LSTM}


def run(kind, precision, *, layers=1, native=True, monkeypatch=None):
    """Return states, last vectors and all gradients of a small stack."""
    if not native:
        monkeypatch.setattr("jumok.nn.recurrent.native.serves", lambda x: False)
    torch.manual_seed(5)
    cells = KINDS[kind](7, 11, layers, batch_first=True)
    x = torch.randn(3, 5, 7, requires_grad=True)
    vectors = [torch.randn(layers, 3, 11, requires_grad=True) for _ in range(2 if kind == "lstm" else 1)]
    weights = [weight for layer in cells.all_weights for weight in layer]
    with products(precision):
        states, last = run_cells(kind, x, vectors, weights, layers=layers, learning=True)
        total = (states * torch.randn_like(states)).sum() + sum((one * torch.randn_like(one)).sum() for one in last)
        total.backward()
    found = [states, *last, *(part.grad for part in (x, *vectors, *weights))]
    assert all(part.dtype == torch.float32 for part in found)
    return found


def check_near(found, wanted, share):
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == other.shape
        assert (one - other).norm() <= share * other.norm()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layers", [1, 2])
def test_near_torch_in_fp32(kind, layers):
    check_near(run(kind, "bf16", layers=layers), run(kind, "fp32", layers=layers), 0.02)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.skipif(kernels.kernels() is None, reason="no compiler here: torch does everything")
def test_in_c_as_step_by_step(kind, monkeypatch):
    in_c = run(kind, "bf16")
    check_near(in_c, run(kind, "bf16", native=False, monkeypatch=monkeypatch), 0.01)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("served", [True, False])
def test_what_is_remembered_is_not_rounded(kind, served, monkeypatch):
    """A hundred changes by 0.001, each too small for bf16 beside 1, add up."""
    if not served:
        monkeypatch.setattr("jumok.nn.recurrent.native.serves", lambda x: False)
    cells = KINDS[kind](1, 1, batch_first=True)
    for parameter in cells.parameters():
        nn.init.zeros_(parameter)
    with torch.no_grad():
        if kind == "lstm":  # entry .001, keep 1, candidate 1
            cells.bias_ih_l0.copy_(torch.tensor([-6.9, 50.0, 20.0, 0.0]))
        else:  # all but .001 of the state stays, and the candidate is -1
            cells.bias_ih_l0.copy_(torch.tensor([0.0, 6.9, -20.0]))
    begun = [torch.full((1, 1, 1), 1.0)] * (2 if kind == "lstm" else 1)
    with products("bf16"):
        _, last = run_cells(kind, torch.zeros(1, 100, 1), begun, cells.all_weights[0], learning=True)
    _, wanted = run_cells(kind, torch.zeros(1, 100, 1), begun, cells.all_weights[0], learning=True)
    changed, expected = float(last[-1].detach()) - 1, float(wanted[-1].detach()) - 1
    assert abs(expected) > 0.05
    assert changed == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_no_step_and_no_gradient_of_what_nobody_used(kind):
    cells = KINDS[kind](2, 3, batch_first=True)
    begun = [torch.randn(1, 5, 3, requires_grad=True) for _ in range(2 if kind == "lstm" else 1)]
    with products("bf16"):
        states, last = run_cells(kind, torch.randn(5, 0, 2), begun, cells.all_weights[0], learning=True)
        assert states.shape == (5, 0, 3)
        assert_close(last[0], begun[0])
        states, last = run_cells(kind, torch.randn(5, 4, 2), begun, cells.all_weights[0], learning=True)
        last[-1].sum().backward()
    assert begun[0].grad is not None
