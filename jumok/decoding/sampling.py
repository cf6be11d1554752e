"""Hypotheses that never split: each takes its likeliest token (greedy), or one drawn at random.

logits (R, V) → truncated (temperature, top-k, top-p, min-p) → a token for each → hypotheses that go on or end

Every hypothesis has random numbers of its own, by default keyed by (seed, request, copy), so an answer does not depend on its
neighbours in the batch. A token is drawn by inverting the cumulated distribution at such a number.
"""

import numpy as np
import torch
from torch import Tensor

from jumok.config import DecodingConfig
from jumok.decoding.hypotheses import Chosen, Continuations, Hypotheses
from jumok.decoding.logits import likeliest, log_sums

# R hypotheses · V vocabulary · K tokens that may be drawn

NUCLEUS = 256  # likeliest tokens tried for top-p before the whole vocabulary is sorted
NOBODY = Continuations(torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64), torch.zeros(0))
BELOW_ONE = 1.0 - 2.0**-23  # times any float32 total is still below that total
COLDEST = 1e-6  # temperature: logits divided by less would overflow, and this is greedy already


class Greedy:
    """Take the likeliest token, always."""

    width = 1
    likeliest = True

    def __init__(self, *, end: int) -> None:
        self.end = end

    def begin(self, hypotheses: Hypotheses) -> None:
        """Prepare the hypotheses of new sentences: there is nothing to do."""

    def advance(
        self, logits: Tensor, normaliser: Tensor, hypotheses: Hypotheses, shortlist: Tensor | None = None
    ) -> Chosen:
        """Choose a token for each hypothesis from constrained logits (R, V), whose log-sum was normaliser (R,).

        shortlist (V,) is the token of each column; None: columns are tokens.
        """
        values, columns = likeliest(logits, 1)
        tokens = columns.cpu() if shortlist is None else shortlist[columns.cpu()]
        return settle(values - normaliser[:, None], tokens=tokens, hypotheses=hypotheses, end=self.end)


class Sampler:
    """Draw tokens at random: n_best independent hypotheses for each sentence."""

    likeliest = False

    def __init__(self, options: DecodingConfig, *, end: int) -> None:
        self.options = options
        self.end = end
        self.width = options.n_best

    def key(self, sentence: int, copy: int) -> list[int]:
        """Return what the random numbers of a hypothesis are made of."""
        return [self.options.seed, sentence, copy]

    def begin(self, hypotheses: Hypotheses) -> None:
        """Give the hypotheses of new sentences their random numbers."""
        noise = np.zeros((len(hypotheses), int(hypotheses.longest.max())), dtype=np.float32)
        keys = zip(hypotheses.sentence.tolist(), hypotheses.longest.tolist(), strict=True)
        for row, (sentence, longest) in enumerate(keys):
            generator = np.random.default_rng(self.key(sentence, row % self.width))
            noise[row, :longest] = generator.random(longest)
        hypotheses.noise = torch.from_numpy(noise).clamp_(max=BELOW_ONE)

    def advance(
        self, logits: Tensor, normaliser: Tensor, hypotheses: Hypotheses, shortlist: Tensor | None = None
    ) -> Chosen:
        """Draw a token for each hypothesis from constrained logits (R, V), whose log-sum was normaliser (R,)."""
        assert shortlist is None, "DecodingConfig refuses a shortlist where tokens are drawn"
        options = self.options
        noise = hypotheses.noise.gather(1, hypotheses.length[:, None]).to(logits.device)
        cooled = logits / max(options.temperature, COLDEST)
        weights, kept = truncate(cooled, top_k=options.top_k, top_p=options.top_p)
        if options.min_p:
            weights = weights.masked_fill(weights < options.min_p * weights.amax(dim=1, keepdim=True), 0.0)
        drawn = draw(weights, noise)
        tokens = drawn if kept is None else kept.gather(1, drawn)
        log_probabilities = logits.gather(1, tokens) - normaliser[:, None]
        return settle(log_probabilities, tokens=tokens, hypotheses=hypotheses, end=self.end)


def truncate(logits: Tensor, *, top_k: int, top_p: float) -> tuple[Tensor, Tensor | None]:
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
    places = torch.searchsorted(cumulated, noise * cumulated[:, -1:], right=True)
    return places.clamp_(max=weights.shape[1] - 1)  # weights of a damaged model may be no numbers


def settle(log_probabilities: Tensor, *, tokens: Tensor, hypotheses: Hypotheses, end: int) -> Chosen:
    """Return what happens to hypotheses that write tokens (R, 1): those at the end, or at full length, end."""
    chosen = Continuations(torch.arange(len(hypotheses)), tokens[:, 0].cpu(), log_probabilities[:, 0].cpu())
    ending = (chosen.tokens == end) | (hypotheses.length + 1 >= hypotheses.longest)
    if not ending.any():
        return Chosen(chosen, NOBODY)
    return Chosen(chosen.keep(~ending), chosen.keep(ending))
