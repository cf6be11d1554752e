"""Masked text: which tokens are masked, by what, and the batches of them (Devlin et al. 2019, section 3.1).

documents → chunks that fit the model → masks drawn anew each epoch → rows → MaskedBatch
Of ten tokens to predict, eight become the mask token, one becomes another token, one stays.
"""

from collections.abc import Iterator

import numpy as np
import torch

from jumok.config import MaskedTextData
from jumok.data.stream import Place
from jumok.data.text.batching import TokenBudgetStream
from jumok.data.text.documents import TextStore
from jumok.data.text.tokenizer import SPECIALS, Tokenizer
from jumok.nn.batch import MaskedBatch
from jumok.tasks.examples import MARKS, Ids, make_row, pad_rows

MASKED, REPLACED = 0.8, 0.1  # shares; the rest stays as it is


def mask_tokens(
    ids: Ids, begins: Ids, *, share: float, whole_words: bool, vocabulary: int, generator: np.random.Generator
) -> tuple[Ids, Ids]:
    """Return ids (n,) with some masked, and which are to predict (n,); begins is 1 where a token begins a word."""
    wanted = max(1, round(share * len(ids)))
    if whole_words:
        word = np.cumsum(begins) - begins[0]
        order = generator.permutation(int(word[-1]) + 1)
        sizes = np.bincount(word)[order]
        after = np.cumsum(sizes)
        last = int(np.searchsorted(after, wanted))  # its word may be longer than what is still wanted
        # It is taken as often as keeps the share right: always would mask too much, never would spare long words.
        if generator.random() * sizes[last] < after[last] - wanted:
            fitting = np.flatnonzero(sizes <= wanted)
            order = order[fitting[:1]] if last == 0 and len(fitting) else order[: max(last, 1)]  # one word at least
        else:
            order = order[: last + 1]
        chosen = np.isin(word, order)
    else:
        chosen = np.zeros(len(ids), dtype=bool)
        chosen[generator.permutation(len(ids))[:wanted]] = True
    fate = generator.random(len(ids))
    masked = np.where(chosen & (fate < MASKED), vocabulary, ids)  # the mask token stands behind the tokenizer's own
    others = generator.integers(len(SPECIALS), vocabulary, len(ids))
    return np.where(chosen & (fate >= MASKED) & (fate < MASKED + REPLACED), others, masked), chosen


def chunks(store: TextStore, longest: int) -> tuple[Ids, Ids]:
    """Return where stretches of documents begin and how long they are: at most longest tokens, end tokens left out."""
    ends = np.append(store.starts[1:], len(store.ids)) - 1
    pieces = -(-(ends - store.starts) // longest)
    number = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    starts = np.repeat(store.starts, pieces) + number * longest
    return starts, np.minimum(longest, np.repeat(ends, pieces) - starts)


class MaskedBatches(TokenBudgetStream[MaskedBatch]):
    """The stream of training texts with masked tokens; an example is a chunk of a document."""

    def __init__(
        self,
        store: TextStore,
        tokenizer: Tokenizer,
        data: MaskedTextData,
        *,
        longest: int,
        batch_tokens: int,
        seed: int,
    ) -> None:
        super().__init__(batch_tokens=batch_tokens, seed=seed)
        self.store, self.tokenizer, self.data, self.longest = store, tokenizer, data, longest
        self.starts, self.sizes = chunks(store, longest - MARKS)
        lengths = self.sizes + (MARKS if data.next_sentence else MARKS - 1)
        self._lengths = np.stack([lengths, lengths], axis=1)

    def lengths(self, epoch: int) -> Ids:
        """Return the (N, 2) lengths of rows, the same in every epoch and twice the same: a row is one text."""
        return self._lengths

    def batch_at(self, place: Place) -> MaskedBatch:
        """Return the batch at a place."""
        return self.batch(self.indices(place), place[0])

    def in_order(self) -> Iterator[MaskedBatch]:
        """Yield one pass over everything, with masked tokens that are always the same: for scores."""
        return (self.batch(indices, 0) for indices in self.planned(0))

    def batch(self, indices: Ids, epoch: int) -> MaskedBatch:
        """Return the batch of some chunks as an epoch sees them."""
        rows, places, answers, follows = [], [], [], []
        for index in indices.tolist():
            generator = np.random.default_rng([self.seed, epoch, index])
            ids, begins = self.chunk(index)
            cut, follow = len(ids), 1
            if self.data.next_sentence and len(ids) > 1:
                cut = int(generator.integers(1, len(ids)))
                follow = int(generator.integers(2)) if len(self.starts) > 1 else 1
                if not follow:
                    other = int(generator.integers(len(self.starts) - 1))
                    ids, begins = self._other_end(ids, begins, cut, other + (other >= index))  # never its own end
            replaced, chosen = mask_tokens(
                ids,
                begins,
                share=self.data.masked,
                whole_words=self.data.whole_words,
                vocabulary=len(self.tokenizer),
                generator=generator,
            )
            row, second = make_row(replaced[:cut], replaced[cut:], self.longest)
            place = np.zeros(len(row), dtype=bool)
            place[1 : 1 + cut] = chosen[:cut]
            place[second : second + len(ids) - cut] = chosen[cut:]
            rows.append((row, second))
            places.append(place)
            answers.append(ids[chosen])
            follows.append(follow)
        source, mask, segments = pad_rows(rows)
        masked = torch.zeros_like(mask)
        for number, place in enumerate(places):
            masked[number, : len(place)] = torch.from_numpy(place)
        found = torch.from_numpy(np.concatenate(answers))
        return MaskedBatch(
            source, mask, masked, found, segments, torch.tensor(follows) if self.data.next_sentence else None
        )

    def chunk(self, index: int) -> tuple[Ids, Ids]:
        """Return the ids of a chunk, and 1 where a token begins a word."""
        begin, end = self.starts[index], self.starts[index] + self.sizes[index]
        return self.store.ids[begin:end].astype(np.int64), self.store.words[begin:end].astype(np.int64)

    def _other_end(self, ids: Ids, begins: Ids, cut: int, index: int) -> tuple[Ids, Ids]:
        """Return the chunk with its end replaced by as much of another one."""
        other, other_begins = self.chunk(index)
        size = min(len(ids) - cut, len(other))
        return np.concatenate([ids[:cut], other[-size:]]), np.concatenate([begins[:cut], other_begins[-size:]])

    def describe(self, place: Place) -> str:
        """Return the size and the first text of the batch at a place, for a message."""
        batch = self.batch_at(place)
        known = batch.source[0][batch.source_mask[0] & (batch.source[0] < len(self.tokenizer))]
        return f"{len(batch.source)} texts, the first: {self.tokenizer.decode(known.tolist())[:80]!r}"
