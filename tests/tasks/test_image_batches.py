"""Batches of images: pure functions of seed and place, the same in parts and from loaders, normalised, in order."""

import gc
import multiprocessing
import os
import signal

import numpy as np
import pytest
import torch
from children import children

from jumok.config import Augment, ImageData
from jumok.data.loader import Loader, room_for
from jumok.errors import TrainingError
from jumok.tasks.image_batches import ImageBatches, normalise

CPU = torch.device("cpu")


class Store:
    """As many images as asked for, each of one tone."""

    def __init__(self, count=23, side=8, channels=3):
        self.pixels = (
            np.arange(count, dtype=np.uint8).repeat(side * side * channels).reshape(count, side, side, channels) * 10
        )
        self.classes = np.arange(count, dtype=np.int32) % 5

    def __len__(self):
        return len(self.classes)


def stream(*, loaders=0, batch_size=6, seed=3, **augment):
    data = ImageData(
        set="shapes", mean=[0.5, 0.5, 0.5], deviation=[0.25, 0.5, 1.0], loaders=loaders, augment=Augment(**augment)
    )
    return ImageBatches(Store(), data, classes=5, batch_size=batch_size, seed=seed)


def tones(batch):
    """Return which image stands in each row, read off its tone."""
    return ((batch.images[:, 2, 4, 4] + 0.5) * 25.5).round().long().tolist()


def equal(a, b):
    same = torch.equal(a.images, b.images) and torch.equal(a.labels, b.labels)
    return same and (a.shares is None) == (b.shares is None) and (a.shares is None or torch.equal(a.shares, b.shares))


def test_an_epoch_has_every_image_once_but_for_a_rest_that_changes():
    batches, rests = stream(), []
    for _ in range(12):
        seen = [tone for _ in range(batches.batches_per_epoch) for tone in tones(batches.take().to(CPU))]
        assert len(seen) == len(set(seen)) == 18
        rests.append(frozenset(range(23)) - frozenset(seen))
    assert len(set(rests)) > 6
    assert batches.position == (11, 3)


def test_labels_belong_to_their_images_and_pixels_are_normalised():
    batch = stream().take().to(CPU)
    assert batch.labels.tolist() == [tone % 5 for tone in tones(batch)]
    value = tones(batch)[0] * 10 / 255
    wanted = [(value - 0.5) / 0.25, (value - 0.5) / 0.5, (value - 0.5) / 1.0]
    assert batch.images[0, :, 0, 0].tolist() == pytest.approx(wanted, abs=1e-5)
    assert batch.images.shape == (6, 3, 8, 8)


VARIED = {"crop": 2, "flip": True, "policy": 1, "jitter": 0.2, "erase": 0.5, "mixup": 0.4, "cutmix": 1.0}


@pytest.mark.parametrize("loaders", [0, 1, 3])
def test_parts_of_a_batch_make_the_batch(loaders):
    """Every process that trains prepares its own part alone; mixtures reach over parts."""
    whole, parts = stream(**VARIED), stream(loaders=loaders, **VARIED)
    for _ in range(7):
        batch, taken = whole.take().to(CPU), parts.take()
        for number in range(2):
            part = taken.part(number, 2)
            found = part.to(CPU)
            assert len(part) == len(found) == 3
            assert torch.equal(found.images, batch.images[number::2])
            assert torch.equal(found.shares, batch.shares[number::2])
    parts.close()


@pytest.mark.parametrize("loaders", [1, 2])
def test_loaders_change_nothing_and_can_be_sent_elsewhere(loaders):
    plain, ahead = stream(**VARIED), stream(loaders=loaders, **VARIED)
    for _ in range(8):
        assert equal(plain.take().to(CPU), ahead.take().to(CPU))
    for place in ((5, 1), (0, 0)):
        plain.seek(*place)
        ahead.seek(*place)
        for _ in range(4):
            assert equal(plain.take().to(CPU), ahead.take().to(CPU))
    ahead.close()


def test_epochs_and_seeds_vary_a_image():
    a, b, c = stream(**VARIED), stream(**VARIED), stream(seed=4, **VARIED)
    b.seek(1, 0)
    batches = [found.take().to(CPU).images for found in (a, b, c)]
    assert not torch.equal(batches[0], batches[1])
    assert not torch.equal(batches[0], batches[2])


def test_a_set_smaller_than_a_batch_is_one_batch():
    batches = stream(batch_size=500)
    assert len(batches.take()) == 23
    assert batches.batches_per_epoch == 1
    assert "23 images, numbers" in batches.describe((0, 0))


def test_no_loader_is_left():
    before = children()
    batches = stream(loaders=2)
    batches.take().to(CPU)
    assert len(children()) == len(before) + 2
    batches.close()
    assert children() == before
    other = stream(loaders=1)
    other.take().to(CPU)
    del other  # as good as closed
    gc.collect()
    assert children() == before


def test_what_a_loader_cannot_do_is_told():
    def make(place):
        raise ValueError(f"no batch {place}")

    loader = Loader(make, lambda: iter(range(9)), processes=1, largest=64)
    with pytest.raises(ValueError, match="no batch 0"):
        loader.get()
    loader.close()


DIED = r"a process that prepares images died.*--resume, and with --set data\.loaders=0"


def test_a_loader_that_dies_is_told():
    def make(place):
        os._exit(1)

    loader = Loader(make, lambda: iter(range(9)), processes=1, largest=64)
    with pytest.raises(TrainingError, match=DIED):
        loader.get()
    loader.close()


@pytest.mark.parametrize("moment", range(3))
def test_nor_does_a_loader_that_was_killed_end_in_anything_but_a_sentence(moment):
    """Its pipe breaks where a free place is sent to it, too; that was once taken for a reader of stdout that left."""
    loader = Loader(lambda place: [np.full(3, place)], lambda: iter(range(99)), processes=2, largest=64)
    for _ in range(moment):
        loader.get()
    os.kill(loader.workers[1].pid, signal.SIGKILL)
    with pytest.raises(TrainingError, match=DIED):
        [loader.get() for _ in range(99)]
    loader.close()


def test_arrays_come_as_they_were_made():
    arrays = [np.arange(7, dtype=np.int64), np.ones((3, 5), dtype=np.float32), np.zeros((2, 0, 4), dtype=np.float32)]
    loader = Loader(lambda place: [array + place for array in arrays], lambda: iter(range(20)), processes=2, largest=room_for(arrays))  # fmt: skip
    for place in range(9):
        found = loader.get()
        assert [array.dtype for array in found] == [array.dtype for array in arrays]
        for made, array in zip(arrays, found, strict=True):
            assert np.array_equal(made + place, array)
    loader.close()


def test_normalising_undoes_the_data():
    pixels = np.random.default_rng(1).integers(0, 256, (50, 6, 6, 3), dtype=np.uint8)
    shares = pixels.reshape(-1, 3) / 255
    found = normalise(pixels, shares.mean(axis=0).tolist(), shares.std(axis=0).tolist())
    assert np.abs(found.mean(axis=(0, 2, 3))).max() < 1e-4
    assert np.abs(found.std(axis=(0, 2, 3)) - 1).max() < 1e-4
    assert multiprocessing.active_children() == []
