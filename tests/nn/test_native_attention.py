"""Attention in C while a model learns: the same numbers and gradients as torch's, on every layout, mask and bias."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from jumok.inspection.observe import observe
from jumok.models.swin import Swin, SwinConfig
from jumok.native import kernels
from jumok.native.fast_path import fast_path
from jumok.nn import attention, native_attention, windows
from jumok.nn.attention import CrossAttention, SelfAttention
from jumok.nn.batch import ImageBatch
from jumok.nn.masks import causal_mask, over_keys, padding_mask, shown_keys
from jumok.nn.native_attention import Heads, attend_to_another, attend_to_itself, fits

pytestmark = pytest.mark.skipif(kernels.kernels() is None, reason="no C compiler: torch does it all")


@pytest.fixture(autouse=True)
def in_a_worker():
    with fast_path():
        yield


def plainly(query, key, value, heads, *, scale, mask=None, bias=None):
    """Return softmax(q kᵀ · scale + bias) v of (N, T, H · d) as the formula has it."""
    query, key, value = (x.unflatten(2, (heads, -1)).transpose(1, 2) for x in (query, key, value))
    scores = query @ key.mT * scale
    if bias is not None:
        scores = scores + bias.repeat(len(query) // len(bias), 1, 1, 1)
    return (attention.masked_softmax(scores, mask) @ value).transpose(1, 2).flatten(2)


def gradients(output, *inputs):
    """Return the gradients of inputs for the same random gradient of output."""
    outward = torch.randn(output.shape, generator=torch.Generator().manual_seed(7))
    return torch.autograd.grad(output, inputs, outward)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 4), st.integers(1, 70), st.integers(1, 3), st.sampled_from([4, 8, 12, 16, 24, 28, 40]), st.booleans(), st.booleans(), st.integers(0, 999))  # fmt: skip
def test_a_sequence_looks_at_itself(sequences, length, heads, width, causal, padded, seed):
    torch.manual_seed(seed)
    joined = torch.randn(sequences, length, 3 * heads * width, requires_grad=True)
    lengths = torch.randint(0, length + 1, (sequences,)) if padded else None
    mask = None if lengths is None else padding_mask(lengths, length)[:, None, None]
    if causal:
        mask = causal_mask(length, length) if mask is None else mask & causal_mask(length, length)
    found = attend_to_itself(joined, Heads(heads, 0.3, lengths), causal=causal)
    wanted = plainly(*joined.chunk(3, dim=2), heads, scale=0.3, mask=mask)
    assert_close(found, wanted, atol=2e-6, rtol=1e-5)
    assert_close(gradients(found, joined), gradients(wanted, joined), atol=1e-5, rtol=1e-4)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 4), st.integers(1, 20), st.integers(1, 40), st.sampled_from([4, 8, 20, 32]), st.integers(0, 999))
def test_a_sequence_looks_at_another(sequences, queries, keys, width, seed):
    torch.manual_seed(seed)
    query = torch.randn(sequences, queries, 2 * width, requires_grad=True)
    memory = torch.randn(sequences, keys, 4 * width, requires_grad=True)
    lengths = torch.randint(0, keys + 1, (sequences,))
    found = attend_to_another(query, memory, Heads(2, 0.2, lengths))
    mask = padding_mask(lengths, keys)[:, None, None]
    wanted = plainly(query, *memory.chunk(2, dim=2), 2, scale=0.2, mask=mask)
    assert_close(found, wanted, atol=2e-6, rtol=1e-5)
    assert_close(gradients(found, query, memory), gradients(wanted, query, memory), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("biases", [1, 3])
@pytest.mark.parametrize("length", [4, 16, 49])
def test_a_bias_in_turns_with_its_gradient(biases, length):
    torch.manual_seed(3)
    joined = torch.randn(6, length, 3 * 2 * 8, requires_grad=True)
    bias = torch.randn(biases, 2, length, length)
    bias[:, :, 0, 1:] = -math.inf  # as where a shift parts cells
    bias.requires_grad_()
    found = attend_to_itself(joined, Heads(2, 0.35), bias=bias)
    wanted = plainly(*joined.chunk(3, dim=2), 2, scale=0.35, bias=bias)
    assert_close(found, wanted, atol=2e-6, rtol=1e-5)
    assert_close(gradients(found, joined, bias), gradients(wanted, joined, bias), atol=1e-5, rtol=1e-4)


def test_scores_far_apart_give_weights_of_one_and_zero():
    joined = torch.zeros(1, 3, 24)
    joined[0, :, 0] = 1.0  # queries
    joined[0, :, 8] = torch.tensor([-1e4, 0.0, 1e4])  # keys
    joined[0, :, 16] = torch.tensor([5.0, 7.0, 11.0])  # values
    assert attend_to_itself(joined, Heads(1, 1.0))[0, :, 0].tolist() == [11.0, 11.0, 11.0]


def test_the_keys_that_a_mask_shows_are_counted_only_where_they_come_first():
    mask = padding_mask(torch.tensor([0, 2, 3]), 3)
    assert shown_keys(mask[:, None, None], 3, 3).tolist() == [0, 2, 3]
    assert shown_keys(mask.flip(1)[:, None, None], 3, 3) is None
    assert shown_keys(causal_mask(3, 3)[None, None], 1, 3) is None


@pytest.fixture
def calls(monkeypatch):
    """Return a list that grows with each call of the kernel."""
    found = []
    for module, name in ((attention, "attend_to_itself"), (attention, "attend_to_another"), (windows, "attend_to_itself")):  # fmt: skip
        real = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *given, real=real, name=name, **more: found.append(name) or real(*given, **more)
        )
    return found


def without_kernels(monkeypatch):
    """Let torch do everything."""
    for module in (attention, windows):
        monkeypatch.setattr(module, "fits", lambda *given: False)


@pytest.mark.parametrize("causal", [False, True])
def test_layers_learn_the_same_in_c_and_in_torch(calls, monkeypatch, causal):
    torch.manual_seed(1)
    layer, cross = SelfAttention(32, 4, kind="encoder"), CrossAttention(32, 4, kind="cross")
    x, memory = torch.randn(3, 5, 32, requires_grad=True), torch.randn(3, 7, 32, requires_grad=True)
    own, other = (over_keys(padding_mask(torch.tensor(n), max(n))) for n in ([5, 2, 3], [4, 7, 1]))

    def run():
        return cross(layer(x, own, causal=causal), cross.key_value(memory), other)

    weights = [*layer.parameters(), *cross.parameters(), x, memory]
    found = run()
    in_c = gradients(found, *weights)
    assert calls == ["attend_to_itself", "attend_to_another"]
    without_kernels(monkeypatch)
    wanted = run()
    assert_close(found, wanted, atol=1e-5, rtol=1e-5)
    assert_close(in_c, gradients(wanted, *weights), atol=1e-5, rtol=1e-4)
    assert len(calls) == 2


def test_windows_learn_the_same_in_c_and_in_torch(calls, monkeypatch):
    torch.manual_seed(1)
    sizes = {"image_size": 18, "channels": 3, "classes": 5, "patch_size": 2, "width": 16, "heads": [2, 2], "layers": [2, 2], "window": 4}  # fmt: skip
    model = Swin(SwinConfig.parse({"name": "swin", "stochastic_depth": 0.0, **sizes}, "model")).train()
    batch = ImageBatch(torch.randn(2, 3, 18, 18), torch.tensor([1, 2]))
    found = model(batch)
    in_c = gradients(found, *model.parameters())
    assert len(calls) == 4, "one a layer"
    without_kernels(monkeypatch)
    wanted = model(batch)
    assert_close(found, wanted, atol=1e-5, rtol=1e-4)
    assert_close(in_c, gradients(wanted, *model.parameters()), atol=1e-4, rtol=1e-3)


def test_what_the_kernel_is_not_for_is_left_to_torch(calls):
    layer, x = SelfAttention(32, 4, kind="encoder"), torch.randn(2, 5, 32)
    with torch.no_grad():
        layer(x)
    with observe(layer):
        layer(x)
    layer(x, causal_mask(5, 5)[None, None].expand(2, 1, 5, 5))
    SelfAttention(32, 4, kind="encoder", dropout=0.5).train()(x)
    SelfAttention(32, 4, kind="encoder", value_width=16)(x)
    SelfAttention(20, 4, kind="encoder")(torch.randn(2, 5, 20))
    with fast_path(when=False):
        layer(x)
    assert not calls
    assert not fits(x.double(), 5, 8)
    assert not fits(x, native_attention.LONGEST + 1, 8)
    layer(x)
    assert calls == ["attend_to_itself"]
