"""Running text as batches: blocks of one length cut out of a long line of tokens, no padding anywhere.

store → a new place to begin each epoch → blocks in a new order → rows of a batch → TextBatch
"""

from collections.abc import Iterator

import numpy as np
import torch

from jumok.data.text.documents import TextStore
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import ConfigError
from jumok.nn.batch import TextBatch


def cut_block(store: TextStore, starts: np.ndarray, length: int, *, separate: bool) -> TextBatch:
    """Return the blocks of length tokens that begin at starts (B,), and what comes next at each place."""
    places = starts[:, None] + np.arange(length + 1)  # (B, T + 1)
    ids = torch.from_numpy(store.ids[places].astype(np.int64))
    documents = None
    if separate:  # an end token belongs to the document that it opens
        documents = torch.from_numpy(np.searchsorted(store.starts, places[:, :-1] + 1, side="right"))
    return TextBatch(ids[:, :-1].contiguous(), ids[:, 1:].contiguous(), documents)


class BlockBatches:
    """The endless stream of training batches, each a pure function of seed, epoch and place."""

    def __init__(
        self, store: TextStore, tokenizer: Tokenizer, *, window: int, batch_tokens: int, seed: int, separate: bool
    ) -> None:
        self.store, self.tokenizer, self.seed, self.separate = store, tokenizer, seed, separate
        self.length = min(window, store.tokens)
        if self.length > batch_tokens:
            raise ConfigError(
                f"training.batch_tokens = {batch_tokens:,} has no room for one block of {self.length:,} tokens; "
                f"set it to {self.length} or more, or model.window to {batch_tokens} or less"
            )
        self.rows = batch_tokens // self.length
        self.epoch, self.index = 0, 0
        self._planned: tuple[int, np.ndarray] | None = None

    @property
    def batches_an_epoch(self) -> int:
        """How many batches make an epoch."""
        return -(-len(self._plan(0)) // self.rows)

    def _plan(self, epoch: int) -> np.ndarray:
        """Return where the blocks of an epoch begin, in their order."""
        if self._planned is None or self._planned[0] != epoch:
            generator = np.random.default_rng([self.seed, epoch])
            spare = self.store.tokens - self.length
            first = int(generator.integers(min(self.length, spare + 1)))
            starts = np.arange(first, spare + 1, self.length)
            self._planned = epoch, generator.permutation(starts)
        return self._planned[1]

    @property
    def position(self) -> tuple[int, int]:
        """Epoch and place in it of the next batch."""
        return self.epoch, self.index

    def seek(self, epoch: int, index: int) -> None:
        """Go to a position."""
        self.epoch, self.index = epoch, index

    def take(self) -> TextBatch:
        """Return the next batch."""
        starts = self._plan(self.epoch)
        if self.index * self.rows >= len(starts):
            self.epoch, self.index = self.epoch + 1, 0
            starts = self._plan(self.epoch)
        chosen = starts[self.index * self.rows : (self.index + 1) * self.rows]
        self.index += 1
        return cut_block(self.store, chosen, self.length, separate=self.separate)

    def describe(self, batch: TextBatch) -> str:
        """Return a batch's size and its first block, for a message."""
        return f"{len(batch.inputs)} blocks, the first: {self.tokenizer.decode(batch.inputs[0].tolist())[:80]!r}"


def blocks_in_order(store: TextStore, window: int, *, batch_tokens: int, separate: bool) -> Iterator[TextBatch]:
    """Yield all of a store, every token to be said exactly once, in blocks of window tokens; the last may be shorter."""
    whole = store.tokens // window * window
    rows = max(batch_tokens // window, 1)
    starts = np.arange(0, whole, window)
    for first in range(0, len(starts), rows):
        yield cut_block(store, starts[first : first + rows], window, separate=separate)
    if whole < store.tokens:
        yield cut_block(store, np.array([whole]), store.tokens - whole, separate=separate)
