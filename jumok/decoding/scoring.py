"""The scores that rank finished hypotheses: log-probability, divided by a power of the length, and a coverage penalty.

EndedHypotheses, attention of each source position → (request, Hypothesis) …

Both penalties are those of GNMT (Wu et al. 2016), section 7, but for the length, which is plain.
"""

from collections.abc import Iterator

from torch import Tensor

from jumok.config import DecodingConfig
from jumok.decoding.hypotheses import Hypotheses, Hypothesis
from jumok.nn.model import EndedHypotheses

# E hypotheses that have ended · S source

UNSEEN = 1e-6  # least attention that coverage counts, so that its logarithm exists


def coverage(hypotheses: Hypotheses) -> Tensor:
    """Return Σ log min(attention, 1) over the real source positions of each hypothesis (E,): 0 where all were seen."""
    seen = hypotheses.covered.clamp(min=UNSEEN, max=1.0).log()  # (E, S)
    return seen.masked_fill(~hypotheses.source, 0.0).sum(dim=1)


def scored(
    ended: EndedHypotheses, options: DecodingConfig, *, end: int, covered: Tensor | None = None
) -> Iterator[tuple[int, Hypothesis]]:
    """Yield the request of each hypothesis that has ended, and its answer; covered (E,) is what coverage() returns."""
    scores = ended.total / ended.length**options.length_penalty
    if covered is not None:
        scores = scores + options.coverage_penalty * covered
    columns = zip(*(column.tolist() for column in (*ended, scores)), strict=True)
    for request, length, total, tokens, log_probabilities, score in columns:
        finished = tokens[length - 1] == end
        text = tokens[: length - 1] if finished else tokens[:length]
        yield request, Hypothesis(text, finished, total, score, log_probabilities[:length])
