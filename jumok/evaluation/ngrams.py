"""The baseline a text classifier must beat: logistic regression over counted n-grams (scikit-learn, the extra `baseline`).

texts → tf-idf of words and word pairs, and of 1 to 4 characters inside words → logistic regression → classes
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jumok.errors import MissingExtraError


def fit_ngrams(texts: Sequence[str], classes: Sequence[int]) -> Any:
    """Return a classifier of n-grams learnt from texts; its predict takes texts."""
    try:
        from sklearn.dummy import DummyClassifier
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline, make_union
    except ImportError:
        raise MissingExtraError("scikit-learn", "baseline", "The n-gram baseline") from None
    common = {"sublinear_tf": True, "min_df": 2 if len(texts) > 2000 else 1, "dtype": np.float32}
    features = make_union(
        TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"(?u)\S+", **common),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 4), **common),
    )
    learner = LogisticRegression(C=3.0, max_iter=200) if len(set(classes)) > 1 else DummyClassifier()
    return make_pipeline(features, learner).fit(texts, classes)


def majority_class(classes: Sequence[int]) -> int:
    """Return the commonest class."""
    return int(np.bincount(np.asarray(classes)).argmax())
