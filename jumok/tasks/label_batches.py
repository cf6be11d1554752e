"""Texts and their classes as batches: rows of special tokens and ids, padded, and streamed through the epochs.

store → (subword dropout) → plan of an epoch → rows of a batch → LabelBatch
"""

from collections.abc import Sequence

import numpy as np
import torch

from jumok.data.store import TokenSide
from jumok.data.stream import Place
from jumok.data.text.batching import TokenBudgetStream
from jumok.data.text.epochs import EpochSides
from jumok.data.text.labelled import LabelStore
from jumok.data.text.subwords import WordsDone
from jumok.data.text.tokenizer import Tokenizer
from jumok.nn.batch import LabelBatch
from jumok.tasks.examples import Ids, make_row, pad_rows, row_length

Sides = tuple[TokenSide, ...]  # the texts and the second texts


def label_lengths(sides: Sides, *, longest: int) -> Ids:
    """Return the (N, 2) lengths of rows of at most longest ids, twice the same: both texts stand in one row."""
    first, second = sides
    lengths = row_length(first.lengths, second.lengths, longest)
    return np.stack([lengths, lengths], axis=1)


def label_batch(sides: Sides, classes: Ids, indices: Sequence[int] | Ids, *, longest: int) -> LabelBatch:
    """Return the batch of some examples, in rows of at most longest ids."""
    first, second = sides
    source, mask, segments = pad_rows([make_row(first[i], second[i], longest) for i in indices])
    return LabelBatch(source, mask, torch.from_numpy(classes[np.asarray(indices)].astype(np.int64)), segments)


class LabelBatches(TokenBudgetStream[LabelBatch]):
    """The stream of training texts with their classes."""

    def __init__(
        self,
        store: LabelStore,
        tokenizer: Tokenizer,
        labels: Sequence[str],
        *,
        batch_tokens: int,
        seed: int,
        max_length: int,
        subword_dropout: float = 0.0,
        progress: WordsDone | None = None,
    ) -> None:
        super().__init__(batch_tokens=batch_tokens, seed=seed)
        self.store, self.tokenizer, self.labels, self.max_length = store, tokenizer, labels, max_length
        self.sides = EpochSides(
            store.sides,
            (tokenizer, tokenizer),
            (subword_dropout, subword_dropout),
            seed=seed,
            longest=max_length,
            progress=progress,
        )

    def lengths(self, epoch: int) -> Ids:
        """Return the (N, 2) lengths of an epoch's rows."""
        return label_lengths(self.sides.epoch(epoch), longest=self.max_length)

    def batch_at(self, place: Place) -> LabelBatch:
        """Return the batch at a place."""
        sides, indices = self.sides.epoch(place[0]), self.indices(place)
        return label_batch(sides, self.store.classes, indices, longest=self.max_length)

    def describe(self, place: Place) -> str:
        """Return the size and the first example of the batch at a place, for a message."""
        batch = self.batch_at(place)
        text = self.tokenizer.decode(batch.source[0][batch.source_mask[0]].tolist())
        return f"{len(batch.source)} texts, the first: {text[:80]!r} → {self.labels[int(batch.labels[0])]}"
