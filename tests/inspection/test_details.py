"""Details: what a layer's weights were computed from, enough to compute them again by hand."""

import math

import pytest
import torch
from inspection.test_observe import pair_batch, transformer  # noqa: F401 - a fixture
from torch.testing import assert_close

from jumok.inspection.ablation import Ablation
from jumok.inspection.observe import observe
from jumok.models.seq2seq import Seq2Seq
from jumok.nn.positions import Positions


def by_hand(details):
    """Return the weights (…, H, Q, K) and what the heads together hand to the projection."""
    if details.vector is None:
        scores = details.query @ details.key.transpose(-2, -1) * details.scale
    else:
        scores = (details.query[..., :, None, :] + details.key[..., None, :, :]).tanh() @ details.vector
    if details.mask is not None:
        scores = scores.masked_fill(~details.mask.unsqueeze(-3), -math.inf)
    weights = scores.softmax(dim=-1)
    return weights, (weights @ details.value).transpose(-3, -2).flatten(-2)


def test_weights_and_output_can_be_computed_again_from_the_details(transformer):  # noqa: F811
    batch = pair_batch()
    plain = transformer(batch)
    with observe(transformer, details=True) as record:
        assert_close(transformer(batch), plain, rtol=1e-5, atol=1e-5)
    assert len(record.maps) == 8
    for found in record.maps:
        weights, mixed = by_hand(found.details)
        assert_close(weights, found.weights)
        assert_close(transformer.get_submodule(found.path).output(mixed), found.details.output)
        assert not found.details.query.requires_grad


def test_details_are_cut_with_their_map(transformer):  # noqa: F811
    with observe(transformer, details=True) as record:
        transformer(pair_batch())
    cross = record.of_kind("cross")[1].cut("abc", "defg", row=1)  # the second source has four tokens, its target three
    weights, _ = by_hand(cross.details)
    assert_close(weights, cross.weights)
    assert cross.details.output.shape == (3, 12)
    assert cross.merged([0, 0, 1], [0, 1, 1, 2]).details is None


def test_without_details_nothing_more_is_kept(transformer):  # noqa: F811
    with observe(transformer) as record:
        transformer(pair_batch())
    assert all(found.details is None for found in record.maps)
    assert record.positions == []


def test_hypotheses_that_share_a_memory_have_details_of_their_own(transformer):  # noqa: F811
    with torch.inference_mode(), observe(transformer, details=True) as record:
        state = transformer.start(transformer.encode(pair_batch())).select(torch.tensor([0, 0, 0, 1, 1, 1]))
        transformer.extend(torch.tensor([[4], [5], [6], [7], [8], [9]]), state)
    for found in record.of_kind("cross"):
        weights, _ = by_hand(found.details)
        assert_close(weights, found.weights)
        assert found.details.output.shape == (6, 1, 12)


@pytest.mark.parametrize("attend", ["before", "after"])
@pytest.mark.parametrize("attention", ["dot", "bilinear", "mlp"])
def test_a_recurrent_decoders_looks_can_be_computed_again(attention, attend):
    torch.manual_seed(3)
    config = Seq2Seq.Config(
        source_vocabulary=23, target_vocabulary=29, width=6, attention=attention, attend=attend, dropout=0.0
    )
    model = Seq2Seq(config).eval()
    with observe(model, details=True) as record:
        model(pair_batch())
    (found,) = record.maps
    weights, mixed = by_hand(found.details)
    assert_close(weights, found.weights)
    assert_close(mixed, found.details.output)


def test_positions_are_kept(transformer):  # noqa: F811
    with observe(transformer, details=True) as record:
        transformer(pair_batch())
    source, target = record.positions
    assert (source.path, source.kind, source.join) == ("embed_source.positions", "sinusoidal", "add")
    assert_close(source.table, transformer.embed_source.positions.encode(torch.arange(64)))
    assert target.table.shape == (64, 12), "at least 64, however short the sequence"
    cut = source.cut(["a", "b"])
    assert (cut.table.shape, cut.labels) == ((64, 12), ("a", "b"))


def test_a_table_of_positions_is_kept_once_and_as_long_as_it_must_be():
    short, long = Positions("learned", 6, longest=11), Positions("sinusoidal", 6)
    model = torch.nn.ModuleList([short, long])
    with observe(model, details=True) as record:
        short(torch.zeros(1, 3, 6))
        long(torch.zeros(1, 5, 6), first=66)
        long(torch.zeros(1, 7, 6))
    assert [len(one.table) for one in record.positions] == [11, 71]
    with observe(model, details=True, ablation=Ablation(without_positions=True)) as record:
        assert short(torch.zeros(1, 3, 6)).eq(0).all()
    assert record.positions[0].table.eq(0).all()
