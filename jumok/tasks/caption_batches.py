"""Images and captions as batches: captions of like length side by side, each with its image.

store → (subword dropout) → plan of an epoch → captions of a batch, their images varied and normalised, or what a frozen
encoder saw in them → CaptionBatch
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from jumok.config import CaptionData
from jumok.data.images.augment import vary
from jumok.data.images.caption_store import CaptionStore
from jumok.data.loader import room_for
from jumok.data.stream import Indices, Place, cut
from jumok.data.text.epochs import EpochSides
from jumok.data.text.subwords import WordsDone
from jumok.data.text.tokenizer import Tokenizer
from jumok.nn.batch import CaptionBatch
from jumok.tasks.image_batches import normalise
from jumok.tasks.pairs import shifted
from jumok.tasks.prepared import Arrays, PreparedStream

# B batch · T target · S side · C channels · h, w, E rows, columns and features of a map

POOL = 20  # batches whose captions are sorted by length together: little padding, and new neighbours every epoch


class CaptionBatches(PreparedStream[CaptionBatch]):
    """The stream of training captions; an example is a caption with its image."""

    def __init__(
        self,
        store: CaptionStore,
        tokenizer: Tokenizer,
        data: CaptionData,
        *,
        maps: NDArray[np.float16] | None,
        batch_size: int,
        seed: int,
        subword_dropout: float = 0.0,
        progress: WordsDone | None = None,
    ) -> None:
        """Take the feature maps (N, h, w, E) of a frozen encoder, or None: then batches have images."""
        super().__init__(loaders=data.loaders if maps is None else 0)  # maps are only read from the disk
        self.store, self.tokenizer, self.data, self.maps, self.seed = store, tokenizer, data, maps, seed
        self.batch_size = min(batch_size, len(store.captions))
        self.sides = EpochSides(
            (store.captions,),
            (tokenizer,),
            (subword_dropout,),
            seed=seed,
            longest=data.max_length,
            progress=progress,
        )

    @property
    def batches_per_epoch(self) -> int:
        """How many batches make an epoch; what is left over waits for the next one's order."""
        return len(self.store.captions) // self.batch_size

    def plan(self, epoch: int) -> list[Indices]:
        """Return which captions make each batch of an epoch."""
        generator = np.random.default_rng([self.seed, epoch])
        order = generator.permutation(len(self.store.captions))[: self.batches_per_epoch * self.batch_size]
        lengths = self.sides.epoch(epoch)[0].lengths
        batches: list[Indices] = []
        for pool in cut(order, POOL * self.batch_size):
            batches += cut(pool[np.argsort(lengths[pool], kind="stable")], self.batch_size)
        return [batches[number] for number in generator.permutation(len(batches))]

    def describe(self, place: Place) -> str:
        """Return the size of the batch at a place and its first caption, for a message."""
        indices = self.indices(place)
        return f"{len(indices)} captions, the first: {self.store.captions.text(int(indices[0]))[:80]!r}"

    def make(self, place: Place, number: int = 0, parts: int = 1) -> Arrays:
        """Return inputs, targets and mask (B, T), the numbers of images (B,), and images (B, C, S, S) or their maps."""
        own, side = self.indices(place)[number::parts], self.sides.epoch(place[0])[0]
        texts = [tensor.numpy() for tensor in shifted([side[int(index)] for index in own])]
        numbers = self.store.image_of[own]
        if self.maps is not None:
            return [*texts, numbers, self.maps[numbers]]
        pixels = self.store.images.pixels[numbers]
        augment = self.data.augment
        if augment != type(augment)():
            draws = (np.random.default_rng([self.seed, place[0], index]) for index in own.tolist())
            pixels = np.stack([vary(one, augment, draw) for one, draw in zip(pixels, draws, strict=True)])
        return [*texts, numbers, normalise(pixels, self.data.mean, self.data.deviation)]

    def room(self, number: int, parts: int) -> int:
        """Return how many bytes the arrays of a batch's part take at most: captions may all have the greatest length."""
        rows, longest = len(range(number, self.batch_size, parts)), self.data.max_length + 1
        return room_for(self.make((0, 0), number, parts)) + 3 * rows * longest * np.dtype(np.int64).itemsize

    def collect(self, arrays: Sequence[NDArray[Any]]) -> CaptionBatch:
        """Return the batch that arrays are."""
        inputs, targets, mask, numbers, seen = (torch.from_numpy(array) for array in arrays)
        images, maps = (seen, None) if self.maps is None else (None, seen)
        return CaptionBatch(inputs, targets, mask, images, maps, numbers)
