"""What a captioner's scores must be seen beside: captions that need no captioner, and captions by people.

constant_caption   training captions → the one that agrees best with all others
nearest_captions   vectors of images → nearest training images → the caption of theirs that agrees best (Devlin et al. 2015)
score_humans       references → each in turn against the others
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from jumok.evaluation.captions import SIGMA, CiderD, count_ngrams, score_captions, tokenise

# N training images · M images to caption · D width · C captions · G n-grams of them

NEIGHBOURS = 60  # training images whose captions are tried
MOST_IMAGES = 6000  # training images, evenly spread, among which the constant caption is sought
CANDIDATES, PROBES = 100, 300  # captions that are scored exactly for it, on so many training images
MOST_HUMANS = 5  # references that are scored against the others
FIGURES = ("bleu1", "bleu2", "bleu3", "bleu4", "cider_d", "rouge_l")

Array = np.ndarray[Any, Any]
Captions = Sequence[Sequence[str]]  # of each image


def constant_caption(captions: Captions) -> str:
    """Return a training caption whose CIDEr-D is high when it is said of every training image; '' where there is none."""
    described = [texts for texts in captions if texts]
    if not described:
        return ""
    chosen = [described[number] for number in _spread(len(described), MOST_IMAGES)]
    vectors = NgramVectors.of(chosen)
    whole = np.bincount(vectors.ngrams, vectors.weights, minlength=vectors.size)
    shares = np.concatenate([[0.0], np.cumsum(vectors.weights * whole[vectors.ngrams])])
    agreement = shares[vectors.first[1:]] - shares[vectors.first[:-1]]  # with all captions, of each
    texts = [text for of_image in chosen for text in of_image]
    best = dict.fromkeys(" ".join(tokenise(texts[number])) for number in np.argsort(-agreement, kind="stable"))
    candidates = list(best)[:CANDIDATES]
    words = [[tokenise(text) for text in of_image] for of_image in chosen]
    cider = CiderD(words)
    probes = [cider.prepare(words[number]) for number in _spread(len(words), PROBES)]
    return max(candidates, key=lambda text: sum(cider.score(text.split(), probe) for probe in probes))


def nearest_captions(
    features: Array,
    train_features: Array,
    captions: Captions,
    *,
    neighbours: int = NEIGHBOURS,
    progress: Callable[[int], None] = lambda done: None,
) -> list[str]:
    """Return for each image of features (M, D) a caption of the nearest images of train_features (N, D), by cosine.

    Of all their captions it is the one that agrees best with the others: a consensus, no training. progress is told how
    many images are done since the last call.
    """
    vectors, texts = NgramVectors.of(captions), list(chain.from_iterable(captions))
    first = np.concatenate([[0], np.cumsum([len(of_image) for of_image in captions])])  # caption of each image
    reached, known = _unit(features), _unit(train_features)
    found = []
    for image in reached:
        likeness = known @ image  # (N,)
        count = min(neighbours, len(likeness))
        near = np.sort(np.argpartition(-likeness, count - 1)[:count])
        numbers = np.concatenate([np.arange(first[number], first[number + 1]) for number in near])
        found.append(texts[numbers[vectors.agreement(numbers).argmax()]] if len(numbers) else "")
        progress(1)
    return found


def score_humans(references: Captions) -> dict[str, Any] | None:
    """Return the mean scores of references, each in turn against the others of its image; None where no image has two."""
    several = [texts for texts in references if len(texts) > 1]
    if not several:
        return None
    rounds = []
    for turn in range(min(max(map(len, several)), MOST_HUMANS)):
        numbers = [turn % len(texts) for texts in several]
        written = [texts[number] for texts, number in zip(several, numbers, strict=True)]
        others = [[*texts[:number], *texts[number + 1 :]] for texts, number in zip(several, numbers, strict=True)]
        rounds.append(score_captions(written, others))
    means = {name: float(np.mean([getattr(scores, name) for scores in rounds])) for name in FIGURES}
    return rounds[0].to_dict() | means


def floors(
    references: Captions,
    captions: Captions,
    *,
    features: Array | None = None,
    train_features: Array | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, dict[str, Any]]:
    """Return the scores that need no captioner, by name, of images whose references are given.

    captions are those of the training images. With vectors (M, D) of the images and (N, D) of the training images, the
    nearest images' captions are among them; and humans, where images have several references.
    """
    found: dict[str, dict[str, Any]] = {}
    constant = constant_caption(captions)
    if constant:
        found["one constant caption"] = score_captions([constant] * len(references), references).to_dict()
        found["one constant caption"]["caption"] = constant
    if features is not None and train_features is not None and len(train_features):
        written = nearest_captions(features, train_features, captions, progress=progress)
        found["captions of the nearest images"] = score_captions(written, references).to_dict()
    humans = score_humans(references)
    if humans is not None:
        found["one human against the others"] = humans
    return found


@dataclass(frozen=True)
class NgramVectors:
    """Captions as vectors of CIDEr's weights, those of 1 to 4 words each of length 1: a product is four cosines' sum."""

    first: Array  # (C + 1,) where each caption begins in the next two
    ngrams: Array  # numbers of its n-grams
    weights: Array
    lengths: Array  # (C,) in words
    size: int  # G

    @classmethod
    def of(cls, captions: Captions) -> "NgramVectors":
        """Return the vectors of every caption of every image."""
        words = [[tokenise(text) for text in of_image] for of_image in captions]
        cider, numbers = CiderD(words), dict[Any, int]()
        first, ngrams, weights, lengths = [0], list[int](), list[float](), list[int]()
        for tokens in chain.from_iterable(words):
            values = {ngram: count * cider.weight[ngram] for ngram, count in count_ngrams(tokens).items()}
            squares = [1e-12] * 5
            for ngram, value in values.items():
                squares[len(ngram)] += value * value
            norms = np.sqrt(squares)
            for ngram, value in values.items():
                ngrams.append(numbers.setdefault(ngram, len(numbers)))
                weights.append(value / norms[len(ngram)])
            first.append(len(ngrams))
            lengths.append(len(tokens))
        return cls(
            np.array(first),
            np.array(ngrams, dtype=np.int64),
            np.array(weights, dtype=np.float32),
            np.array(lengths),
            len(numbers),
        )

    def agreement(self, numbers: Array) -> Array:
        """Return how well each of some captions agrees with the others of them: CIDEr's likeness, less by length."""
        begins, sizes = self.first[numbers], self.first[numbers + 1] - self.first[numbers]
        rows = np.repeat(np.arange(len(numbers)), sizes)
        places = np.arange(len(rows)) + np.repeat(begins - np.cumsum(sizes) + sizes, sizes)
        used, columns = np.unique(self.ngrams[places], return_inverse=True)
        dense = np.zeros((len(numbers), len(used)), dtype=np.float32)
        dense[rows, columns] = self.weights[places]
        lengths = self.lengths[numbers]
        likeness = (dense @ dense.T) * np.exp(-((lengths[:, None] - lengths) ** 2) / (2 * SIGMA**2))
        np.fill_diagonal(likeness, 0.0)
        return np.asarray(likeness.sum(axis=1))


def _unit(vectors: Array) -> Array:
    """Return vectors (N, D) of length 1."""
    wide = np.asarray(vectors, dtype=np.float32)
    return np.asarray(wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-12))


def _spread(count: int, most: int) -> Array:
    """Return at most so many numbers below count, evenly spread."""
    return np.arange(count) if count <= most else np.arange(most) * count // most
