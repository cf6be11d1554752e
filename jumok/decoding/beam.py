"""Beam search: the best few hypotheses of each sentence side by side.

logits (R, V), R = sentences × width → the best 2 × width continuations a sentence → width that go on, some that end

A sentence's step, as most toolkits (CTranslate2 among them) have it:
- Of all continuations of its rows, the 2 × width likeliest are candidates. A row ends in one way only, so at least
  width of them do not end, and those fill the beam again.
- Candidates that end, among the first width, become finished hypotheses.
- The search is over with width finished hypotheses, or at the longest length; then hypotheses still open count as they
  are, unfinished.
Rows compete by log-probability, since they are equally long; hypotheses by their normalised score (engine.py).
"""

import torch
from torch import Tensor

from jumok.decoding.rows import Choice, Rows, Step
from jumok.decoding.sampling import likeliest

# N sentences · W width of the beam · R = N × W rows · V vocabulary · K tokens of a row · C candidates of a sentence

IMPOSSIBLE = float("-inf")  # total of a row that only keeps its place: the beam is not full


class Beam:
    """Choose for all sentences at once. Rows of a sentence stand side by side."""

    def __init__(self, width: int, *, sentences: int, end: int) -> None:
        self.rows_each = width
        self.end = end
        self.finished = torch.zeros(sentences, dtype=torch.int64)  # hypotheses of each sentence so far

    def begin(self, rows: Rows) -> None:
        """Let one row of each new sentence live: equal rows would fill the beam with copies."""
        rows.total[torch.arange(len(rows)) % self.rows_each != 0] = IMPOSSIBLE

    def advance(self, logits: Tensor, normaliser: Tensor, rows: Rows) -> Step:
        """Choose the rows that go on from constrained logits (R, V), whose log-sum was normaliser (R,)."""
        width, sentence = self.rows_each, rows.sentence[:: self.rows_each]
        candidates, totals = self._candidates(logits, normaliser, rows)

        alive = totals != IMPOSSIBLE
        ends = (candidates.tokens == self.end) & alive
        ending = ends & (torch.arange(totals.shape[1]) < width)
        self.finished.index_add_(0, sentence, ending.sum(dim=1))

        # Open candidates first, in their order; places that none can fill repeat the first, as impossible rows.
        order = (~alive | ends).to(torch.uint8).argsort(dim=1, stable=True)[:, :width]  # (N, W)
        possible = (alive & ~ends).gather(1, order)
        order = torch.where(possible, order, order[:, :1])
        parents, tokens, log_probabilities = (part.gather(1, order) for part in candidates)
        beam = Choice(parents, tokens, log_probabilities.masked_fill(~possible, IMPOSSIBLE))

        full = self.finished[sentence] >= width
        last = rows.length[::width] + 1 >= rows.longest[::width]
        lost = ~possible.any(dim=1)
        ending[:, 0] |= lost & (self.finished[sentence] == 0)  # never leave a sentence without any answer
        going = ~(full | last | lost)
        leaving = possible & (last & ~full)[:, None]
        closing = zip(candidates.keep(ending), beam.keep(leaving), strict=True)
        return Step(
            going=Choice(*(part[going].flatten() for part in beam)),
            closing=Choice(*(torch.cat(parts) for parts in closing)),
        )

    def _candidates(self, logits: Tensor, normaliser: Tensor, rows: Rows) -> tuple[Choice, Tensor]:
        """Return the likeliest continuations of each sentence and their totals, all (N, C), best first."""
        width = self.rows_each
        count = min(2 * width, logits.shape[1])
        values, tokens = likeliest(logits, count)
        log_probabilities = (values - normaliser[:, None]).cpu()  # (R, K)
        totals = (rows.total[:, None] + log_probabilities).view(-1, width * count)
        best, place = totals.topk(min(2 * width, width * count), dim=1)  # (N, C)
        parents = place // count + width * torch.arange(len(place))[:, None]
        candidates = Choice(
            parents,
            tokens.cpu().view(-1, width * count).gather(1, place),
            log_probabilities.view(-1, width * count).gather(1, place),
        )
        return candidates, best
