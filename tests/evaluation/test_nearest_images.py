"""The nearest training image: found among chunks, and measured exactly."""

import numpy as np
import pytest

from jumok.data.builtin import relations
from jumok.evaluation import nearest_images as module
from jumok.evaluation.nearest_images import TrainingImages, nearer_than


@pytest.fixture(params=[(5, 5, 3), (34, 34, 1)], ids=str)  # all pixels, and blocks of two by two
def shape(request):
    return request.param


@pytest.fixture
def train(shape):
    return np.random.default_rng(1).integers(0, 256, (37, *shape), dtype=np.uint8)


def test_the_nearest_is_that_of_all_pairs_whatever_the_chunks(shape, train, monkeypatch):
    images = np.random.default_rng(2).integers(0, 256, (11, *shape), dtype=np.uint8)
    images[3:7] //= 8  # dark ones lie elsewhere
    differences = (images[:, None].astype(float) - train[None].astype(float)).reshape(11, 37, -1)
    distances = np.sqrt((differences**2).mean(axis=2))
    for size in (1, 7, 100):
        monkeypatch.setattr(module, "CHUNK", size)
        monkeypatch.setattr(module, "CANDIDATES", size)
        found = TrainingImages(train).nearest(images)
        assert (found.numbers == distances.argmin(axis=1)).all()
        np.testing.assert_allclose(found.distances, distances.min(axis=1))


def test_bounds_rule_out_most_scenes_and_never_the_nearest():
    scenes = np.stack([np.asarray(relations.draw(relations.scene("train", n), 64)) for n in range(300)])
    images = np.stack([np.asarray(relations.draw(relations.scene("val", n), 64)) for n in range(20)])
    looked = []

    class Watched:
        """Pixels that keep which of them were asked for."""

        shape = scenes.shape

        def __len__(self):
            return len(scenes)

        def __getitem__(self, rows):
            looked.append(rows)
            return scenes[rows]

    train = TrainingImages(Watched())
    looked.clear()
    found = train.nearest(images)
    distances = ((images[:, None].astype(float) - scenes[None].astype(float)) ** 2).mean(axis=(2, 3, 4))
    assert (found.numbers == distances.argmin(axis=1)).all()
    assert sum(map(len, looked)) < len(images) * len(scenes) / 3


def test_a_copy_is_at_distance_nothing_and_a_changed_pixel_is_not(train):
    images = train[[29, 3]].copy()
    images[1, 2, 2, 0] ^= 1
    found = TrainingImages(train).nearest(images)
    assert found.numbers.tolist() == [29, 3]
    assert found.distances[0] == 0.0
    assert found.distances[1] == pytest.approx(np.sqrt(1 / train[0].size))


def test_shares_are_of_those_below_a_percentile_of_the_yardstick():
    yardstick = np.arange(1, 1001) / 10
    assert nearer_than(yardstick, yardstick) == pytest.approx(1.0)
    assert nearer_than(np.zeros(7), yardstick) == 100.0
    assert nearer_than(np.full(7, 50.0), yardstick) == 0.0
