"""Pairs of sequences as batches: padded, shifted, and streamed through the epochs.

store → (subword dropout) → (pairs drawn by weight) → plan of an epoch → ids of a batch → PairBatch
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jumok.data.stream import Place
from jumok.data.text.batching import TokenBudgetStream
from jumok.data.text.epochs import EpochSides
from jumok.data.text.mixture import Mixture
from jumok.data.text.pair_store import PairStore
from jumok.data.text.tokenizer import END, PAD, START, Tokenizer
from jumok.nn.batch import PairBatch
from jumok.nn.masks import padding_mask

Ids = np.ndarray[Any, Any]


def collate(examples: Sequence[tuple[Ids, Ids]]) -> PairBatch:
    """Return the batch of pairs of ids, without special tokens, as they are stored."""
    source, source_mask = _pad([ids for ids, _ in examples], last=END)
    return PairBatch(source, source_mask, *shifted([ids for _, ids in examples]))


def shifted(rows: Sequence[Ids]) -> tuple[Tensor, Tensor, Tensor]:
    """Return what a decoder reads (B, T), what it is to write, one place later, and the mask of real places."""
    targets, mask = _pad(rows, last=END)
    inputs = torch.cat([torch.full((len(targets), 1), START), targets[:, :-1]], dim=1)
    return inputs, targets, mask


def _pad(rows: Sequence[Ids], last: int) -> tuple[Tensor, Tensor]:
    """Return ids (B, L) with last behind each row, and the mask of real places."""
    lengths = np.fromiter((len(row) + 1 for row in rows), dtype=np.int64, count=len(rows))
    ids = np.full((len(rows), int(lengths.max())), PAD, dtype=np.int64)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = row
        ids[number, len(row)] = last
    return torch.from_numpy(ids), padding_mask(torch.from_numpy(lengths), ids.shape[1])


class PairBatches(TokenBudgetStream[PairBatch]):
    """The stream of training pairs."""

    def __init__(
        self,
        store: PairStore,
        tokenizers: tuple[Tokenizer, Tokenizer],
        *,
        batch_tokens: int,
        seed: int,
        max_length: int,
        subword_dropout: tuple[float, float] = (0.0, 0.0),
        mixture: Mixture | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        super().__init__(batch_tokens=batch_tokens, seed=seed)
        self.store, self.tokenizers, self.mixture = store, tokenizers, mixture
        self._drawn: tuple[int, Ids] | None = None  # an epoch, and the pairs it draws
        self.sides = EpochSides(
            (store.source, store.target),
            tokenizers,
            subword_dropout,
            seed=seed,
            longest=min(max_length, batch_tokens) - 1,  # the end token comes behind it
            progress=progress,
        )

    def lengths(self, epoch: int) -> Ids:
        """Return the (N, 2) lengths of an epoch's examples, end tokens included."""
        source, target = self.sides.epoch(epoch)
        lengths = np.ones((len(self.store), 2), dtype=np.int32)  # millions of pairs: no column is copied more than once
        lengths[:, 0] += source.lengths
        lengths[:, 1] += target.lengths
        return lengths if self.mixture is None else lengths[self.drawn(epoch)]

    def drawn(self, epoch: int) -> Ids:
        """Return the numbers of the pairs that an epoch draws."""
        if self.mixture is None:
            return np.arange(len(self.store))
        if self._drawn is None or self._drawn[0] != epoch:
            self._drawn = epoch, self.mixture.epoch(epoch)
        return self._drawn[1]

    def batch_at(self, place: Place) -> PairBatch:
        """Return the batch at a place."""
        epoch, indices = place[0], self.indices(place)
        source, target = self.sides.epoch(epoch)
        chosen = indices if self.mixture is None else self.drawn(epoch)[indices]
        return collate([(source[i], target[i]) for i in chosen])

    def describe(self, place: Place) -> str:
        """Return the size and the first pair of the batch at a place, for a message."""
        batch = self.batch_at(place)
        first = (batch.source[0][batch.source_mask[0]], batch.targets[0][batch.target_mask[0]])
        source, target = (tokenizer.decode(ids.tolist()) for tokenizer, ids in zip(self.tokenizers, first, strict=True))
        return f"{len(batch.source)} pairs, the first: {source[:80]!r} → {target[:80]!r}"
