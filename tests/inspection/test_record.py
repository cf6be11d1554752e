"""What a record tells: words instead of subwords, figures that tell heads apart, attention followed through layers."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from jumok.inspection.record import END, AttentionMap, AttentionRecord


def found(weights, keys=(), *, kind="encoder", layer=0):
    weights = torch.as_tensor(weights, dtype=torch.float32)
    labels = tuple(keys) or tuple(f"k{i}" for i in range(weights.shape[-1]))
    return AttentionMap(
        f"{kind}.{layer}", kind, layer, weights, tuple(f"q{i}" for i in range(weights.shape[1])), labels
    )


@settings(deadline=None, max_examples=30)
@given(st.lists(st.booleans(), min_size=1, max_size=9), st.lists(st.booleans(), min_size=1, max_size=9))
def test_words_are_looked_at_as_much_as_their_pieces_together(query_starts, key_starts):
    queries, keys = ([max(sum(starts[: i + 1]) - starts[0], 0) for i in range(len(starts))] for starts in (query_starts, key_starts))  # fmt: skip
    weights = torch.rand(2, len(queries), len(keys)).softmax(dim=-1)
    merged = found(weights).merged(queries, keys)
    assert merged.weights.shape == (2, queries[-1] + 1, keys[-1] + 1)
    assert_close(merged.weights.sum(dim=-1), torch.ones(2, queries[-1] + 1))
    pieces = [i for i, word in enumerate(queries) if word == 0]
    into = [i for i, word in enumerate(keys) if word == keys[-1]]
    assert_close(merged.weights[0, 0, -1], weights[0, pieces][:, into].sum(dim=-1).mean())
    assert "".join(merged.keys) == "".join(f"k{i}" for i in range(len(keys)))


def test_figures_of_heads_that_are_known():
    even, own, last = torch.full((4, 4), 0.25), torch.eye(4), torch.eye(4)[[3, 3, 3, 3]]
    even_head, own_head, last_head = found(torch.stack([even, own, last]), ["a", "b", "c", END]).summaries()
    assert even_head.entropy == pytest.approx(math.log(4))
    assert own_head.entropy == pytest.approx(0.0, abs=1e-6)
    assert (own_head.distance, own_head.diagonality) == (0.0, 1.0)
    assert last_head.on_end == 1.0
    assert even_head.on_end == 0.25
    assert last_head.distance == pytest.approx(1.5)
    assert last_head.diagonality == pytest.approx(0.5)


def test_queries_are_stretched_over_the_keys():
    [head] = found(torch.eye(5)[[0, 2, 4]][None]).summaries()
    assert head.distance == 0.0


def test_heads_are_ranked_over_all_layers():
    record = AttentionRecord(
        [found(torch.full((1, 3, 3), 1 / 3)), found(torch.eye(3)[None], layer=1), found(torch.eye(3)[None], kind="cross")]
    )  # fmt: skip
    assert [(one.kind, one.layer) for one in record.ranked()] == [("encoder", 1), ("cross", 0), ("encoder", 0)]
    assert [one.layer for one in record.ranked("diagonality", kind="encoder")] == [0, 1]


def test_cross_attention_is_followed_through_the_encoder():
    turned = torch.eye(3)[[1, 2, 0]][None]
    record = AttentionRecord([found(turned), found(torch.eye(3)[None], kind="cross")])
    assert_close(record.rolled_out("cross"), (turned[0] + torch.eye(3)) / 2)
    assert_close(record.rolled_out("encoder"), (turned[0] + torch.eye(3)) / 2)
    assert_close(AttentionRecord(record.of_kind("cross")).rolled_out("cross"), torch.eye(3))


def test_bytes_of_a_character_are_a_character_again_in_words():
    labels = ("▁", "<EB><84>", "<8C>", "▁a", "<EB>")
    whole = AttentionMap("path", "encoder", 0, torch.ones(1, 5, 5) / 5, labels, labels).merged(
        [0, 0, 0, 1, 1], [0, 0, 0, 1, 1]
    )
    assert whole.keys == (f"▁{bytes.fromhex('EB848C').decode()}", "▁a<EB>"), "what is no character stays as it is"
