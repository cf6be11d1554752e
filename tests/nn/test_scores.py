"""The three scores against their formulas in loops, and a decoder state that looks, worked out by hand."""

import math

import pytest
import torch
from torch.testing import assert_close

from jumok.nn import scores
from jumok.nn.masks import padding_mask
from jumok.nn.precision import products
from jumok.nn.scores import BilinearScore, DotScore, StateAttention, make_score

CLOSE = {"atol": 1e-5, "rtol": 1e-5}


def one_score(score, query, key):
    """Return the score of one query (D,) and one memory state (E,), number by number."""
    if isinstance(score, DotScore):
        return sum(float(q) * float(k) for q, k in zip(query, key, strict=True))
    if isinstance(score, BilinearScore):
        form = score.form.weight  # (D, E)
        return sum(
            float(query[i]) * float(form[i, j]) * float(key[j]) for i in range(len(query)) for j in range(len(key))
        )
    total = 0.0
    for unit in range(len(score.vector.weight[0])):
        inside = float(score.of_query.bias[unit])
        inside += sum(float(w) * float(q) for w, q in zip(score.of_query.weight[unit], query, strict=True))
        inside += sum(float(u) * float(k) for u, k in zip(score.of_key.weight[unit], key, strict=True))
        total += float(score.vector.weight[0, unit]) * math.tanh(inside)
    return total


@pytest.mark.parametrize(("kind", "width", "memory_width"), [("dot", 5, 5), ("bilinear", 5, 3), ("mlp", 5, 3)])
def test_each_score_is_its_formula(kind, width, memory_width):
    torch.manual_seed(1)
    score = make_score(kind, width, memory_width).requires_grad_(False)
    query, memory = torch.randn(2, 4, width), torch.randn(2, 6, memory_width)
    found = score(query, score.remember(memory))
    assert found.shape == (2, 4, 6)
    wanted = [[[one_score(score, q, k) for k in memory[b]] for q in query[b]] for b in range(2)]
    assert_close(found, torch.tensor(wanted), **CLOSE)


@pytest.mark.parametrize("block", [1, 70, 150, 10_000], ids=["one query", "some queries", "some rows", "all"])
def test_the_additive_score_and_its_gradients_are_those_of_the_plain_formula_in_blocks_of_any_size(block, monkeypatch):
    monkeypatch.setattr(scores, "BLOCK", block)
    torch.manual_seed(2)
    ours, theirs = make_score("mlp", 5, 3).double(), make_score("mlp", 5, 3).double()
    theirs.load_state_dict(ours.state_dict())
    query, memory = torch.randn(3, 4, 5, dtype=torch.double), torch.randn(3, 6, 3, dtype=torch.double)
    inputs = [[part.clone().requires_grad_() for part in (query, memory)] for _ in range(2)]
    found = ours(inputs[0][0], ours.remember(inputs[0][1]))
    mixed = theirs.of_query(inputs[1][0])[:, :, None] + theirs.of_key(inputs[1][1])[:, None]
    wanted = theirs.vector(mixed.tanh()).squeeze(-1)
    assert_close(found, wanted)
    pull = torch.randn(3, 4, 6, dtype=torch.double)
    (found * pull).sum().backward()
    (wanted * pull).sum().backward()
    for (name, parameter), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        assert_close(parameter.grad, other.grad, msg=name)
    for part, other in zip(*inputs, strict=True):
        assert_close(part.grad, other.grad)


def test_the_additive_score_takes_half_precision():
    torch.manual_seed(3)
    score = make_score("mlp", 16, 16)
    query, memory = torch.randn(2, 4, 16), torch.randn(2, 5, 16)
    plain = score(query, score.remember(memory))
    with products("bf16"):
        half = score(query, score.remember(memory))
    assert_close(half.float(), plain, atol=0.05, rtol=0.05)
    half.float().sum().backward()
    assert all(parameter.grad.dtype == torch.float32 and parameter.grad.any() for parameter in score.parameters())


def test_only_what_a_formula_has_is_learnt():
    shapes = {
        kind: {name: tuple(value.shape) for name, value in make_score(kind, 5, width).named_parameters()}
        for kind, width in (("dot", 5), ("bilinear", 3), ("mlp", 3))
    }
    assert shapes == {
        "dot": {},
        "bilinear": {"form.weight": (5, 3)},
        "mlp": {"of_query.weight": (5, 5), "of_query.bias": (5,), "of_key.weight": (5, 3), "vector.weight": (1, 5)},
    }


def test_a_dot_product_needs_equal_widths():
    with pytest.raises(AssertionError, match="equal widths"):
        make_score("dot", 5, 3)


# --- by hand

LOG2, LOG3 = math.log(2.0), math.log(3.0)


def set_weights(attention, **weights):
    with torch.no_grad():
        for name, values in weights.items():
            attention.score.get_parameter(name.replace("__", ".")).copy_(torch.tensor(values))


def test_dot_attention_by_hand():
    attention = StateAttention("dot", 2, 2)
    memory = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    query = torch.tensor([[[LOG3, 0.0], [0.0, 0.0]]])
    # query 1 scores log 3 and 0: weights 3/4 and 1/4; query 2 scores 0 and 0: a half each
    context, weights = attention(query, memory, attention.score.remember(memory), torch.ones(1, 2, dtype=torch.bool))
    assert_close(weights, torch.tensor([[[0.75, 0.25], [0.5, 0.5]]]))
    assert_close(context, torch.tensor([[[0.75, 0.25], [0.5, 0.5]]]))


def test_bilinear_attention_by_hand():
    attention = StateAttention("bilinear", 2, 2)
    set_weights(attention, form__weight=[[0.0, LOG2], [0.0, 0.0]])
    memory = torch.tensor([[[5.0, 1.0], [-7.0, 0.0]]])
    query = torch.tensor([[[2.0, 9.0]]])
    # W k = (log 2, 0) and (0, 0); q · W k = 2 log 2 = log 4 and 0: weights 4/5 and 1/5; 4/5 · 5 − 1/5 · 7 = 2.6
    context, weights = attention(query, memory, attention.score.remember(memory), torch.ones(1, 2, dtype=torch.bool))
    assert_close(weights, torch.tensor([[[0.8, 0.2]]]))
    assert_close(context, torch.tensor([[[2.6, 0.8]]]))


def test_mlp_attention_by_hand():
    attention = StateAttention("mlp", 2, 2)
    set_weights(
        attention,
        of_query__weight=[[1.0, 0.0], [0.0, 1.0]],
        of_query__bias=[0.0, -1.0],
        of_key__weight=[[1.0, 0.0], [0.0, 0.0]],
        vector__weight=[[1.25 * LOG3, 10.0]],
    )
    memory = torch.tensor([[[LOG3 - 0.5, 4.0], [-0.5, 8.0]]])
    query = torch.tensor([[[0.5, 1.0]]])
    # unit 1: tanh(0.5 + k₁) = tanh(log 3) = 4/5 and tanh 0 = 0; unit 2: tanh(1 − 1) = 0 for both
    # scores: 5/4 log 3 · 4/5 = log 3 and 0: weights 3/4 and 1/4; 3/4 · 4 + 1/4 · 8 = 5
    context, weights = attention(query, memory, attention.score.remember(memory), torch.ones(1, 2, dtype=torch.bool))
    assert_close(weights, torch.tensor([[[0.75, 0.25]]]))
    assert_close(context, torch.tensor([[[0.75 * LOG3 - 0.5, 5.0]]]))


# --- masks and groups


@pytest.mark.parametrize("kind", ["dot", "bilinear", "mlp"])
def test_masked_states_get_nothing_whatever_they_hold(kind):
    torch.manual_seed(2)
    attention = StateAttention(kind, 4, 4)
    memory, query = torch.randn(3, 5, 4), torch.randn(3, 2, 4)
    mask = padding_mask(torch.tensor([5, 2, 0]), 5)
    with torch.no_grad():
        context, weights = attention(query, memory, attention.score.remember(memory), mask)
        loud = memory.masked_fill(~mask[..., None], 1e4)
        again, _ = attention(query, loud, attention.score.remember(loud), mask)
        short = memory[1:2, :2]
        alone, _ = attention(query[1:2], short, attention.score.remember(short), mask[1:2, :2])
    assert (weights.masked_select(~mask[:, None].expand_as(weights)) == 0).all()
    assert_close(weights[:2].sum(dim=2), torch.ones(2, 2))
    assert_close(context[1], alone[0], **CLOSE)
    assert_close(again, context)
    assert (weights[2] == 0).all()
    assert (context[2] == 0).all(), "a row that may look at nothing gets zeros"


@pytest.mark.parametrize("kind", ["dot", "bilinear", "mlp"])
@pytest.mark.parametrize("queries", [1, 3])
def test_rows_of_one_sentence_share_its_memory(kind, queries, monkeypatch):
    torch.manual_seed(3)
    attention = StateAttention(kind, 4, 4)
    memory, mask = torch.randn(2, 5, 4), padding_mask(torch.tensor([5, 3]), 5)
    query = torch.randn(6, queries, 4)  # three hypotheses a sentence
    keys = attention.score.remember(memory)
    seen, forward = [], type(attention.score).forward
    monkeypatch.setattr(
        type(attention.score), "forward", lambda self, q, k: seen.append((q.shape, k)) or forward(self, q, k)
    )
    context, weights = attention(query, memory, keys, mask)
    assert len(seen) == 1
    assert seen[0][0] == (2, 3 * queries, 4)
    assert seen[0][1] is keys, "the keys are not copied for each hypothesis"
    for row in range(6):
        one = row // 3
        alone = attention(query[row : row + 1], memory[one : one + 1], keys[one : one + 1], mask[one : one + 1])
        assert_close(context[row], alone[0][0], **CLOSE)
        assert_close(weights[row], alone[1][0], **CLOSE)


def test_all_parts_learn():
    for kind in ("bilinear", "mlp"):
        attention = StateAttention(kind, 4, 6)
        memory = torch.randn(2, 5, 6, requires_grad=True)
        query = torch.randn(2, 3, 4, requires_grad=True)
        mask = padding_mask(torch.tensor([5, 3]), 5)
        context, _ = attention(query, memory, attention.score.remember(memory), mask)
        context.square().sum().backward()
        for parameter in [*attention.parameters(), query]:
            assert parameter.grad.abs().sum() > 0
        assert torch.isfinite(memory.grad).all()
        assert (memory.grad[~mask] == 0).all()
