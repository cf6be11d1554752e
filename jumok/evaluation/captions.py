"""Scores of captions against several references: BLEU-1 to 4, CIDEr-D and ROUGE-L, of a corpus and of each image.

hypotheses, references (text) → tokenise → n-grams of 1 to 4 words → CaptionScores

All three are those of pycocoevalcap 1.2, which papers report, times 100. CIDEr-D leads: BLEU-1 is high already for one
constant caption. What is counted changes the figures, so a signature goes with them.
"""

import math
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jumok.errors import DataError

LONGEST = 4  # words of an n-gram
SIGMA = 6.0  # CIDEr-D: how soon another length is punished
BETA = 1.2  # ROUGE-L: recall counts more than precision
VERSION = "pycocoevalcap-1.2"
SMALL, TINY = 1e-9, 1e-15  # pycocoevalcap's own, against divisions by zero

# pycocoevalcap drops the marks that end up alone. Brackets are in its list, too, but spelt so that they never match.
PUNCTUATION = "\"'`.?!,:;-–—…()[]{}“”‘«»"
_CLITIC = re.compile(r"(.*?)(n't|'(?:s|re|ve|ll|d|m))")  # the tokeniser of the Penn Treebank cuts them off

Tokens = Sequence[Hashable]  # words, or token ids
Ngrams = dict[tuple[Hashable, ...], int]


@dataclass(frozen=True)
class CaptionScores:
    """Scores of a corpus of captions, times 100, with the signature that makes them comparable."""

    images: int
    bleu1: float
    bleu2: float
    bleu3: float
    bleu4: float
    cider_d: float
    rouge_l: float
    distinct: int  # captions that differ from each other
    distinct_references: int
    vocabulary: int  # distinct words that were written
    signature: str
    cider_d_each: list[float]  # of each image
    rouge_l_each: list[float]
    bleu_counts: list[list[int]]  # of each image, as bleu_from_counts takes them

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of the corpus as plain values, for a report."""
        return {name: value for name, value in vars(self).items() if not isinstance(value, list)}


def tokenise(text: str, *, punctuation: bool = False) -> list[str]:
    """Return the words of a text in lower case; punctuation at their edges is dropped, or kept as tokens of its own."""
    tokens: list[str] = []
    for piece in text.lower().replace("’", "'").split():
        if piece.isalnum():
            tokens.append(piece)
            continue
        word = piece.rstrip(PUNCTUATION)
        after = piece[len(word) :]
        clitic = _CLITIC.fullmatch(word)
        stem, ending = clitic.groups() if clitic else (word, "")
        bare = stem.lstrip(PUNCTUATION)
        before = stem[: len(stem) - len(bare)]
        tokens += [*(before if punctuation else ""), *filter(None, (bare, ending)), *(after if punctuation else "")]
    return tokens


def score_captions(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, punctuation: bool = False
) -> CaptionScores:
    """Return the scores of one hypothesis for each image against the image's references, one or more.

    punctuation counts it as words, as Show, Attend and Tell did: the same captions then score higher.
    """
    if len(hypotheses) != len(references):
        raise DataError(f"{len(hypotheses):,} captions and references of {len(references):,} images; give one for each")
    if any(not texts for texts in references):
        number = next(number for number, texts in enumerate(references) if not texts)
        raise DataError(f"image {number + 1:,} has no reference; leave it out")
    written = [tokenise(text, punctuation=punctuation) for text in hypotheses]
    wanted = [[tokenise(text, punctuation=punctuation) for text in texts] for texts in references]
    counts = np.array([bleu_counts(*pair) for pair in zip(written, wanted, strict=True)]).reshape(-1, 2 * LONGEST + 2)
    bleu = 100 * bleu_from_counts(counts.sum(axis=0))
    cider = [100 * score for score in CiderD(wanted).scores(written, wanted)]
    rouge = [100 * rouge_l(*pair) for pair in zip(written, wanted, strict=True)]
    each = sorted({len(texts) for texts in references}) or [0]
    spread = f"{each[0]}" if len(each) == 1 else f"{each[0]}-{each[-1]}"
    kept = "kept" if punctuation else "dropped"
    return CaptionScores(
        images=len(written),
        bleu1=float(bleu[0]),
        bleu2=float(bleu[1]),
        bleu3=float(bleu[2]),
        bleu4=float(bleu[3]),
        cider_d=float(np.mean(cider)) if cider else 0.0,
        rouge_l=float(np.mean(rouge)) if rouge else 0.0,
        distinct=len({tuple(tokens) for tokens in written}),
        distinct_references=len({tuple(tokens) for of_image in wanted for tokens in of_image}),
        vocabulary=len({token for tokens in written for token in tokens}),
        signature=f"refs:{spread}|case:lower|punctuation:{kept}|tokeniser:words|as:{VERSION}",
        cider_d_each=cider,
        rouge_l_each=rouge,
        bleu_counts=counts.tolist(),
    )


def count_ngrams(tokens: Tokens) -> Ngrams:
    """Return how often each n-gram of 1 to 4 tokens occurs."""
    words = tuple(tokens)
    counts: Ngrams = {}
    for length in range(1, LONGEST + 1):
        for start in range(len(words) - length + 1):
            ngram = words[start : start + length]
            counts[ngram] = counts.get(ngram, 0) + 1
    return counts


def bleu_counts(hypothesis: Tokens, references: Sequence[Tokens]) -> list[int]:
    """Return BLEU's ten counts: right n-grams of 1 to 4, n-grams of 1 to 4, length, length of the nearest reference."""
    most: Ngrams = {}
    for reference in references:
        for ngram, count in count_ngrams(reference).items():
            most[ngram] = max(most.get(ngram, 0), count)
    right = [0] * LONGEST
    for ngram, count in count_ngrams(hypothesis).items():
        right[len(ngram) - 1] += min(count, most.get(ngram, 0))
    length = len(hypothesis)
    written = [max(length - n, 0) for n in range(LONGEST)]
    nearest = min((abs(len(reference) - length), len(reference)) for reference in references)[1]
    return [*right, *written, length, nearest]


def bleu_from_counts(counts: np.ndarray) -> np.ndarray:
    """Return BLEU-1 to 4, (…, 4), of counts (…, 10): of a corpus from their sum, of a caption from its own."""
    right, written, length, nearest = np.split(np.asarray(counts, dtype=np.float64), [4, 8, 9], axis=-1)
    precision = np.cumprod((right + TINY) / (written + SMALL), axis=-1) ** (1 / np.arange(1, LONGEST + 1))
    ratio = (length + TINY) / (nearest + SMALL)
    with np.errstate(over="ignore"):
        brevity = np.where(ratio < 1, np.exp(1 - 1 / ratio), 1.0)
    return np.asarray(precision * brevity)


def rouge_l(hypothesis: Tokens, references: Sequence[Tokens]) -> float:
    """Return the F-score of the longest common subsequence, of the best precision and the best recall (Lin 2004)."""
    written = hypothesis or [""]  # as pycocoevalcap splits an empty text
    shared = [longest_common_subsequence(written, reference or [""]) for reference in references]
    precision = max(shared) / len(written)
    recall = max(common / max(len(reference), 1) for common, reference in zip(shared, references, strict=True))
    if not precision or not recall:
        return 0.0
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)


def longest_common_subsequence(first: Tokens, second: Tokens) -> int:
    """Return its length, by one addition of bit rows per token of second (Hyyrö 2004)."""
    places: dict[Hashable, int] = {}
    for place, token in enumerate(first):
        places[token] = places.get(token, 0) | 1 << place
    every = (1 << len(first)) - 1
    row = every
    for token in second:
        found = row & places.get(token, 0)
        row = (row + found) | (row - found)
    return len(first) - (row & every).bit_count()


@dataclass(frozen=True)
class PreparedReferences:
    """The references of one image, ready to be compared with many captions."""

    counts: dict[tuple[Hashable, ...], tuple[int, ...]]  # of each n-gram, in each reference
    norms: list[tuple[float, ...]]  # [n][reference]
    bigrams: list[int]  # of each reference


class CiderD:
    """Consensus of a caption with references, n-grams weighted by how rare they are (Vedantam et al. 2015).

    Prepared once by the references of a corpus; then a reward for any caption, of words or token ids. Scores are on
    pycocoevalcap's scale, up to 10.
    """

    def __init__(self, references: Iterable[Sequence[Tokens]]) -> None:
        frequency: dict[tuple[Hashable, ...], int] = {}
        images = 0
        for of_image in references:
            images += 1
            for ngram in {ngram for reference in of_image for ngram in count_ngrams(reference)}:
                frequency[ngram] = frequency.get(ngram, 0) + 1
        self.rarest = math.log(images) if images else 0.0
        self.weight = {ngram: self.rarest - math.log(count) for ngram, count in frequency.items()}
        self._patterns: dict[tuple[int, ...], tuple[int, ...]] = {}  # few differ: each is kept once

    def prepare(self, references: Sequence[Tokens]) -> PreparedReferences:
        """Return the references of an image, ready for score."""
        assert references, "an image without references has no consensus"
        lists: dict[tuple[Hashable, ...], list[int]] = {}
        squares = [[0.0] * len(references) for _ in range(LONGEST)]
        for number, reference in enumerate(references):
            for ngram, count in count_ngrams(reference).items():
                lists.setdefault(ngram, [0] * len(references))[number] = count
                squares[len(ngram) - 1][number] += (count * self.weight.get(ngram, self.rarest)) ** 2
        counts = {ngram: self._patterns.setdefault(tuple(of_each), tuple(of_each)) for ngram, of_each in lists.items()}
        norms = [tuple(math.sqrt(square) for square in of_length) for of_length in squares]
        return PreparedReferences(counts, norms, [max(len(reference) - 1, 0) for reference in references])

    def score(self, hypothesis: Tokens, references: PreparedReferences) -> float:
        """Return the consensus of a caption with the references of its image."""
        weight, rarest, known = self.weight, self.rarest, references.counts
        squares = [0.0] * LONGEST
        products = [[0.0] * len(references.bigrams) for _ in range(LONGEST)]
        for ngram, count in count_ngrams(hypothesis).items():
            rarity = weight.get(ngram, rarest)
            n = len(ngram) - 1
            squares[n] += (count * rarity) ** 2
            of_each = known.get(ngram)
            if of_each is not None:
                product = products[n]
                for number, other in enumerate(of_each):
                    if other:  # repeating a word cannot raise the score: its count is clipped
                        product[number] += min(count, other) * other * rarity * rarity
        bigrams = max(len(hypothesis) - 1, 0)  # the length that pycocoevalcap compares
        total = 0.0
        for number, other in enumerate(references.bigrams):
            likeness = 0.0
            for n in range(LONGEST):
                if products[n][number]:
                    likeness += products[n][number] / (math.sqrt(squares[n]) * references.norms[n][number])
            total += likeness * math.exp(-((bigrams - other) ** 2) / (2 * SIGMA**2))
        return 10.0 * total / (LONGEST * len(references.bigrams))

    def scores(self, hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> list[float]:
        """Return the consensus of each caption with the references of its image."""
        return [self.score(one, self.prepare(wanted)) for one, wanted in zip(hypotheses, references, strict=True)]
