"""How often each corpus' pairs are drawn in an epoch.

sizes and weights of corpora → Mixture → epoch e: numbers of pairs, some more than once, some left for a later epoch
A corpus is an endless row of decks, each all of its pairs in another order, and an epoch takes the next weight × size
cards of it. So after any number of epochs all pairs of a corpus have been seen equally often, to within one; and what
an epoch takes is a pure function of seed and epoch.
"""

import math
from collections.abc import Sequence

import numpy as np


class Mixture:
    """Corpora that stand one after another in a store, drawn by weight."""

    def __init__(self, sizes: Sequence[int], weights: Sequence[float], *, seed: int) -> None:
        assert len(sizes) == len(weights)
        self.sizes, self.weights, self.seed = list(sizes), list(weights), seed

    def drawn(self, epoch: int) -> list[int]:
        """Return how many pairs of each corpus an epoch draws."""
        return [last - first for first, last in map(self._span, self.sizes, self.weights, [epoch] * len(self.sizes))]

    def epoch(self, epoch: int) -> np.ndarray:
        """Return the numbers of the pairs that an epoch draws, corpus by corpus."""
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        chosen = [
            start + self._cards(corpus, *self._span(size, weight, epoch))
            for corpus, (start, size, weight) in enumerate(zip(starts[:-1], self.sizes, self.weights, strict=True))
        ]
        return np.concatenate([np.empty(0, dtype=np.int64), *chosen])

    @staticmethod
    def _span(size: int, weight: float, epoch: int) -> tuple[int, int]:
        """Return the first card of an epoch and the first of the next."""
        return math.floor(epoch * weight * size), math.floor((epoch + 1) * weight * size)

    def _cards(self, corpus: int, first: int, last: int) -> np.ndarray:
        """Return the cards from first up to last, of as many decks as they lie in."""
        size = self.sizes[corpus]
        cards = [np.empty(0, dtype=np.int64)]
        for deck in range(first // max(size, 1), -(-last // max(size, 1))):
            order = np.random.default_rng([self.seed, corpus, deck]).permutation(size)
            cards.append(order[max(first - deck * size, 0) : last - deck * size])
        return np.concatenate(cards)
