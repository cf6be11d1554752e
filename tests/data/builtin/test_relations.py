"""The second grammar of `shapes`: captions follow from the image alone, and say everything back."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.data.builtin.relations import (
    BORDER,
    COLUMNS,
    MARGIN,
    MOST,
    RELATIONS,
    ROWS,
    SIZES,
    Described,
    draw,
    parse,
    scene,
)
from jumok.data.builtin.shapes import COLOURS, FORMS, apart

SCENES = [scene("train", number) for number in range(500)]


def centre(thing):
    return np.array([thing.box[0] + thing.box[2], thing.box[1] + thing.box[3]]) / 2


def test_a_scene_is_a_pure_function_of_its_number():
    scene.cache_clear()
    assert [scene("train", number) for number in range(len(SCENES))] == SCENES
    assert scene("val", 3) != scene("train", 3) != scene("train", 3, seed=2)


def test_everything_comes_up_about_as_often():
    described = [said for found in SCENES for said in found.described]
    assert set(Counter(len(found.things) for found in SCENES)) == set(range(1, MOST + 1))
    for counts, wanted in (
        (Counter(said.form for said in described), FORMS),
        (Counter(said.colour for said in described), COLOURS),
        (Counter(said.size for said in described), SIZES),
        (Counter(said.place for said in described), [f"{row} {column}" for row in ROWS for column in COLUMNS]),
        (Counter(said.relation for said in described), ["", *RELATIONS]),
    ):
        assert set(counts) == set(wanted)
        assert min(counts.values()) > len(described) / len(counts) / 3


@pytest.mark.parametrize("found", SCENES[:100])
def test_a_caption_follows_from_the_image_alone(found):
    """Nothing is near a border where another caption would begin: places, order, relations."""
    centres = [centre(thing) for thing in found.things]
    for thing, middle in zip(found.things, centres, strict=True):
        assert min(thing.box) >= BORDER - 1e-9
        assert max(thing.box) <= 1 - BORDER + 1e-9
        assert min(abs(value - third) for value in middle for third in (1 / 3, 2 / 3)) >= MARGIN
    for left, right in pairwise(centres):
        assert right[0] - left[0] >= MARGIN
        apart_x, apart_y = np.abs(right - left)
        assert abs(apart_x - apart_y) >= MARGIN
    for number, thing in enumerate(found.things):
        assert all(apart(thing.box, other.box) for other in found.things[:number])


@pytest.mark.parametrize("number", range(20))
def test_the_image_shows_what_the_caption_says(number):
    found, side = scene("test", number), 128
    pixels = np.asarray(draw(found, side), dtype=int)
    for thing, said in zip(found.things, parse(found.caption), strict=True):
        left, upper, right, lower = (int(place * side) for place in thing.box)
        near = np.abs(pixels[upper:lower, left:right] - COLOURS[said.colour]).sum(axis=2) < 30
        assert near.mean() > 0.15, "a form of its colour is in its box"
        row, column = (int(value * 3) for value in centre(thing)[::-1])
        assert said.place == f"{ROWS[row]} {COLUMNS[column]}"
        low, high = SIZES[said.size]
        assert low - 1e-9 <= thing.box[2] - thing.box[0] <= high + 1e-9


def test_parse_is_the_inverse_of_a_caption():
    for found in SCENES:
        assert parse(found.caption) == found.described
        assert [said.relation for said in parse(found.caption)] == [said.relation for said in found.described]
        plain = found.caption.replace(",", "").capitalize() + " ."
        assert parse(plain) == found.described, "commas, a capital and a full stop change nothing"


def test_relations_read_from_the_left_object_to_the_next():
    text = "a small red circle at the top left, above a large blue star at the bottom left, left of a small black cross at the bottom right"
    assert [said.relation for said in parse(text)] == ["", "above", "left of"]
    assert parse(text)[1] == Described("large", "blue", "star", "bottom left")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a dog on the grass",
        "a small red circle",
        "a small red circle at the top left,",
        "a small red circle at the top left above",
        "a small red circle at the top left a small red circle at the top left",
        "a small red circle at the left top",
        "a small red circle at the top left above a huge blue star at the bottom left",
    ],
)
def test_what_is_no_sentence_of_the_grammar_is_none(text):
    if text.endswith("left,"):
        assert parse(text) == [Described("small", "red", "circle", "top left")]
    else:
        assert parse(text) is None


@given(st.text() | st.lists(st.sampled_from(" ".join(found.caption for found in SCENES[:40]).split())).map(" ".join))
def test_parse_never_stumbles(text):
    things = parse(text)
    assert things is None or all(isinstance(said, Described) for said in things)
