"""Scores of described scenes: sets of objects, nothing for making some up."""

import random
from dataclasses import dataclass
from itertools import permutations

import pytest

from jumok.evaluation.scenes import right_traits, score_scenes


@dataclass(frozen=True)
class Thing:
    form: str
    colour: str
    size: str = "small"
    place: str = "top left"


STAR, CROSS, CIRCLE = Thing("star", "red"), Thing("cross", "blue", "large"), Thing("circle", "red", place="middle left")


def test_order_does_not_matter():
    for order in permutations([STAR, CROSS, CIRCLE]):
        scores = score_scenes([order], [[CIRCLE, STAR, CROSS]])
        assert vars(scores.overall) == {
            "objects": 0, "scenes": 1, "form": 100.0, "colour": 100.0, "size": 100.0, "place": 100.0, "all_right": 100.0,
        }  # fmt: skip
        assert scores.traits_each == [100.0]


def test_objects_left_out_and_made_up_are_wrong():
    fewer = score_scenes([[STAR]], [[STAR, CROSS]]).overall
    more = score_scenes([[STAR, CROSS]], [[STAR]]).overall
    twice = score_scenes([[STAR, STAR]], [[STAR]]).overall
    for shares in (fewer, more, twice):
        assert (shares.form, shares.colour, shares.place, shares.all_right) == (50.0, 50.0, 50.0, 0.0)


def test_one_wrong_trait_is_one_wrong_trait():
    scores = score_scenes([[CROSS, Thing("star", "green")]], [[STAR, CROSS]])
    assert (scores.overall.form, scores.overall.colour, scores.overall.size) == (100.0, 50.0, 100.0)
    assert scores.traits_each == [87.5]
    assert scores.all_right_each == [False]


def test_pairs_agree_best():
    """As many traits agree as in the best of all pairings."""
    generator = random.Random(5)
    for said_count, drawn_count in [(3, 3), (2, 4), (5, 3), (0, 2), (4, 4)] * 3:
        said, drawn = (
            [tuple(generator.choice("ab") for _ in range(4)) for _ in range(count)]
            for count in (said_count, drawn_count)
        )
        few, many = sorted((said, drawn), key=len)
        totals = [
            sum(a == b for one, other in zip(few, chosen, strict=True) for a, b in zip(one, other, strict=True))
            for chosen in permutations(many, len(few))
        ]
        assert sum(right_traits(said, drawn)) == max(totals)


def test_by_number_of_objects():
    scores = score_scenes([[STAR], None, [CROSS, STAR]], [[STAR], [STAR], [CROSS, CIRCLE]])
    assert [(shares.objects, shares.scenes, shares.all_right) for shares in scores.by_number] == [
        (1, 2, 50.0),
        (2, 1, 0.0),
    ]
    assert scores.unreadable == 1
    assert scores.overall.form == pytest.approx(100 * 2 / 4)
    assert scores.objects_each == [1, 1, 2]
    assert scores.to_dict()["by_number"][1]["colour"] == 100.0
    assert score_scenes([], []).overall.scenes == 0
