"""What `check` says of images and captions: each problem where it is, and only there."""

from types import SimpleNamespace

import numpy as np

from jumok.tasks.caption_problems import caption_problems

WORDS = ["dog", "cat", "bird", "tree", "house", "boat", "child"]


class Images(SimpleNamespace):
    """Images that all differ."""

    def __len__(self):
        return len(self.pixels)


class Captions(list):
    """Texts by number."""

    def text(self, number):
        return self[number]


class Store(SimpleNamespace):
    """A store of captions without its files."""

    def __len__(self):
        return len(self.images)

    def texts(self, number):
        return self.said[number]


def store(count, seed, said=None):
    draw = np.random.default_rng(seed)
    pixels = draw.integers(256, size=(count, 5, 5, 3)).astype(np.uint8)
    said = said or [[f"a {WORDS[number % 7]} number {number}", f"the {WORDS[number % 5]}"] for number in range(count)]
    captions = Captions(text for texts in said for text in texts)
    counts = {"captions": len(captions), "empty": 0, "too_long": 0, "captionless": 0}
    names = [f"{number}.jpg" for number in range(count)]
    return Store(images=Images(pixels=pixels, names=names), said=said, captions=captions, counts=counts)


def problems(train, val):
    return [what for what, _ in caption_problems(train, {"val": val})]


def test_nothing_is_wrong():
    assert problems(store(50, 1), store(20, 2)) == []


def test_images_that_are_there_twice():
    train = store(50, 1)
    train.images.pixels[40:42] = train.images.pixels[2:4]
    assert problems(train, store(20, 2)) == [], "a few may be"
    train.images.pixels[43] = train.images.pixels[4]
    assert problems(train, store(20, 2)) == [
        "3 of 50 training images are there twice, under two names (2.jpg and 40.jpg)"
    ]


def test_one_caption_for_very_many():
    said = [
        ["an image", f"a {WORDS[number % 7]} {number}"] if number < 30 else [f"a boat {number}"] for number in range(50)
    ]
    assert problems(store(50, 1, said), store(20, 2)) == [
        "the caption 'an image' is said of 30 of 50 training images: it will be said of others"
    ]


def test_held_out_images_that_were_learnt():
    train, val = store(50, 1), store(20, 2)
    val.images.pixels[3:6] = train.images.pixels[7:10]
    assert problems(train, val) == [
        "3 of 20 images of val also stand in the training data: its scores will flatter (number 4 is training image 8)"
    ]


def test_held_out_captions_in_another_script():
    korean = [["눈 속에서 뛰노는 강아지 한 마리", "물가에 앉아 있는 하얀 새"] for _ in range(20)]
    (found,) = problems(store(50, 1), store(20, 2, korean))
    assert "the captions of val are not in the language of the training captions" in found


def test_every_second_caption_in_another_language():
    said = [[f"a {WORDS[number % 7]} in the garden {number}", f"정원에 있는 강아지 {number}"] for number in range(2000)]
    korean = [[f"정원에 앉아 있는 강아지 {number}"] for number in range(20)]
    assert problems(store(2000, 1, said), store(20, 2, korean)) == []


def test_many_captions_left_out():
    train = store(50, 1)
    train.counts |= {"empty": 2, "too_long": 5}
    assert problems(train, store(20, 2)) == ["7 of 107 training captions are left out: 2 are empty, 5 too long"]
