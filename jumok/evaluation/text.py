"""Scores of written answers: BLEU and chrF with their signatures, exact match, by length of the source.

hypotheses and references (text) → sacreBLEU → TextScores
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TextScores:
    """Corpus scores, with the signatures that make them comparable."""

    bleu: float
    chrf: float
    exact_match: float  # per cent
    sentences: int
    bleu_signature: str
    chrf_signature: str


def score_texts(hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = "13a") -> TextScores:
    """Return the scores of hypotheses against one reference each; cased, sacreBLEU's own tokenisation."""
    from sacrebleu.metrics.bleu import BLEU  # a tenth of a second that a translation need not wait for
    from sacrebleu.metrics.chrf import CHRF

    bleu, chrf = BLEU(tokenize=tokenize), CHRF()
    written, wanted = list(hypotheses), [list(references)]
    exact = sum(a.strip() == b.strip() for a, b in zip(hypotheses, references, strict=True))
    return TextScores(
        bleu=bleu.corpus_score(written, wanted).score,
        chrf=chrf.corpus_score(written, wanted).score,
        exact_match=100 * exact / max(len(written), 1),
        sentences=len(written),
        bleu_signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
    )


@dataclass(frozen=True)
class LengthBucket:
    """The scores of sentences whose source has shortest to longest tokens."""

    shortest: int
    longest: int
    sentences: int
    bleu: float
    exact_match: float


def score_by_length(
    hypotheses: Sequence[str],
    references: Sequence[str],
    lengths: Sequence[int],
    *,
    buckets: int = 5,
    tokenize: str = "13a",
) -> list[LengthBucket]:
    """Return scores in equally full buckets of source length, shortest first."""
    order = np.argsort(np.asarray(lengths), kind="stable")
    found = []
    for part in np.array_split(order, min(buckets, len(order))):
        if len(part):
            scores = score_texts([hypotheses[i] for i in part], [references[i] for i in part], tokenize=tokenize)
            found.append(LengthBucket(lengths[part[0]], lengths[part[-1]], len(part), scores.bleu, scores.exact_match))
    return found
