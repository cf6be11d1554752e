"""The built-in images: the same in every process, objects inside their boxes, captions that say what is drawn."""

from hashlib import sha256

import numpy as np
import PIL
import pytest

from jumok.data.builtin.shapes import COLOURS, FORMS, SIZES, draw, scene


def test_a_scene_is_a_pure_function_of_its_number():
    scene.cache_clear()
    first = [scene("train", number) for number in range(20)]
    scene.cache_clear()
    assert [scene("train", number) for number in range(20)] == first
    assert scene("val", 3) != scene("train", 3) != scene("train", 3, seed=2)


def test_every_form_colour_and_number_of_objects_comes_up():
    scenes = [scene("train", number) for number in range(400)]
    assert {found.label for found in scenes} == set(FORMS)
    assert {thing.colour for found in scenes for thing in found.things} == set(COLOURS)
    assert {len(found.things) for found in scenes} == {1, 2, 3}
    counts = np.bincount([FORMS.index(found.label) for found in scenes])
    assert counts.min() > 40, "classes are about equally common"


@pytest.mark.parametrize("number", range(40))
def test_objects_stand_in_their_boxes_and_apart(number):
    found = scene("test", number)
    side = 128
    pixels = np.asarray(draw(found, side), dtype=int)
    outside = np.ones((side, side), dtype=bool)
    for thing in found.things:
        left, upper, right, lower = thing.box
        assert 0 <= left < right <= 1
        assert 0 <= upper < lower <= 1
        low, high = SIZES[thing.size]
        assert low <= right - left <= high
        box = np.s_[
            int(upper * side) : int(np.ceil(lower * side)) + 1, int(left * side) : int(np.ceil(right * side)) + 1
        ]
        outside[box] = False
        near = np.abs(pixels[box] - COLOURS[thing.colour]).sum(axis=2) < 30
        assert near.mean() > 0.15, "a form of its colour is in its box"
    assert (pixels[outside] == found.background).all(), "nothing is drawn elsewhere"
    boxes = [thing.box for thing in found.things]
    for a in range(len(boxes)):
        for b in range(a):
            over = min(boxes[a][2], boxes[b][2]) > max(boxes[a][0], boxes[b][0])
            under = min(boxes[a][3], boxes[b][3]) > max(boxes[a][1], boxes[b][1])
            assert not (over and under)


def test_the_first_object_is_the_largest_and_names_the_class():
    for number in range(60):
        found = scene("val", number)
        sides = [thing.box[2] - thing.box[0] for thing in found.things]
        assert sides[0] == max(sides)
        assert found.label == found.things[0].form
        assert found.caption.startswith(f"a large {found.things[0].colour} {found.label}")
        assert found.caption.count(" a small ") == len(found.things) - 1


def test_forms_can_be_told_apart():
    """Each form fills another share of its box."""
    shares = dict.fromkeys(FORMS, 0.0)
    for number in range(200):
        found = scene("train", number)
        if len(found.things) == 1:
            pixels = np.asarray(draw(found, 96), dtype=int)
            left, upper, right, lower = (int(place * 96) for place in found.things[0].box)
            inside = np.abs(pixels[upper:lower, left:right] - COLOURS[found.things[0].colour]).sum(axis=2) < 60
            shares[found.label] = float(inside.mean())
    assert shares["square"] > 0.9
    assert 0.7 < shares["circle"] < 0.85
    assert 0.4 < shares["triangle"] < 0.6
    assert shares["star"] < shares["triangle"]


def test_what_classifiers_learn_from_stays_byte_for_byte():
    """Recorded before the second grammar came; pixels are those of this version of Pillow."""
    scenes = [scene(split, number) for split in ("train", "val", "test") for number in range(25)]
    said = sha256(b"".join((repr(found) + found.caption).encode() for found in scenes))
    assert said.hexdigest()[:32] == "9a47dd777760131e600892cd0008b858"
    if PIL.__version__ == "13.0.0":
        drawn = sha256(b"".join(draw(found).tobytes() for found in scenes[:25]))
        assert drawn.hexdigest()[:32] == "58cc5d2b52676d364db777bf884b9bac"
