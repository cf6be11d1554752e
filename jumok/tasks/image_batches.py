"""Images as batches: shuffled, varied, mixed and normalised, prepared ahead.

store → a new order each epoch → indices of a batch → variants of its images → mixed → normalised → ImageBatch

A batch is a pure function of seed, epoch and place. What `take` hands out knows only where it stands: the images are
prepared when it goes to a device, so that a process that computes a part of a batch prepares that part alone.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from jumok.config import ImageData
from jumok.data.images.augment import mix, mixing, vary
from jumok.data.images.image_store import LabelledImageStore
from jumok.data.loader import Loader, room_for
from jumok.data.stream import Indices, Place, Stream, cut
from jumok.nn.batch import ImageBatch

# B batch · S side · C channels


def normalise(pixels: NDArray[Any], mean: list[float], deviation: list[float]) -> NDArray[np.float32]:
    """Return (B, C, S, S), mean 0 and deviation 1 over the training data, of pixels (B, S, S, C) of 0 to 255."""
    values: NDArray[np.float32] = pixels.astype(np.float32)
    values -= np.asarray([255.0 * value for value in mean], dtype=np.float32)
    values *= np.asarray([1 / (255.0 * value) for value in deviation], dtype=np.float32)
    return np.ascontiguousarray(values.transpose(0, 3, 1, 2))


@dataclass(frozen=True)
class PendingImages:
    """A batch, or every parts-th example of it from number on, that is prepared when it is needed."""

    stream: "ImageBatches"
    place: Place
    number: int = 0
    parts: int = 1

    def __len__(self) -> int:
        return len(range(self.number, len(self.stream.indices(self.place)), self.parts))

    def part(self, number: int, parts: int) -> "PendingImages":
        """Return every parts-th example, from number on."""
        assert self.parts == 1, "a part of a part is never asked for"
        return replace(self, number=number, parts=parts)

    def to(self, device: torch.device) -> ImageBatch:
        """Return the batch on device."""
        images, labels, *shares = (torch.from_numpy(array) for array in self.stream.prepare(self))
        return ImageBatch(images, labels, shares[0] if shares else None).to(device)


class ImageBatches(Stream[PendingImages]):
    """The stream of training images."""

    def __init__(
        self,
        store: LabelledImageStore,
        data: ImageData,
        *,
        classes: int,
        batch_size: int,
        seed: int,
    ) -> None:
        super().__init__()
        self.store, self.data, self.classes, self.seed = store, data, classes, seed
        self.batch_size = min(batch_size, len(store))
        self._loader: Loader | None = None
        self._coming: tuple[int, int, Place] | None = None  # part, parts and place that the loader hands out next

    @property
    def batches_per_epoch(self) -> int:
        """How many batches make an epoch; what is left over waits for the next one's order."""
        return len(self.store) // self.batch_size

    def plan(self, epoch: int) -> list[Indices]:
        """Return which images make each batch of an epoch."""
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.store))
        return cut(order, self.batch_size)[: self.batches_per_epoch]

    def batch_at(self, place: Place) -> PendingImages:
        """Return the batch at a place."""
        return PendingImages(self, place)

    def describe(self, place: Place) -> str:
        """Return the size of the batch at a place and where its images stand, for a message."""
        indices = self.indices(place)
        return f"{len(indices)} images, numbers {', '.join(map(str, indices[:5].tolist()))}, … of the training data"

    def make(self, place: Place, number: int = 0, parts: int = 1) -> list[NDArray[Any]]:
        """Return images (B, C, S, S), labels (B,) and, where images are mixed, shares (B, classes) of a part."""
        indices, epoch = self.indices(place), place[0]
        own = indices[number::parts]
        side = self.store.pixels.shape[1]
        # Behind the numbers of images, so that no image's own draws are used twice.
        generator = np.random.default_rng([self.seed, epoch, len(self.store) + place[1]])
        mixed = mixing(len(indices), self.data.augment, generator, side)
        labels = self.store.classes[own].astype(np.int64)
        pixels = self._variants(own, epoch)
        if mixed is None:
            return [normalise(pixels, self.data.mean, self.data.deviation), labels]
        partners, share, box = mixed
        others = indices[partners[number::parts]]
        pixels = mix(pixels, self._variants(others, epoch), share, box)
        shares = np.zeros((len(own), self.classes), dtype=np.float32)
        rows = np.arange(len(own))
        shares[rows, labels] += share
        shares[rows, self.store.classes[others]] += 1.0 - share
        return [normalise(pixels, self.data.mean, self.data.deviation), labels, shares]

    def _variants(self, indices: Indices, epoch: int) -> NDArray[Any]:
        """Return (B, S, S, C) of images as an epoch sees them."""
        augment = self.data.augment
        if augment == type(augment)():
            return self.store.pixels[indices]
        return np.stack(
            [
                vary(self.store.pixels[index], augment, np.random.default_rng([self.seed, epoch, index]))
                for index in indices.tolist()
            ]
        )

    def prepare(self, batch: PendingImages) -> list[NDArray[Any]]:
        """Return the arrays of a batch, from the loader where there is one."""
        if not self.data.loaders:
            return self.make(batch.place, batch.number, batch.parts)
        wanted = (batch.number, batch.parts, batch.place)
        if self._loader is None or self._loader.owner != os.getpid() or self._coming != wanted:
            self.close()
            first = self.make((0, 0), batch.number, batch.parts)
            self._loader = Loader(
                lambda place: self.make(place, batch.number, batch.parts),
                lambda: self._places_from(batch.place),
                processes=self.data.loaders,
                largest=room_for(first),
            )
        self._coming = (batch.number, batch.parts, self._after(batch.place))
        return self._loader.get()

    def _after(self, place: Place) -> Place:
        epoch, number = place
        return (epoch, number + 1) if number + 1 < self.batches_per_epoch else (epoch + 1, 0)

    def _places_from(self, place: Place) -> Iterator[Place]:
        while True:
            yield place
            place = self._after(place)

    def close(self) -> None:
        """Let the processes that prepare batches end."""
        if self._loader is not None:
            self._loader.close()
        self._loader = self._coming = None
