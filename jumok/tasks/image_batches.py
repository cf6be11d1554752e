"""Images as batches: shuffled, varied, mixed and normalised, prepared ahead.

store → a new order each epoch → indices of a batch → variants of its images → mixed → normalised → ImageBatch

A batch is a pure function of seed, epoch and place. What `take` hands out knows only where it stands: the images are
prepared when it goes to a device, so that a process that computes a part of a batch prepares that part alone.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from jumok.config import ImageData
from jumok.config.image_data import PixelData
from jumok.data.images.augment import mix, mixing, vary
from jumok.data.images.decode import Pixels
from jumok.data.images.image_store import LabelledImageStore
from jumok.data.stream import Indices, Place, cut
from jumok.nn.batch import ImageBatch
from jumok.tasks.prepared import PendingBatch, PreparedStream

# B batch · S side · C channels


def normalise(pixels: NDArray[Any], mean: list[float], deviation: list[float]) -> NDArray[np.float32]:
    """Return (B, C, S, S), mean 0 and deviation 1 over the training data, of pixels (B, S, S, C) of 0 to 255."""
    values: NDArray[np.float32] = pixels.astype(np.float32)
    values -= np.asarray([255.0 * value for value in mean], dtype=np.float32)
    values *= np.asarray([1 / (255.0 * value) for value in deviation], dtype=np.float32)
    return np.ascontiguousarray(values.transpose(0, 3, 1, 2))


PendingImages = PendingBatch[ImageBatch]


class PixelBatches(PreparedStream[ImageBatch]):
    """The stream of training images alone; nothing is said of them."""

    def __init__(self, pixels: Pixels, data: PixelData[Any], *, batch_size: int, seed: int) -> None:
        """Take the images (N, S, S, C) of a store."""
        super().__init__(loaders=data.loaders)
        self.pixels, self.data, self.seed = pixels, data, seed
        self.batch_size = min(batch_size, len(pixels))

    @property
    def batches_per_epoch(self) -> int:
        """How many batches make an epoch; what is left over waits for the next one's order."""
        return len(self.pixels) // self.batch_size

    def plan(self, epoch: int) -> list[Indices]:
        """Return which images make each batch of an epoch."""
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.pixels))
        return cut(order, self.batch_size)[: self.batches_per_epoch]

    def describe(self, place: Place) -> str:
        """Return the size of the batch at a place and where its images stand, for a message."""
        indices = self.indices(place)
        return f"{len(indices)} images, numbers {', '.join(map(str, indices[:5].tolist()))}, … of the training data"

    def make(self, place: Place, number: int = 0, parts: int = 1) -> list[NDArray[Any]]:
        """Return images (B, C, S, S) of a part, and labels (B,) that say nothing."""
        own = self.indices(place)[number::parts]
        images = normalise(self.variants(own, place[0]), self.data.mean, self.data.deviation)
        return [images, np.zeros(len(own), dtype=np.int64)]

    def variants(self, indices: Indices, epoch: int) -> NDArray[Any]:
        """Return (B, S, S, C) of images as an epoch sees them."""
        augment = self.data.augment
        if augment == type(augment)():
            return self.pixels[indices]
        return np.stack(
            [
                vary(self.pixels[index], augment, np.random.default_rng([self.seed, epoch, index]))
                for index in indices.tolist()
            ]
        )

    def collect(self, arrays: Sequence[NDArray[Any]]) -> ImageBatch:
        """Return the batch of images, labels and, where images are mixed, shares."""
        images, labels, *shares = (torch.from_numpy(array) for array in arrays)
        return ImageBatch(images, labels, shares[0] if shares else None)


class ImageBatches(PixelBatches):
    """The stream of training images and their classes."""

    def __init__(
        self,
        store: LabelledImageStore,
        data: ImageData,
        *,
        classes: int,
        batch_size: int,
        seed: int,
    ) -> None:
        super().__init__(store.pixels, data, batch_size=batch_size, seed=seed)
        self.store, self.classes = store, classes

    def make(self, place: Place, number: int = 0, parts: int = 1) -> list[NDArray[Any]]:
        """Return images (B, C, S, S), labels (B,) and, where images are mixed, shares (B, classes) of a part."""
        indices, epoch = self.indices(place), place[0]
        own = indices[number::parts]
        side = self.store.pixels.shape[1]
        # Behind the numbers of images, so that no image's own draws are used twice.
        generator = np.random.default_rng([self.seed, epoch, len(self.store) + place[1]])
        mixed = mixing(len(indices), self.data.augment, generator, side)
        labels = self.store.classes[own].astype(np.int64)
        pixels = self.variants(own, epoch)
        if mixed is None:
            return [normalise(pixels, self.data.mean, self.data.deviation), labels]
        partners, share, box = mixed
        others = indices[partners[number::parts]]
        pixels = mix(pixels, self.variants(others, epoch), share, box)
        shares = np.zeros((len(own), self.classes), dtype=np.float32)
        rows = np.arange(len(own))
        shares[rows, labels] += share
        shares[rows, self.store.classes[others]] += 1.0 - share
        return [normalise(pixels, self.data.mean, self.data.deviation), labels, shares]
