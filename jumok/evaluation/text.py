"""Scores of written answers: BLEU and chrF with their signatures, exact match, by length of the source.

hypotheses and references (text) → how BLEU cuts them → sacreBLEU → TextScores

BLEU counts n-grams of words, as 13a finds them in European languages. A Korean word carries its endings with it, and
Japanese and Chinese have no spaces: there the n-grams are of characters.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

BY_CHARACTER = ("ko", "ja", "zh")
# Hangul and its letters, kana, Chinese characters.
_SCRIPTS = re.compile(
    "[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0002ffff]"
)


@dataclass(frozen=True)
class TextScores:
    """Corpus scores, with the signatures that make them comparable."""

    bleu: float
    chrf: float
    exact_match: float  # per cent
    sentences: int
    bleu_signature: str
    chrf_signature: str


def tokenization(references: Sequence[str], language: str = "") -> str:
    """Return how BLEU must cut references: by the language they are in, or by their letters where it is not known."""
    if language:
        return "char" if language.lower().split("-")[0] in BY_CHARACTER else "13a"
    letters = sum(letter.isalpha() for text in references for letter in text)
    own = sum(len(_SCRIPTS.findall(text)) for text in references)
    return "char" if 2 * own > letters else "13a"


def score_texts(hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = "") -> TextScores:
    """Return the scores of hypotheses against one reference each; cased, sacreBLEU's own tokenisation.

    tokenize is one of sacreBLEU's names; where it is empty, the references' letters decide.
    """
    from sacrebleu.metrics.bleu import BLEU  # a tenth of a second that a translation need not wait for
    from sacrebleu.metrics.chrf import CHRF

    bleu, chrf = BLEU(tokenize=tokenize or tokenization(references)), CHRF()
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


def mean_scores(
    hypotheses: Sequence[str], references: Sequence[str], languages: Sequence[str] = ()
) -> dict[str, float]:
    """Return bleu, chrf and exact_match.

    Of several target languages each is scored by itself, as bleu_ko, and what is returned is the mean over sentences.
    """
    groups: dict[str, list[int]] = {}
    for number, language in enumerate(languages or [""] * len(references)):
        groups.setdefault(language, []).append(number)
    scores = {}
    for language, numbers in groups.items():
        wanted = [references[number] for number in numbers]
        cut = tokenization(wanted, language)
        scores[language] = score_texts([hypotheses[number] for number in numbers], wanted, tokenize=cut)
    if len(groups) == 1:
        (only,) = scores.values()
        return {key: getattr(only, key) for key in ("bleu", "chrf", "exact_match")}
    means = {
        key: sum(getattr(found, key) * found.sentences for found in scores.values()) / len(references)
        for key in ("bleu", "chrf", "exact_match")
    }
    return means | {f"bleu_{language}": scores[language].bleu for language in sorted(scores)}


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
    tokenize: str = "",
) -> list[LengthBucket]:
    """Return scores in equally full buckets of source length, shortest first."""
    tokenize = tokenize or tokenization(references)  # the same for all, whatever a bucket's letters
    order = np.argsort(np.asarray(lengths), kind="stable")
    found = []
    for part in np.array_split(order, min(buckets, len(order))):
        if len(part):
            scores = score_texts([hypotheses[i] for i in part], [references[i] for i in part], tokenize=tokenize)
            found.append(LengthBucket(lengths[part[0]], lengths[part[-1]], len(part), scores.bleu, scores.exact_match))
    return found
