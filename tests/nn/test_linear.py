"""The linear layer while a model learns: torch's numbers and gradients, by another library's product."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from jumok.native.fast_path import fast_path
from jumok.nn import linear
from jumok.nn.linear import Linear

pytestmark = pytest.mark.skipif(linear._product is None, reason="a torch without oneDNN")


@pytest.fixture(autouse=True)
def in_a_worker():
    with fast_path():
        yield


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), st.integers(1, 70), st.integers(1, 70), st.booleans(), st.integers(0, 99))  # fmt: skip
def test_the_same_numbers_and_gradients(rows, inside, outside, biased, seed):
    torch.manual_seed(seed)
    layer, plain = Linear(inside, outside, bias=biased), nn.Linear(inside, outside, bias=biased)
    plain.load_state_dict(layer.state_dict())
    x = torch.randn(*rows, inside, requires_grad=True)
    found, wanted = layer(x), plain(x)
    assert type(found.grad_fn).__name__ == "_LinearBackward"
    assert_close(found, wanted, atol=1e-5, rtol=1e-5)
    outward = torch.randn_like(found)
    assert_close(
        torch.autograd.grad(found, [x, *layer.parameters()], outward),
        torch.autograd.grad(wanted, [x, *plain.parameters()], outward),
        atol=1e-4,
        rtol=1e-4,
    )


def test_what_is_frozen_gets_no_gradient():
    layer = Linear(5, 7)
    layer.weight.requires_grad_(False)
    layer(torch.randn(3, 5)).sum().backward()
    assert layer.weight.grad is None
    assert_close(layer.bias.grad, torch.full((7,), 3.0))


def test_elsewhere_it_is_torchs_own():
    layer, x = Linear(5, 7), torch.randn(3, 5)
    with torch.no_grad():
        assert layer(x).grad_fn is None
    for other in (torch.randn(5, 3).t(), torch.randn(0, 5)):
        assert type(layer(other).grad_fn).__name__ == "AddmmBackward0"
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16
    assert layer.double()(x.double()).dtype == torch.float64
    with fast_path(when=False):
        assert type(layer.float()(x).grad_fn).__name__ == "AddmmBackward0"
