"""Which sentence pairs go into which batch: token budgets, little padding, a new mixture every epoch.

lengths (N, 2) → shuffle → pools → order of like lengths → cut at the cheapest places → shuffle the batches
The plan is a pure function of (lengths, budget, seed, epoch), so a position in it is enough to go on exactly.
"""

from abc import abstractmethod

import numpy as np

from jumok.data.stream import BatchT_co, Stream
from jumok.errors import ConfigError

POOL = 200_000  # pairs sorted together; larger corpora stay shuffled beyond it
BLUR = 0.15  # chance that a length counts as one more in sorting: new neighbours, for 0.8 % more padding
STRIPS = 1.75  # strips of like lengths per pool, in square roots of its number of batches
BLOCKS = 24  # places to cut per full batch
EXTRA_BATCH = 0.2  # price of one more batch, in budgets of padding


def plan_batches(lengths: np.ndarray, *, batch_tokens: int, seed: int, epoch: int) -> list[np.ndarray]:
    """Return one epoch's batches: arrays of indices into lengths (N, 2), each index exactly once.

    A batch's rows × the longer of its longest source and longest target is at most batch_tokens.
    """
    lengths = np.asarray(lengths)
    refuse_too_long(lengths, batch_tokens)
    generator = np.random.default_rng([seed, epoch])
    shuffled = generator.permutation(len(lengths)).astype(np.int32)  # half the memory of a plan of millions
    batches: list[np.ndarray] = []
    for pool in np.array_split(shuffled, max(1, -(-len(shuffled) // POOL))):
        ordered = pool[_order(lengths[pool], batch_tokens, generator)]
        batches += _cut(ordered, lengths[ordered], batch_tokens)
    return [batches[index] for index in generator.permutation(len(batches))]


def padding_share(lengths: np.ndarray, batches: list[np.ndarray]) -> float:
    """Return the share of padding among all positions, source and target side together."""
    places = sum(len(batch) * int(lengths[batch].max(axis=0).sum()) for batch in batches)
    real = sum(int(lengths[batch].sum()) for batch in batches)
    return 1 - real / places if places else 0.0


def largest_batch(lengths: np.ndarray, batches: list[np.ndarray]) -> np.ndarray:
    """Return the batch with the most positions, which needs the most memory."""
    return max(batches, key=lambda batch: len(batch) * int(lengths[batch].max(axis=0).sum()))


def refuse_too_long(lengths: np.ndarray, batch_tokens: int) -> None:
    if lengths.max(initial=0) > batch_tokens:
        longest = lengths.max(axis=1)
        which = int(longest.argmax())
        raise ConfigError(
            f"pair {which + 1:,} is {longest[which]:,} tokens long and training.batch_tokens = {batch_tokens:,} has no room for it; "
            f"set batch_tokens to {longest[which]} or more, or data.max_length to {batch_tokens} or less"
        )


def _order(lengths: np.ndarray, batch_tokens: int, generator: np.random.Generator) -> np.ndarray:
    """Return an order of a shuffled pool in which neighbours have like lengths on both sides.

    Strips of like length on one side are walked like a snake, up and down the other side's lengths. Where strips
    begin, which side they go by and the blur differ each epoch.
    """
    if not len(lengths):
        return np.empty(0, dtype=np.int64)
    blurred = lengths + (generator.random(lengths.shape) < BLUR)
    side = int(generator.integers(2))
    across, along = blurred[:, side], blurred[:, 1 - side]
    tokens = np.cumsum(np.bincount(across, weights=lengths.max(axis=1)))  # up to each length across
    strips = max(1, round(STRIPS * float(np.sqrt(tokens[-1] / batch_tokens))))
    strip = (tokens / tokens[-1] * strips + generator.random()).astype(np.int64)[across]
    return np.lexsort((np.where(strip % 2, along, -along), strip))


def _cut(ordered: np.ndarray, lengths: np.ndarray, batch_tokens: int) -> list[np.ndarray]:
    """Cut ordered pairs into batches with the least padding, counting each further batch as some padding too.

    The shortest path over the possible places: best[j] = min over i of best[i] + price of a batch from i to j.
    """
    places = _places(lengths.max(axis=1, initial=0), batch_tokens)
    if len(places) < 2:
        return []
    tops = np.maximum.reduceat(lengths, places[:-1], axis=0)
    sources, targets, rows = tops[:, 0].tolist(), tops[:, 1].tolist(), places.tolist()
    price = EXTRA_BATCH * batch_tokens
    best, came_from = [0.0], [0]
    for end in range(1, len(rows)):
        longest_source = longest_target = 0
        cheapest, cheapest_start = float("inf"), end - 1
        for start in range(end - 1, -1, -1):
            longest_source = max(longest_source, sources[start])
            longest_target = max(longest_target, targets[start])
            count = rows[end] - rows[start]
            if count * max(longest_source, longest_target) > batch_tokens:
                break
            cost = best[start] + count * (longest_source + longest_target) + price
            if cost < cheapest:
                cheapest, cheapest_start = cost, start
        best.append(cheapest)
        came_from.append(cheapest_start)
    batches, end = [], len(rows) - 1
    while end:
        start = came_from[end]
        batches.append(ordered[rows[start] : rows[end]])
        end = start
    return batches


def _places(longest: np.ndarray, batch_tokens: int) -> np.ndarray:
    """Return where batches may begin and end: about BLOCKS places per full batch, and never a block above the budget."""
    if not len(longest):
        return np.zeros(1, dtype=np.int64)
    block = np.cumsum(longest) * BLOCKS // batch_tokens
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    sizes = np.diff(starts, append=len(longest))
    too_large = sizes * np.maximum.reduceat(longest, starts) > batch_tokens
    begins = np.zeros(len(longest), dtype=bool)
    begins[starts] = True
    begins |= np.repeat(too_large, sizes)  # where lengths differ wildly, cut anywhere
    return np.append(np.flatnonzero(begins), len(longest))


class TokenBudgetStream(Stream[BatchT_co]):
    """A stream whose batches are planned by the lengths of texts within a budget of tokens."""

    def __init__(self, *, batch_tokens: int, seed: int) -> None:
        super().__init__()
        self.batch_tokens, self.seed = batch_tokens, seed

    @abstractmethod
    def lengths(self, epoch: int) -> np.ndarray:
        """Return the lengths (N, 2) of an epoch's examples; subword dropout changes them each time."""

    def plan(self, epoch: int) -> list[np.ndarray]:
        """Return the examples of each batch of an epoch."""
        return plan_batches(self.lengths(epoch), batch_tokens=self.batch_tokens, seed=self.seed, epoch=epoch)
