"""One hypothesis a row: the likeliest token (greedy), or one drawn at random.

logits (R, V) → shortlist (temperature, top-k, top-p, min-p) → a token a row → rows that go on, rows that close

Every row of every sentence has random numbers of its own, keyed by (seed, sentence, copy), so an answer does not
depend on its neighbours in the batch. A token is drawn by inverting the cumulated distribution at such a number.
"""

import numpy as np
import torch
from torch import Tensor

from jumok.config import DecodingConfig
from jumok.decoding.hypotheses import Choice, Rows, Step
from jumok.decoding.logits import likeliest, log_sums

# R rows · V vocabulary · K tokens on the shortlist · C choices

NUCLEUS = 256  # likeliest tokens tried for top-p before the whole vocabulary is sorted
NOBODY = Choice(torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64), torch.zeros(0))
BELOW_ONE = 1.0 - 2.0**-23  # times any float32 total is still below that total
COLDEST = 1e-6  # temperature: logits divided by less would overflow, and this is greedy already


class Greedy:
    """Take the likeliest token, always."""

    rows_each = 1

    def __init__(self, *, end: int) -> None:
        self.end = end

    def begin(self, rows: Rows) -> None:
        """Prepare rows of new sentences."""

    def advance(self, logits: Tensor, normaliser: Tensor, rows: Rows, words: Tensor | None = None) -> Step:
        """Choose a token a row from constrained logits (R, V), whose log-sum was normaliser (R,).

        words (V,) are the tokens that logits are of, where not of the whole vocabulary.
        """
        values, places = likeliest(logits, 1)
        tokens = places.cpu() if words is None else words[places.cpu()]
        return settle(values - normaliser[:, None], tokens=tokens, rows=rows, end=self.end)


class Sampler:
    """Draw tokens at random: n_best independent hypotheses a sentence."""

    def __init__(self, options: DecodingConfig, *, end: int) -> None:
        self.options = options
        self.end = end
        self.rows_each = options.n_best

    def begin(self, rows: Rows) -> None:
        """Give rows of new sentences their random numbers."""
        noise = np.zeros((len(rows), int(rows.longest.max())), dtype=np.float32)
        for row, (sentence, longest) in enumerate(zip(rows.sentence.tolist(), rows.longest.tolist(), strict=True)):
            generator = np.random.default_rng([self.options.seed, sentence, row % self.rows_each])
            noise[row, :longest] = generator.random(longest)
        rows.noise = torch.from_numpy(noise).clamp_(max=BELOW_ONE)

    def advance(self, logits: Tensor, normaliser: Tensor, rows: Rows, words: Tensor | None = None) -> Step:
        """Draw a token a row from constrained logits (R, V), whose log-sum was normaliser (R,)."""
        assert words is None, "DecodingConfig refuses a shortlist where tokens are drawn"
        options = self.options
        noise = rows.noise.gather(1, rows.length[:, None]).to(logits.device)
        cooled = logits / max(options.temperature, COLDEST)
        weights, shortlisted = shortlist(cooled, top_k=options.top_k, top_p=options.top_p)
        if options.min_p:
            weights = weights.masked_fill(weights < options.min_p * weights.amax(dim=1, keepdim=True), 0.0)
        drawn = draw(weights, noise)
        tokens = drawn if shortlisted is None else shortlisted.gather(1, drawn)
        return settle(logits.gather(1, tokens) - normaliser[:, None], tokens=tokens, rows=rows, end=self.end)


def shortlist(logits: Tensor, *, top_k: int, top_p: float) -> tuple[Tensor, Tensor | None]:
    """Return weights (R, K) to draw by and their tokens (R, K), best first; no tokens: the whole vocabulary."""
    vocabulary = logits.shape[1]
    if not top_k and top_p == 1.0:
        return (logits - logits.amax(dim=1, keepdim=True)).exp(), None
    values, tokens = likeliest(logits, min(top_k or NUCLEUS, vocabulary))
    normaliser = log_sums(values if top_k else logits)[:, None]
    weights = (values - normaliser).exp()
    if not top_k and bool((weights.sum(dim=1) < top_p).any()):
        values, tokens = logits.sort(dim=1, descending=True)
        weights = (values - normaliser).exp()
    if top_p < 1.0:
        before = weights.cumsum(dim=1) - weights  # the likeliest token has nothing before it: it always stays
        weights = weights.masked_fill(before >= top_p, 0.0)
    return weights, tokens


def draw(weights: Tensor, noise: Tensor) -> Tensor:
    """Return places (R, 1) drawn in proportion to weights (R, K) by noise (R, 1) from [0, 1)."""
    cumulated = weights.cumsum(dim=1)
    return torch.searchsorted(cumulated, noise * cumulated[:, -1:], right=True)


def settle(log_probabilities: Tensor, *, tokens: Tensor, rows: Rows, end: int) -> Step:
    """Return what happens to rows that write tokens (R, 1): those at the end, or at full length, close."""
    choice = Choice(torch.arange(len(rows)), tokens[:, 0].cpu(), log_probabilities[:, 0].cpu())
    closing = (choice.tokens == end) | (rows.length + 1 >= rows.longest)
    if not closing.any():
        return Step(going=choice, closing=NOBODY)
    return Step(going=choice.keep(~closing), closing=choice.keep(closing))
