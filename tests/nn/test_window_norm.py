"""What a window is made comparable by: formulas, missing values, what cannot be known."""

import pytest
import torch
from torch.testing import assert_close

from jumok.nn.window_norm import DECAY, last_value, ridge_forecast, window_statistics

B, L, V = 3, 9, 2


@pytest.fixture
def window():
    generator = torch.Generator().manual_seed(1)
    return torch.randn(B, L, V, generator=generator), torch.rand(B, L, V, generator=generator) < 0.7


@pytest.mark.parametrize("kind", ["mean-std", "ewma"])
@pytest.mark.parametrize("relative", [False, True])
def test_means_and_deviations_of_what_is_there(window, kind, relative):
    past, observed = window
    shift, scale = window_statistics(past, observed, kind, relative=relative)
    for row in range(B):
        for variable in range(V):
            there = observed[row, :, variable]
            values = past[row, there, variable]
            ages = (L - 1 - torch.arange(L))[there]
            weight = DECAY**ages if kind == "ewma" else torch.ones(len(values))
            weight = weight / weight.sum()
            mean = torch.tensor(0.0) if relative else (weight * values).sum()
            assert_close(shift[row, 0, variable], mean)
            assert_close(scale[row, 0, variable], (weight * (values - mean) ** 2).sum().sqrt())


def test_last_is_the_last_that_is_there(window):
    past, observed = window
    found = last_value(past, observed)
    for row in range(B):
        for variable in range(V):
            assert found[row, 0, variable] == past[row, observed[row, :, variable], variable][-1]


@pytest.mark.parametrize("kind", ["none", "last", "mean-std", "ewma"])
def test_a_window_of_nothing_has_unit_one(kind):
    shift, scale = window_statistics(torch.zeros(1, L, V), torch.zeros(1, L, V, dtype=torch.bool), kind)
    assert torch.equal(shift, torch.zeros(1, 1, V))
    assert torch.equal(scale, torch.ones(1, 1, V))


def test_what_stands_in_a_missing_value_does_not_matter(window):
    past, observed = window
    other = torch.where(observed, past, past + 99)
    for kind in ("last", "mean-std", "ewma"):
        for one, two in zip(
            window_statistics(past, observed, kind), window_statistics(other, observed, kind), strict=True
        ):
            assert_close(one, two)
    weight = torch.randn(4, L)
    assert_close(ridge_forecast(weight, past, observed), ridge_forecast(weight, other, observed))
