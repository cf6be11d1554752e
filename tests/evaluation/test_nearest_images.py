"""The nearest training image: found among chunks, and measured exactly."""

import numpy as np
import pytest

from jumok.evaluation import nearest_images as module
from jumok.evaluation.nearest_images import nearer_than, nearest_images


@pytest.fixture
def train():
    return np.random.default_rng(1).integers(0, 256, (37, 5, 5, 3), dtype=np.uint8)


def test_the_nearest_is_that_of_all_pairs_whatever_the_chunks(train, monkeypatch):
    images = np.random.default_rng(2).integers(0, 256, (11, 5, 5, 3), dtype=np.uint8)
    differences = (images[:, None].astype(float) - train[None].astype(float)).reshape(11, 37, -1)
    distances = np.sqrt((differences**2).mean(axis=2))
    for chunk in (1, 7, 100):
        monkeypatch.setattr(module, "CHUNK", chunk)
        told = []
        found = nearest_images(images, train, progress=told.append)
        assert (found.numbers == distances.argmin(axis=1)).all()
        np.testing.assert_allclose(found.distances, distances.min(axis=1))
        assert sum(told) == len(train)


def test_a_copy_is_at_distance_nothing_and_a_changed_pixel_is_not(train):
    images = train[[29, 3]].copy()
    images[1, 2, 2, 1] ^= 1
    found = nearest_images(images, train)
    assert found.numbers.tolist() == [29, 3]
    assert found.distances[0] == 0.0
    assert found.distances[1] == pytest.approx(np.sqrt(1 / 75))


def test_shares_are_of_those_below_a_percentile_of_the_yardstick():
    yardstick = np.arange(1, 1001) / 10
    assert nearer_than(yardstick, yardstick) == pytest.approx(1.0)
    assert nearer_than(np.zeros(7), yardstick) == 100.0
    assert nearer_than(np.full(7, 50.0), yardstick) == 0.0


def test_images_of_another_shape_are_refused(train):
    with pytest.raises(ValueError, match=r"shape \(7, 7, 3\) are compared"):
        nearest_images(np.zeros((2, 7, 7, 3), dtype=np.uint8), train)
    with pytest.raises(ValueError, match="no training images"):
        nearest_images(train, train[:0])
