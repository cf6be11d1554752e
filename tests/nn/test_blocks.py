"""Dropout, norms, positions: what each promises."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from jumok.nn.dropout import Dropout, keep_mask
from jumok.nn.norms import BatchNorm, GroupNorm, LayerNorm
from jumok.nn.positions import Positions, sinusoid


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_dropout_drops_its_share_and_keeps_the_mean(rate):
    torch.manual_seed(1)
    dropout, x = Dropout(rate).train(), torch.ones(1000, 1001)
    output = dropout(x)
    assert abs((output == 0).float().mean() - rate) < 0.004  # 1/512 for rounding to bytes, the rest for chance
    assert abs(output.mean() - 1) < 0.004
    assert len(output.unique()) == 2
    assert torch.equal(dropout.eval()(x), x)


def test_every_byte_is_equally_likely():
    """An int64 drawn from [0, 2⁶³) would leave the highest bit of every eighth byte at zero."""
    torch.manual_seed(2)
    for threshold in (1, 128, 255):
        mask = keep_mask(torch.Size((8 * 200_000,)), threshold).view(-1, 8).float()
        dropped = 1 - mask.mean(dim=0)  # by place within the 64 bits
        assert (dropped - threshold / 256).abs().max() < 0.005


def test_dropout_of_neighbours_is_independent():
    torch.manual_seed(3)
    mask = keep_mask(torch.Size((400_000,)), 77).float()
    centred = mask - mask.mean()
    for distance in (1, 2, 7, 8, 64):
        correlation = (centred[distance:] * centred[:-distance]).mean() / centred.square().mean()
        assert abs(correlation) < 0.01


def test_dropout_backpropagates_through_what_was_kept():
    dropout, x = Dropout(0.3).train(), torch.randn(7, 11, requires_grad=True)
    output = dropout(x)
    output.sum().backward()
    assert_close(x.grad, (output / x).detach().nan_to_num())


def test_batch_norm_counts_real_positions_only():
    norm, x = BatchNorm(5).train(), torch.randn(3, 7, 5)
    mask = torch.arange(7) < torch.tensor([7, 4, 2])[:, None]
    output = norm(x, mask)
    assert_close(output[mask].mean(dim=0), torch.zeros(5), atol=1e-6, rtol=0)
    other = norm(x + 100 * ~mask[..., None], mask)
    assert_close(other[mask], output[mask])


def test_group_norm_takes_an_image_of_one_pixel_alone_as_among_others():
    norm = GroupNorm(8, 8)
    images = torch.randn(3, 8, 1, 1)
    assert_close(torch.cat([norm(image[None]) for image in images]), norm(images))
    larger = torch.randn(3, 8, 4, 4)
    assert_close(norm(larger), nn.GroupNorm(8, 8)(larger))


def test_layer_norm_works_on_each_position_by_itself():
    norm, x = LayerNorm(5), torch.randn(3, 7, 5)
    assert_close(norm(x)[1, 2], norm(x[1:2, 2:3])[0, 0])
    assert_close(norm(x).mean(dim=-1), torch.zeros(3, 7), atol=1e-6, rtol=0)


def test_the_sinusoid_is_the_papers():
    places, width = torch.arange(11), 8
    table = sinusoid(places, width)
    for place in range(11):
        for pair in range(4):
            angle = place / 10_000 ** (2 * pair / width)
            assert math.isclose(table[place, 2 * pair], math.sin(angle), abs_tol=1e-5)
            assert math.isclose(table[place, 2 * pair + 1], math.cos(angle), abs_tol=1e-5)
    halves = sinusoid(places, width, halves=True)
    assert_close(halves, torch.cat([table[:, 0::2], table[:, 1::2]], dim=1))
    assert sinusoid(places, 7).shape == (11, 7)


def test_sinusoids_are_unique_and_alike_when_near():
    table = sinusoid(torch.arange(200), 64)
    assert torch.cdist(table, table).add(torch.eye(200) * 9).min() > 0.1
    similarity = table @ table[100]
    assert similarity[101] > similarity[105] > similarity[120]


@pytest.mark.parametrize("kind", ["none", "index", "sinusoidal", "sinusoidal-halves", "learned"])
@pytest.mark.parametrize("join", ["add", "concatenate"])
def test_positions_join_and_go_on_from_any_place(kind, join):
    positions = Positions(kind, 12, join=join, longest=20)
    x = torch.randn(2, 9, positions.embedding_width)
    whole = positions(x)
    assert whole.shape == (2, 9, 12)
    assert_close(positions(x[:, 4:], first=4), whole[:, 4:])
    assert_close(positions(x[:, 4:], first=torch.tensor([4, 4])), whole[:, 4:])
    uneven = positions(x[:, :2], first=torch.tensor([0, 5]))
    assert_close(uneven[0], whole[0, :2])
    same_token = positions(torch.zeros(1, 3, positions.embedding_width))
    assert (kind == "none") == torch.equal(same_token[0, 0], same_token[0, 1])
    assert positions.limit == (20 if kind == "learned" else 0)


def test_the_naive_index_is_one_more_feature():
    positions = Positions("index", 12, join="concatenate")
    assert positions(torch.zeros(1, 5, 11))[0, :, 11].tolist() == [0, 1, 2, 3, 4]
