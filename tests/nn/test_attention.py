"""Attention against its formula, its masks and torch's own."""

import math

import pytest
import torch
from torch.testing import assert_close

from jumok.inspection.observe import observe
from jumok.nn.attention import CrossAttention, SelfAttention, attend, attention_weights
from jumok.nn.masks import causal_mask, over_keys, padding_mask, window_mask


def random(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def test_the_fused_kernel_computes_the_formula():
    query, key, value = random(2, 3, 5, 7), random(2, 3, 11, 7), random(2, 3, 11, 13)
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(7), dim=-1)
    assert_close(attention_weights(query, key), weights)
    assert_close(attend(query, key, value), weights @ value)


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_scaling_changes_the_scores(scale):
    query, key, value = random(2, 3, 5, 7), random(2, 3, 11, 7), random(2, 3, 11, 13)
    assert_close(
        attend(query, key, value, scale=scale), torch.softmax(scale * query @ key.transpose(-2, -1), dim=-1) @ value
    )


def test_a_query_that_may_look_at_nothing_gets_zeros_and_no_nan():
    query, key, value = (random(2, 3, 5, 7).requires_grad_() for _ in range(3))
    mask = torch.ones(2, 1, 5, 5, dtype=torch.bool)
    mask[0, :, 2] = False
    for output in (attend(query, key, value, mask), attention_weights(query, key, mask) @ value):
        assert (output[0, :, 2] == 0).all()
        assert torch.isfinite(output).all()
        query.grad = None
        output.sum().backward()
        assert torch.isfinite(query.grad).all()
    weights = attention_weights(query, key, mask)
    assert (weights[0, :, 2] == 0).all()
    assert_close(weights[1].sum(dim=-1), torch.ones(3, 5))


def test_masked_keys_count_as_if_they_were_not_there():
    query, key, value = random(2, 3, 5, 7), random(2, 3, 11, 7), random(2, 3, 11, 13)
    mask = over_keys(padding_mask(torch.tensor([4, 11]), 11))
    output = attend(query, key, value, mask)
    assert_close(output[0], attend(query[:1], key[:1, :, :4], value[:1, :, :4])[0])
    assert_close(output[1], attend(query[1:], key[1:], value[1:])[0])


def test_masks_say_true_where_one_may_look():
    assert padding_mask(torch.tensor([1, 3]), 3).tolist() == [[True, False, False], [True, True, True]]
    assert causal_mask(3, 3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert causal_mask(1, 3).tolist() == [[True, True, True]]
    assert window_mask(3, 1).tolist() == [[True, True, False], [True, True, True], [False, True, True]]
    assert over_keys(torch.ones(2, 3, dtype=torch.bool)) is None
    assert over_keys(None) is None


def test_self_attention_equals_torch_multihead_attention():
    ours = SelfAttention(12, 3, kind="encoder")
    theirs = torch.nn.MultiheadAttention(12, 3, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.query_key_value.weight)
        theirs.in_proj_bias.copy_(ours.query_key_value.bias.normal_())
        theirs.out_proj.weight.copy_(ours.output.weight)
        theirs.out_proj.bias.copy_(ours.output.bias.normal_())
    x = random(2, 5, 12)
    mask = padding_mask(torch.tensor([3, 5]), 5)
    with observe(ours) as record:
        output = ours(x, over_keys(mask))
    wanted, weights = theirs(x, x, x, key_padding_mask=~mask, average_attn_weights=False)
    assert_close(output, wanted)
    assert_close(ours(x, over_keys(mask)), wanted)
    assert_close(record.maps[0].weights, weights)


def test_rows_of_one_sentence_share_its_memory():
    cross = CrossAttention(12, 3, kind="cross", head_width=5, value_width=2)
    memory, x = random(2, 7, 12), random(6, 4, 12)
    shared = cross(x, cross.remember(memory))
    repeated = cross(x, cross.remember(memory.repeat_interleave(3, dim=0)))
    assert_close(shared, repeated)


def test_attention_alone_is_blind_to_order():
    """MISSION claim 5: permute the input and the output permutes with it."""
    layer, x = SelfAttention(12, 3, kind="encoder"), random(1, 9, 12)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(1))
    assert (layer(x[:, order]) - layer(x)[:, order]).abs().max() < 1e-5


def test_weight_dropout_acts_in_training_only():
    layer, x = SelfAttention(12, 3, kind="encoder", dropout=0.5), random(2, 5, 12)
    assert_close(layer.eval()(x), layer(x))
    layer.train()
    assert not torch.allclose(layer(x), layer(x))


@pytest.mark.parametrize("attention", [SelfAttention, CrossAttention])
def test_a_width_that_heads_cannot_share_is_refused(attention):
    with pytest.raises(ValueError, match=r"width \(30\) must be a multiple of heads \(4\); the nearest below is 28"):
        attention(30, 4, kind="encoder")
    assert attention(30, 4, kind="encoder", head_width=7).head_width == 7
