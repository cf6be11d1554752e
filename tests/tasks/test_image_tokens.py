"""Images as codes, computed once: what the cache keeps is what the model says, and pixels come back from it."""

import numpy as np
import pytest

import jumok
from jumok.errors import ConfigError
from jumok.tasks import image_tokens as home
from jumok.tasks.image_tokens import decode, encode, image_tokens, to_pixels


@pytest.fixture(scope="module")
def drawer(drawer_run):
    return jumok.load(drawer_run)


@pytest.fixture(scope="module")
def coder(codes_run):
    return jumok.load(codes_run)


@pytest.fixture(scope="module")
def pixels(drawer):
    return np.array(drawer.task.corpora.train.images.pixels[:37])


def test_a_drawers_codes_are_those_of_its_code_run(drawer, coder, pixels):
    codes = encode(drawer.task.codes, pixels)
    assert (codes.shape, codes.dtype) == ((37, 16), np.uint16)
    seen, wanted = coder.task.recoded(coder.model, pixels)
    assert np.array_equal(codes, wanted.flatten(1).numpy())
    assert (
        np.abs(decode(drawer.task.codes, codes).astype(int) - seen).max() <= 1
    )  # batches of other sizes round otherwise


def test_the_store_has_a_row_for_each_image_and_is_made_once(drawer, monkeypatch):
    store = drawer.task.corpora.train.images
    codes = image_tokens(drawer.task.codes, store)
    assert codes.shape == (len(store), 16)
    assert np.array_equal(codes[-5:], encode(drawer.task.codes, store.pixels[-5:]))
    monkeypatch.setattr(home, "encode", lambda *given: pytest.fail("it was computed again"))
    assert np.array_equal(image_tokens(drawer.task.codes, store), codes)


def test_other_codes_have_other_entries_of_the_cache(drawer, monkeypatch):
    from dataclasses import replace

    made = []
    monkeypatch.setattr(home, "encode", lambda component, pixels: made.append(1) or encode(component, pixels))
    image_tokens(replace(drawer.task.codes, hash="other"), drawer.task.open_split("val")["val"].images)
    assert made


def test_images_of_another_size_are_refused(drawer):
    with pytest.raises(
        ConfigError, match=r"images of 8 × 8 pixels and 3 channels: the image codes are of 32 × 32 and 3"
    ):
        encode(drawer.task.codes, np.zeros((1, 8, 8, 3), np.uint8))


def test_pixels_are_clipped_and_rounded():
    values = np.array([-9.0, -1.0, 0.0, 0.1, 1.0, 9.0], dtype=np.float32).reshape(1, 1, 2, 3)
    assert to_pixels(values, (0.5,), (0.5,)).ravel().tolist() == [0, 0, 128, 140, 255, 255]
