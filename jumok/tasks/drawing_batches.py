"""Texts and the codes of their images as batches: texts of like length side by side, some of them dropped.

store, codes of its images → plan of an epoch → captions of a batch → text with its start and end, codes → DrawingBatch

A dropped text is the empty one: so a drawer learns what images look like that nothing is said of, which guidance needs.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jumok.data.images.caption_store import CaptionStore
from jumok.data.stream import Indices, Place, Stream, cut
from jumok.data.text.tokenizer import END, PAD, START
from jumok.nn.batch import DrawingBatch
from jumok.nn.masks import padding_mask

# B batch · S text with its start and end · G cells of the grid · N images of a store

POOL = 20  # batches whose texts are sorted by length together: little padding, and new neighbours every epoch
NOTHING = np.zeros(0, dtype=np.int64)  # the empty text


def texts_of(rows: Sequence[NDArray[Any]]) -> tuple[Tensor, Tensor]:
    """Return texts (B, S) with start and end of rows of ids without, and the mask of real places."""
    lengths = np.array([len(row) + 2 for row in rows])
    ids = np.full((len(rows), int(lengths.max())), PAD, dtype=np.int64)
    for number, row in enumerate(rows):
        ids[number, : len(row) + 2] = [START, *row, END]
    return torch.from_numpy(ids), padding_mask(torch.from_numpy(lengths), ids.shape[1])


class DrawingBatches(Stream[DrawingBatch]):
    """The stream of training examples; an example is a caption with its image's codes."""

    def __init__(
        self, store: CaptionStore, codes: NDArray[np.uint16], *, batch_size: int, seed: int, text_dropout: float
    ) -> None:
        """Take the codes (N, G) of the store's images, and how often a text is dropped."""
        super().__init__()
        self.store, self.codes, self.seed, self.text_dropout = store, codes, seed, text_dropout
        self.batch_size = min(batch_size, len(store.captions))

    @property
    def batches_per_epoch(self) -> int:
        """How many batches make an epoch; what is left over waits for the next one's order."""
        return len(self.store.captions) // self.batch_size

    def plan(self, epoch: int) -> list[Indices]:
        """Return which captions make each batch of an epoch."""
        generator = np.random.default_rng([self.seed, epoch])
        order = generator.permutation(len(self.store.captions))[: self.batches_per_epoch * self.batch_size]
        lengths = self.store.captions.lengths
        batches: list[Indices] = []
        for pool in cut(order, POOL * self.batch_size):
            batches += cut(pool[np.argsort(lengths[pool], kind="stable")], self.batch_size)
        return [batches[number] for number in generator.permutation(len(batches))]

    def batch_at(self, place: Place) -> DrawingBatch:
        """Return the batch at a place."""
        own = self.indices(place)
        draws = np.random.default_rng([self.seed, place[0], place[1], 1]).random(len(own))
        return self.drawing(own, dropped=draws < self.text_dropout)

    def drawing(self, captions: NDArray[Any], dropped: NDArray[np.bool_] | None = None) -> DrawingBatch:
        """Return the batch of some captions with their images' codes; the texts of some of them are dropped."""
        dropped = np.zeros(len(captions), dtype=bool) if dropped is None else dropped
        rows = [
            NOTHING if drop else self.store.captions[int(index)]
            for index, drop in zip(captions.tolist(), dropped.tolist(), strict=True)
        ]
        codes = torch.from_numpy(self.codes[self.store.image_of[captions]].astype(np.int64))
        return DrawingBatch(*texts_of(rows), codes, torch.from_numpy(dropped))

    def describe(self, place: Place) -> str:
        """Return the size of the batch at a place and its first text, for a message."""
        indices = self.indices(place)
        return f"{len(indices)} texts, the first: {self.store.captions.text(int(indices[0]))[:80]!r}"
