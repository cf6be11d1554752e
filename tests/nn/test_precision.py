"""Products in bf16: what is rounded, how often, and what stays fp32."""

import gc
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from jumok.native.fast_path import fast_path
from jumok.nn.attention import SelfAttention
from jumok.nn.convolution import Conv2d
from jumok.nn.feedforward import FeedForward
from jumok.nn.linear import Linear, linear
from jumok.nn.norms import LayerNorm
from jumok.nn.precision import narrow, narrow_weight, narrowed, products


def rounded(x):
    return x.bfloat16().float()


def test_only_inside_the_block_and_nested_blocks_end_by_themselves():
    x = torch.randn(3)
    assert narrowed(x) is x
    with products("bf16"):
        assert narrow()
        assert narrowed(x).dtype == torch.bfloat16
        with products("fp32"):
            assert not narrow()
            assert narrowed(x) is x
        assert narrow()
    assert not narrow()


def test_a_weight_is_rounded_once_in_a_block_and_anew_in_the_next():
    weight = torch.nn.Parameter(torch.randn(5, 7))
    with products("bf16"):
        first = narrow_weight(weight)
        assert narrow_weight(weight) is first
        assert not first.requires_grad
    with torch.no_grad():
        weight += 1
    with products("bf16"):
        assert_close(narrow_weight(weight), weight.detach().bfloat16())


def test_no_rounded_weight_outlives_its_block():
    layer = Linear(5, 7)
    with products("bf16"):
        loss = layer(torch.randn(3, 5)).sum()
        kept = weakref.ref(narrow_weight(layer.weight))
        loss.backward()
    del loss
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 5), (0, 5)])
def test_a_linear_layer_multiplies_rounded_numbers_and_adds_the_bias_whole(shape, bias):
    torch.manual_seed(2)
    layer, x = Linear(5, 7, bias=bias), torch.randn(shape, requires_grad=True)
    outward = torch.randn(*shape[:-1], 7)
    with products("bf16"):
        found = layer(x)
    found.backward(outward)
    assert found.dtype == x.grad.dtype == layer.weight.grad.dtype == torch.float32
    near = {"rtol": 2**-7, "atol": 2**-7}
    assert_close(found, F.linear(rounded(x), rounded(layer.weight), layer.bias), **near)
    assert_close(x.grad, rounded(outward) @ rounded(layer.weight), **near)
    flat = rounded(outward).flatten(0, -2)
    assert_close(layer.weight.grad, flat.t() @ rounded(x).flatten(0, -2), **near)
    if bias:
        assert_close(layer.bias.grad, outward.flatten(0, -2).sum(dim=0))


def test_a_layer_answers_in_the_numbers_it_was_given():
    layer, x = Linear(5, 7), torch.randn(3, 5)
    with products("bf16"):
        assert layer(x).dtype == torch.float32
        assert layer(x.bfloat16()).dtype == torch.bfloat16
        assert linear(x, layer.weight, layer.bias).equal(layer(x))
    assert linear(x, layer.weight, layer.bias).equal(F.linear(x, layer.weight, layer.bias))


def test_what_waits_for_the_gradient_takes_half_the_memory():
    layer, x = Linear(5, 7), torch.randn(3, 5)

    sizes = []
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda kept: sizes.append(kept.nbytes) or kept, lambda kept: kept)
    with products("bf16"), hooks:
        layer(x)
    assert sum(sizes) == (x.numel() + layer.weight.numel()) * 2


def test_a_convolution_multiplies_rounded_numbers():
    torch.manual_seed(2)
    layer, x = Conv2d(3, 5, 3, padding=1, stride=2), torch.randn(2, 3, 8, 8, requires_grad=True)
    with products("bf16"):
        found = layer(x)
        found.square().sum().backward()
    assert found.dtype == layer.weight.grad.dtype == layer.bias.grad.dtype == x.grad.dtype == torch.float32
    wanted = F.conv2d(rounded(x), rounded(layer.weight), layer.bias, 2, 1)
    assert_close(found, wanted, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("part", ["attention", "relu", "gelu"])
@pytest.mark.parametrize("dropout", [0.0, 0.25])
def test_parts_answer_in_the_numbers_that_they_are_given_and_the_sum_with_what_came_in_is_fp32(part, dropout):
    torch.manual_seed(2)
    x = torch.randn(2, 6, 16, requires_grad=True)
    layer = SelfAttention(16, 2, kind="encoder") if part == "attention" else FeedForward(16, 24, activation=part)
    if part != "attention":
        layer.dropout.rate, layer.dropout.threshold = dropout, round(dropout * 256)
    with products("bf16"):
        assert layer(x).dtype == torch.float32  # whose reader may be a layer that knows nothing of precision
        added = layer(narrowed(x))
        assert added.dtype == torch.bfloat16
        (x + added).square().sum().backward()
    assert x.grad.dtype == torch.float32
    assert all(parameter.grad.dtype == torch.float32 for parameter in layer.parameters())


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("fast", [True, False])
def test_a_norm_beside_what_it_was_made_of_has_the_gradient_of_both(precision, fast):
    torch.manual_seed(2)
    norm, x = LayerNorm(24), torch.randn(3, 5, 24, requires_grad=True)
    torch.nn.init.normal_(norm.weight)
    outward, along = torch.randn(3, 5, 24), torch.randn(3, 5, 24)
    wanted = torch.autograd.grad((outward * x + along * F.layer_norm(x, (24,), norm.weight)).sum(), (x, norm.weight))
    with fast_path(when=fast), products(precision):
        same, normal = norm.beside(x)
        assert same.equal(x)
        found = torch.autograd.grad((outward * same + along * normal.float()).sum(), (x, norm.weight))
        (alone,) = torch.autograd.grad(norm.beside(x)[0].sum(), x)
    assert alone.equal(torch.ones_like(x)), "the norm was not used"
    near = {"rtol": 0.02, "atol": 0.04} if precision == "bf16" else {}
    assert_close(list(found), list(wanted), **near)
