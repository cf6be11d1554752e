"""Running text as batches: blocks of one length cut out of a long line of tokens, no padding anywhere.

store → a new place to begin each epoch → blocks in a new order → rows of a batch → TextBatch
"""

from collections.abc import Iterator

import numpy as np
import torch

from jumok.data.stream import Place, Stream, cut
from jumok.data.text.documents import TextStore
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import ConfigError
from jumok.nn.batch import TextBatch


def cut_block(store: TextStore, starts: np.ndarray, length: int, *, separate: bool) -> TextBatch:
    """Return the blocks of length tokens that begin at starts (B,), and the next token at each place."""
    places = starts[:, None] + np.arange(length + 1)  # (B, T + 1)
    ids = torch.from_numpy(store.ids[places].astype(np.int64))
    documents = None
    if separate:  # an end token belongs to the document that it opens
        documents = torch.from_numpy(np.searchsorted(store.starts, places[:, :-1] + 1, side="right"))
    return TextBatch(ids[:, :-1].contiguous(), ids[:, 1:].contiguous(), documents)


class BlockBatches(Stream[TextBatch]):
    """The stream of training blocks; an example is the place where a block begins."""

    def __init__(
        self, store: TextStore, tokenizer: Tokenizer, *, window: int, batch_tokens: int, seed: int, separate: bool
    ) -> None:
        super().__init__()
        self.store, self.tokenizer, self.seed, self.separate = store, tokenizer, seed, separate
        self.length = min(window, store.tokens)
        if self.length > batch_tokens:
            raise ConfigError(
                f"training.batch_tokens = {batch_tokens:,} has no room for one block of {self.length:,} tokens; "
                f"set it to {self.length} or more, or model.window to {batch_tokens} or less"
            )
        self.rows = batch_tokens // self.length

    def plan(self, epoch: int) -> list[np.ndarray]:
        """Return where the blocks of each batch of an epoch begin."""
        generator = np.random.default_rng([self.seed, epoch])
        spare = self.store.tokens - self.length
        first = int(generator.integers(min(self.length, spare + 1)))
        return cut(generator.permutation(np.arange(first, spare + 1, self.length)), self.rows)

    def batch_at(self, place: Place) -> TextBatch:
        """Return the batch at a place."""
        return cut_block(self.store, self.indices(place), self.length, separate=self.separate)

    def describe(self, place: Place) -> str:
        """Return the size and the first block of the batch at a place, for a message."""
        batch = self.batch_at(place)
        return f"{len(batch.inputs)} blocks, the first: {self.tokenizer.decode(batch.inputs[0].tolist())[:80]!r}"


def blocks_in_order(store: TextStore, window: int, *, batch_tokens: int, separate: bool) -> Iterator[TextBatch]:
    """Yield a whole store in blocks of window tokens, each token predicted exactly once; the last block may be shorter."""
    whole = store.tokens // window * window
    rows = max(batch_tokens // window, 1)
    starts = np.arange(0, whole, window)
    for first in range(0, len(starts), rows):
        yield cut_block(store, starts[first : first + rows], window, separate=separate)
    if whole < store.tokens:
        yield cut_block(store, np.array([whole]), store.tokens - whole, separate=separate)
