"""The n-gram baseline learns what words tell, from train alone, and the same each time."""

import random
import sys

import numpy as np
import pytest

from jumok.config import LabelledData, TokenizerConfig
from jumok.data.text.labelled import LabelledCorpora
from jumok.errors import MissingExtraError
from jumok.evaluation.ngrams import fit_ngrams, majority_class
from jumok.predictors.text_classifier import TextClassifier
from jumok.tasks.text_classification import TextClassification

MOODS = {0: ["awful", "poor", "bad"], 1: ["lovely", "great", "superb"]}


def reviews(count, seed):
    """Return texts whose class is told by one word, and the classes; two in three are of class 0."""
    chance = random.Random(seed)
    classes = [int(chance.random() < 1 / 3) for _ in range(count)]
    texts = [f"the {chance.choice(['film', 'play', 'book'])} was {chance.choice(MOODS[label])}" for label in classes]
    return texts, classes


def share_right(model, texts, classes):
    return float(np.mean(model.predict(texts) == np.array(classes)))


def test_what_one_word_tells_is_learnt():
    model, (texts, classes) = fit_ngrams(*reviews(60, 1)), reviews(90, 2)
    common = majority_class(reviews(60, 1)[1])
    assert common == 0
    assert share_right(model, texts, classes) == 1.0 > classes.count(common) / len(classes)


def test_pairs_of_words_and_parts_of_words_are_seen():
    """Here no single word tells the class: only which two stand side by side, or how a word ends."""
    pairs = ["not good at all", "good at all not", "all at good not", "at all not good"] * 6
    model = fit_ngrams(pairs, [0, 1, 1, 0] * 6)
    assert share_right(model, pairs, [0, 1, 1, 0] * 6) == 1.0
    ends = fit_ngrams(["walking", "walked", "talking", "talked", "baking", "baked"] * 3, [0, 1] * 9)
    assert ends.predict(["jumping", "jumped"]).tolist() == [0, 1]


def test_more_than_two_classes_and_letters_of_any_script():
    texts, classes = ["재미있어요", "지루해요", "그저 그래요"] * 5, [0, 1, 2] * 5
    model = fit_ngrams(texts, classes)
    assert model.predict(["정말 재미있네", "너무 지루하다", "그저 그렇다"]).tolist() == [0, 1, 2]
    assert len(model.predict(["", "?"])) == 2  # nothing known of them: still a class


def test_the_same_each_time_and_learnt_from_nothing_but_train():
    texts, classes = reviews(60, 1)
    unseen = reviews(40, 3)[0]
    first, second = (fit_ngrams(list(texts), list(classes)).predict_proba(unseen) for _ in range(2))
    assert np.array_equal(first, second)
    flipped = fit_ngrams(texts, [1 - label for label in classes]).predict_proba(unseen)
    np.testing.assert_allclose(flipped[:, ::-1], first, atol=1e-2)


def test_rare_pieces_count_in_small_data_and_not_in_large():
    def known(repeats):
        texts = [f"{word} {number % 50}" for number in range(repeats) for word in ("good", "bad")]
        model = fit_ngrams([*texts, "zyzzyva"], [*([1, 0] * repeats), 0])
        return "zyzzyva" in model[0].transformer_list[0][1].vocabulary_

    assert known(20)
    assert not known(1100)


def test_one_class_alone_is_always_said():
    """A small data.limit may draw examples of one class only."""
    assert fit_ngrams(["a", "b"], [1, 1]).predict(["c", "a"]).tolist() == [1, 1]


def test_the_commonest_class_is_the_first_of_equals():
    assert majority_class([2, 1, 2, 0]) == 2
    assert majority_class([1, 0]) == 0


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    for name in [name for name in sys.modules if name.startswith("sklearn.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtraError, match=r"jumok\[baseline\]"):
        fit_ngrams(["a", "b"], [0, 1])


# --- beside a classifier's scores


def classifier(folder, **files):
    """Return a classifier without a run and a model: baselines need only the data."""
    for name, rows in files.items():
        lines = ["\t".join(row) for row in rows]
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    table = {"second": 1, "label": 2}
    data = LabelledData(
        train=[{"file": "train.tsv"} | table],
        val=[{"file": f"{name}.tsv"} | table for name in files if name != "train"],
    )
    corpora = LabelledCorpora(data, TokenizerConfig(vocabulary=270), [folder])
    return TextClassifier(None, TextClassification(None, corpora), None)


def baselines(made):
    return {name: made.baselines(store) for name, store in made.task.open_split("val").items()}


def rows_of(count, seed, *, flipped=False, second=""):
    texts, classes = reviews(count, seed)
    return [(text, second, "no" if label == flipped else "yes") for text, label in zip(texts, classes, strict=True)]


def test_the_labels_of_val_change_its_score_and_not_the_baseline(tmp_path):
    made = classifier(tmp_path, train=rows_of(60, 1), val=rows_of(40, 2), flipped=rows_of(40, 2, flipped=True))
    scores = baselines(made)
    assert scores["val.tsv"]["n-grams"] == 100.0
    assert scores["flipped.tsv"]["n-grams"] == 0.0
    assert scores["val.tsv"]["majority"] == pytest.approx(100 - scores["flipped.tsv"]["majority"])
    assert 50 < scores["val.tsv"]["majority"] < 100
    assert baselines(made) == scores  # from the cache


def test_second_texts_belong_to_what_is_scored(tmp_path):
    """Equal first texts and classes, but only the second texts tell."""
    rows = [(text, "", label) for text, _, label in rows_of(20, 5)]
    told = [("the same", {"no": "awful", "yes": "lovely"}[label], label) for _, _, label in rows]
    swapped = [("the same", {"no": "lovely", "yes": "awful"}[label], label) for _, _, label in rows]
    made = classifier(tmp_path, train=told, told=told, swapped=swapped)
    scores = baselines(made)
    assert scores["told.tsv"]["n-grams"] == 100.0
    assert scores["swapped.tsv"]["n-grams"] == 0.0
