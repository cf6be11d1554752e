"""Pointing: attention inside a box counts cells by the part that is covered, and words that look alike are found."""

import pytest
import torch
from torch.testing import assert_close

from jumok.inspection.pointing import distance_between_queries, looks_alike, mass_inside
from jumok.inspection.record import AttentionMap, AttentionRecord


def test_everywhere_alike_is_chance_whatever_the_box():
    boxes = [(0.1, 0.2, 0.5, 0.9), (0.0, 0.0, 1.0, 1.0), (0.33, 0.41, 0.34, 0.42), (-0.2, 0.5, 0.3, 1.7)]
    found = mass_inside(torch.full((4, 5, 7), 1 / 35), boxes)
    assert_close(found.ratio, torch.ones(4))
    assert_close(found.area, torch.tensor([0.28, 1.0, 0.0001, 0.15]))


def test_a_cell_counts_by_the_part_that_the_box_covers():
    weights = torch.zeros(3, 2, 4)
    weights[:, 1, 2] = 1.0  # from half to three quarters of the width, the lower half
    boxes = [(0.5, 0.5, 0.75, 1.0), (0.625, 0.5, 1.0, 0.75), (0.0, 0.0, 0.5, 1.0)]
    found = mass_inside(weights, boxes)
    assert_close(found.inside, torch.tensor([1.0, 0.25, 0.0]))
    assert_close(mass_inside(weights.flatten(1), boxes, grid=(2, 4)).ratio, found.ratio)
    assert float(found.ratio[0]) == pytest.approx(8.0), "all of it in an eighth of the image"


def test_maps_that_are_the_same_and_maps_that_do_not_meet():
    assert float(distance_between_queries(torch.full((3, 5), 0.2))) == 0.0
    assert float(distance_between_queries(torch.eye(5)[:3])) == 1.0
    both = torch.stack([torch.full((3, 5), 0.2), torch.eye(5)[:3]])
    assert distance_between_queries(both).tolist() == [0.0, 1.0]
    assert distance_between_queries(torch.eye(5)[:1]).isnan()


def record_of(*weights):
    return AttentionRecord([AttentionMap("a", "cross", 0, one, grid=(1, one.shape[-1])) for one in weights])


def test_words_look_alike_where_no_head_tells_them_apart():
    constant, sharp = torch.tensor([[0.7, 0.2, 0.1]]).expand(3, -1), torch.eye(3)
    noisy = (constant + 0.02 * torch.eye(3)) / 1.02
    assert looks_alike(record_of(torch.stack([constant, noisy])), words=3)
    assert not looks_alike(record_of(torch.stack([constant, sharp])), words=3), "one head does"
    assert not looks_alike(record_of(constant[None], sharp[None]), words=3), "one layer does"
    assert not looks_alike(record_of(constant[None]), words=1), "one word differs from none"
    assert not looks_alike(AttentionRecord([]), words=3)
    end = torch.stack([constant[0], constant[0], sharp[1]])[None]
    assert looks_alike(record_of(end), words=2), "the end token is no word"
