"""The kernels between products in bf16 beside what torch says, from the same rounded numbers."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from jumok.native import kernels as native
from jumok.native import narrow
from jumok.native.build import kernels
from jumok.native.fast_path import fast_path
from jumok.nn.dropout import random_bytes
from jumok.nn.native_attention import Heads, attend_to_another, attend_to_itself

pytestmark = pytest.mark.skipif(kernels() is None, reason="no compiler here: torch does everything")
SHAPE = (3, 7, 24)
THRESHOLD, SCALE = 64, 256 / 192


@pytest.fixture
def numbers():
    torch.manual_seed(4)
    x, gradient = torch.randn(SHAPE).bfloat16(), torch.randn(SHAPE).bfloat16()
    return x, gradient, random_bytes(7, x.numel())


def kept(random):
    return (random >= THRESHOLD).view(SHAPE) * SCALE


def rounded(x):
    return x.float().bfloat16()


def test_dropout(numbers):
    x, gradient, random = numbers
    base = torch.randn(SHAPE)
    assert torch.equal(narrow.drop(x, random, THRESHOLD, SCALE), rounded(x.float() * kept(random)))
    added = narrow.drop_added(base, x, random, THRESHOLD, SCALE)
    assert_close(added, base + x.float() * kept(random), rtol=1e-6, atol=1e-6)
    back = narrow.drop_back(gradient.float(), random, THRESHOLD, SCALE)
    assert torch.equal(back, rounded(gradient.float() * kept(random)))


def test_dropout_after_relu(numbers):
    x, gradient, random = numbers
    out = narrow.drop_relu(x, random, THRESHOLD, SCALE)
    assert torch.equal(out, rounded(x.float().relu() * kept(random)))
    back = narrow.drop_relu_back(out, gradient, SCALE)
    assert torch.equal(back, rounded((out > 0) * gradient.float() * SCALE))


def test_gelu(numbers):
    x, gradient, _ = numbers
    wide = x.float().requires_grad_()
    wanted = F.gelu(wide)
    wanted.backward(gradient.float())
    assert_close(narrow.gelu(x).float(), wanted, rtol=2**-8, atol=1e-5)
    assert_close(narrow.gelu_back(x, gradient).float(), wide.grad, rtol=2**-8, atol=1e-5)


@pytest.mark.parametrize("added", [True, False])
def test_layer_norm_for_a_product_and_its_gradient(numbers, added):
    x, gradient, _ = numbers
    x, scale, shift = x.float(), 1 + torch.randn(24) / 4, torch.randn(24)
    normal, *statistics = narrow.normalise_rows(x, scale, shift, 1e-5)
    wide, *in_fp32 = native.normalise_rows(x, scale, shift, 1e-5)
    assert_close(normal, wide.bfloat16())
    assert_close(statistics, in_fp32)
    beside = torch.randn(SHAPE) if added else None
    given = [part.clone().requires_grad_() for part in (x, scale, shift)]
    F.layer_norm(given[0], (24,), *given[1:]).backward(gradient.float())
    wanted = [part.grad for part in given]
    if added:
        wanted[0] = wanted[0] + beside
    found = narrow.normalise_back(gradient, x, scale, tuple(statistics), beside)
    assert_close(list(found), wanted, rtol=1e-5, atol=1e-5)
    found = native.normalise_rows_backward(gradient.float(), x, scale, tuple(statistics), beside)
    assert_close(list(found), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [0, 1, 8, 29])
def test_sums_of_columns(rows):
    x = torch.randn(rows, 37).bfloat16()
    assert_close(narrow.sums(x), x.float().sum(dim=0), rtol=1e-5, atol=1e-5)


def test_a_sum_without_dropout(numbers):
    x, _, _ = numbers
    base = torch.randn(SHAPE)
    assert_close(narrow.added(base, x), base + x.float())


@pytest.mark.parametrize("bias", [True, False])
def test_rows_of_the_loss_are_those_in_fp32_rounded(bias):
    torch.manual_seed(4)
    logits, targets = (3 * torch.randn(11, 29)).bfloat16(), torch.randint(29, (11,))
    shift = torch.randn(29) if bias else None
    ours, theirs = (torch.zeros(29) for _ in range(2))
    wide = logits.float()
    wanted = native.loss_rows(wide, shift, targets, 0.1, theirs)
    found = narrow.loss_rows(logits, shift, targets, 0.1, ours)
    assert found == pytest.approx(wanted, rel=1e-6)
    assert torch.equal(logits, wide.bfloat16())
    assert_close(ours, theirs)


@pytest.mark.parametrize("target", [-1, 29])
def test_a_target_outside_the_vocabulary_is_refused(target):
    with pytest.raises(IndexError, match=f"not in the vocabulary of 29: {target}"):
        narrow.loss_rows(torch.zeros(2, 29).bfloat16(), None, torch.tensor([3, target]), 0.0, None)


def test_what_is_no_number_stays_none_and_what_is_infinite_stays_so():
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), 3e38, 1e-40, 1.00390625]).bfloat16()
    always = torch.full((8,), 255, dtype=torch.uint8)[:6]
    found = narrow.drop(x, always, 1, 1.0)
    assert torch.equal(found.isnan(), x.isnan())
    assert torch.equal(found[1:], x[1:])


def check_near(narrow_one, wide):
    """Check bf16 numbers against those in fp32: as near as rounding weights and results leaves them, all told and each."""
    assert (narrow_one.float() - wide).norm() <= 2**-7 * wide.norm()
    assert_close(narrow_one.float(), wide, rtol=2**-6, atol=2**-6 * float(wide.abs().max()))
    assert torch.equal(narrow_one[wide == 0], torch.zeros_like(narrow_one[wide == 0])), (
        "what nobody looked at has no gradient"
    )


@pytest.mark.parametrize("keys", [1, 13, 16, 40])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("width", [4, 24, 64])
def test_attention_is_near_that_of_fp32(keys, causal, lengths, width):
    torch.manual_seed(4)
    joined = torch.randn(3, keys, 3 * 3 * width).bfloat16()
    heads = Heads(3, width**-0.5, torch.tensor([keys, 0, max(keys // 2, 1)]) if lengths else None)
    outward = torch.randn(3, keys, 3 * width).bfloat16()
    found = {}
    for kind in (torch.float32, torch.bfloat16):
        given = joined.to(kind).requires_grad_()
        with fast_path():
            mixed = attend_to_itself(given, heads, causal=causal)
        mixed.backward(outward.to(kind))
        found[kind] = mixed.detach(), *given.grad.chunk(3, dim=2)
    for wide, half in zip(found[torch.float32], found[torch.bfloat16], strict=True):
        check_near(half, wide)


def test_sequences_of_many_lengths_leave_nothing_to_each_other():
    torch.manual_seed(4)
    lengths = torch.randint(1, 41, (64,))
    joined = torch.randn(64, 40, 3 * 32).bfloat16()
    given = joined.clone().requires_grad_()
    with fast_path():
        mixed = attend_to_itself(given, Heads(1, 0.2, lengths))
        mixed.sum().backward()
        for number in range(64):
            alone = joined[number : number + 1].clone().requires_grad_()
            own = attend_to_itself(alone, Heads(1, 0.2, lengths[number : number + 1]))
            own.sum().backward()
            assert torch.equal(own[0], mixed[number])
            assert torch.equal(alone.grad[0], given.grad[number])


def test_attention_to_another_with_a_bias_in_turns():
    torch.manual_seed(4)
    query, key_value = torch.randn(4, 5, 16).bfloat16(), torch.randn(4, 9, 32).bfloat16()
    joined, bias = torch.randn(4, 9, 48).bfloat16(), torch.randn(2, 2, 9, 9)
    for kind in ("another", "biased"):
        results = []
        for wide in (True, False):
            change = (lambda x: x.float()) if wide else (lambda x: x)
            own = [
                change(x).detach().requires_grad_() for x in ((query, key_value) if kind == "another" else (joined,))
            ]
            of_bias = bias.clone().requires_grad_()
            with fast_path():
                heads = Heads(2, 0.5)
                mixed = (
                    attend_to_another(*own, heads) if kind == "another" else attend_to_itself(*own, heads, bias=of_bias)
                )
            mixed.float().square().sum().backward()
            results.append([mixed, *(x.grad for x in own), *([of_bias.grad] if kind == "biased" else [])])
        for wide, half in zip(*results, strict=True):
            assert_close(half.float(), wide.float(), rtol=0.03, atol=0.03)
