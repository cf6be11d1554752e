"""What chooses the next tokens: greedy choice, random draws (sampling.py) or a beam (beam.py).

constrained logits (R, V), open hypotheses → Chosen: those that are continued, those that end
"""

from typing import Protocol

from torch import Tensor

from jumok.config import DecodingConfig
from jumok.decoding.beam import Beam
from jumok.decoding.hypotheses import Chosen, Hypotheses
from jumok.decoding.sampling import Greedy, Sampler

# R hypotheses · V columns of the logits: the vocabulary, or a shortlist of it


class Strategy(Protocol):
    """How the next tokens are chosen."""

    width: int  # hypotheses of each sentence
    likeliest: bool  # whether it takes the likeliest, as a decoder that searches by itself does

    def begin(self, hypotheses: Hypotheses) -> None:
        """Prepare the hypotheses of new sentences, width of them each."""

    def advance(
        self, logits: Tensor, normaliser: Tensor, hypotheses: Hypotheses, shortlist: Tensor | None = None
    ) -> Chosen:
        """Choose from constrained logits (R, V), whose log-sum was normaliser (R,).

        shortlist (V,) is the token of each column; None: columns are tokens.
        """


def choose_strategy(options: DecodingConfig, *, end: int) -> Strategy:
    """Return the strategy of some options: random draws, greedy choice or a beam."""
    if options.sample:
        return Sampler(options, end=end)
    if options.beam == 1:
        return Greedy(end=end)
    return Beam(options.beam, end=end)
