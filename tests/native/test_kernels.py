"""The kernels in C against what torch says."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from jumok.native import kernels
from jumok.native.fast_path import fast_path
from jumok.nn.feedforward import Gelu
from jumok.nn.norms import LayerNorm

pytestmark = pytest.mark.skipif(kernels.kernels() is None, reason="no C compiler: torch does it all")


def logits(rows, columns, seed, *, hidden=0.0, spread=10.0):
    """Return random logits, some of them forbidden, as a part of a wider tensor."""
    generator = torch.Generator().manual_seed(seed)
    wide = spread * torch.randn(rows, columns + 3, generator=generator)
    wide[torch.rand(wide.shape, generator=generator) < hidden] = -torch.inf
    return wide[:, :columns]


@settings(deadline=None)
@given(st.integers(0, 5), st.integers(1, 300), st.integers(0, 999), st.sampled_from([0.0, 0.5, 1.0]))
def test_log_sums(rows, columns, seed, hidden):
    given_logits = logits(rows, columns, seed, hidden=hidden)
    assert_close(kernels.log_sums(given_logits), given_logits.logsumexp(dim=1), atol=1e-5, rtol=1e-6)


@pytest.mark.parametrize("shift", [-1e4, 0.0, 1e4])
def test_log_sums_of_numbers_far_from_zero(shift):
    given_logits = logits(4, 8_000, 1, spread=30.0) + shift
    assert_close(kernels.log_sums(given_logits), given_logits.double().logsumexp(dim=1).float(), rtol=2e-7, atol=1e-5)


@settings(deadline=None)
@given(st.integers(0, 5), st.integers(1, 300), st.integers(1, 12), st.integers(0, 999), st.sampled_from([0.0, 0.9]))
def test_likeliest(rows, columns, count, seed, hidden):
    given_logits, count = logits(rows, columns, seed, hidden=hidden), min(count, columns)
    values, tokens = kernels.likeliest(given_logits, count)
    assert values.equal(given_logits.topk(count, dim=1).values)
    assert given_logits.gather(1, tokens).equal(values)
    assert all(len(set(row)) == count for row in tokens.tolist()), "no token twice"


def test_of_equal_values_the_first_is_taken():
    given_logits = torch.zeros(2, 200)
    given_logits[1, [70, 150]] = 1.0
    assert kernels.likeliest(given_logits, 3)[1].tolist() == [[0, 1, 2], [70, 150, 0]]


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(0, 5), st.integers(0, 999))
def test_rows_move_as_if_all_at_once(rows, places, seed):
    generator = torch.Generator().manual_seed(seed)
    tensors = [torch.randn(rows, 2, 5, 3, generator=generator) for _ in range(4)]
    chosen = torch.randint(0, rows, (rows,), generator=generator)
    targets = (chosen != torch.arange(rows)).nonzero()[:, 0]
    expected = [tensor.clone() for tensor in tensors]
    for tensor in expected:
        tensor[:, :, :places] = tensor[chosen][:, :, :places]
    kernels.move_rows(tensors, targets, chosen[targets], places)
    for found, wanted in zip(tensors, expected, strict=True):
        assert found.equal(wanted)


def test_what_the_kernels_cannot_read_is_left_to_torch():
    assert kernels.serves(torch.zeros(2, 3))
    assert not kernels.serves(torch.zeros(2, 3, dtype=torch.float64))
    assert not kernels.serves(torch.zeros(3, 2).t())


def learns_alike(module, plain, x):
    """Check that a module's output and gradients are those of torch's own."""
    with fast_path():
        found, wanted = module(x), plain(x)
        assert type(found.grad_fn).__name__.startswith("_"), "C did it"
        outward, inputs = torch.randn_like(x), [x, *module.parameters()]
        assert_close(found, wanted, atol=1e-5, rtol=1e-5)
        assert_close(
            torch.autograd.grad(found, inputs, outward),
            torch.autograd.grad(wanted, [x, *plain.parameters()], outward),
            atol=1e-4,
            rtol=1e-4,
        )


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 40), st.integers(5, 200), st.integers(0, 999), st.sampled_from([0.0, 2.0]))
def test_layer_norm(rows, width, seed, offset):
    torch.manual_seed(seed)
    norm, plain = LayerNorm(width), torch.nn.LayerNorm(width)
    with torch.no_grad():
        plain.weight.copy_(norm.weight.normal_())
        plain.bias.copy_(norm.bias.normal_())
    spread = torch.randn(2, rows, width) + offset
    learns_alike(norm, plain, spread.requires_grad_())


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 400), st.integers(0, 999), st.sampled_from([0.1, 1.0, 30.0]))
def test_gelu(count, seed, spread):
    generator = torch.Generator().manual_seed(seed)
    x = (spread * torch.randn(count, generator=generator)).requires_grad_()
    learns_alike(Gelu(), torch.nn.GELU(), x)


def test_gelu_of_every_size():
    x = torch.linspace(-12, 12, 100_001)
    exact = x.double() * torch.special.ndtr(x.double())
    assert (kernels.gelu(x) - exact).abs().max() < 1e-6
