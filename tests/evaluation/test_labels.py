"""Scores of classes against a plain count, whatever the classes are called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.evaluation.labels import score_labels

CLASSES = 5
pairs = st.lists(st.tuples(st.integers(0, CLASSES - 1), st.integers(0, CLASSES - 1)), min_size=1, max_size=40)


def counted_f1(named, wanted, label):
    """Return the harmonic mean of precision and recall, in per cent."""
    both = sum(said == label == true for said, true in zip(named, wanted, strict=True))
    if not both:
        return 0.0
    precision, recall = both / named.count(label), both / wanted.count(label)
    return 100 * 2 * precision * recall / (precision + recall)


def test_a_table_computed_by_hand():
    """Class 0: 2 of 3 found, 2 of 3 named rightly; class 1: 1 of 2 and 1 of 2; class 2: 1 of 1 and 1 of 1."""
    scores = score_labels(named=[0, 0, 1, 0, 1, 2], wanted=[0, 0, 0, 1, 1, 2], classes=4)
    assert scores.confusion == [[2, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    assert scores.examples == 6
    assert scores.accuracy == pytest.approx(100 * 4 / 6)
    assert scores.f1 == pytest.approx([200 / 3, 50, 100, 0])
    assert scores.macro_f1 == pytest.approx((200 / 3 + 50 + 100) / 3)  # the class that never occurs does not count


@given(pairs)
def test_scores_equal_a_plain_count(pairs):
    named, wanted = map(list, zip(*pairs, strict=True))
    scores = score_labels(named, wanted, CLASSES)
    assert scores.examples == len(pairs)
    assert scores.accuracy == pytest.approx(100 * sum(said == true for said, true in pairs) / len(pairs))
    assert scores.confusion == [[pairs.count((said, true)) for said in range(CLASSES)] for true in range(CLASSES)]
    assert scores.f1 == pytest.approx([counted_f1(named, wanted, label) for label in range(CLASSES)])
    present = sorted({*named, *wanted})
    assert scores.macro_f1 == pytest.approx(sum(counted_f1(named, wanted, label) for label in present) / len(present))


@given(pairs, st.permutations(range(CLASSES)), st.randoms(use_true_random=False))
def test_neither_the_order_of_examples_nor_of_classes_matters(pairs, renamed, chance):
    scores = score_labels(*zip(*pairs, strict=True), CLASSES)
    mixed = [(renamed[said], renamed[true]) for said, true in pairs]
    chance.shuffle(mixed)
    other = score_labels(*zip(*mixed, strict=True), CLASSES)
    assert other.accuracy == pytest.approx(scores.accuracy)
    assert other.macro_f1 == pytest.approx(scores.macro_f1)
    assert [other.f1[renamed[label]] for label in range(CLASSES)] == pytest.approx(scores.f1)


@given(st.lists(st.integers(0, CLASSES - 1), min_size=1, max_size=20))
def test_all_right_is_a_hundred_and_all_wrong_nothing(wanted):
    right = score_labels(wanted, wanted, CLASSES)
    assert right.accuracy == right.macro_f1 == 100
    wrong = score_labels([(label + 1) % CLASSES for label in wanted], wanted, CLASSES)
    assert wrong.accuracy == wrong.macro_f1 == 0


def test_always_the_commonest_class_has_accuracy_but_little_macro_f1():
    scores = score_labels([0] * 10, [0] * 9 + [1], 2)
    assert scores.accuracy == pytest.approx(90)
    assert scores.macro_f1 == pytest.approx(100 * (18 / 19) / 2)


def test_without_examples_every_score_is_nothing():
    scores = score_labels([], [], 3)
    assert (scores.examples, scores.accuracy, scores.macro_f1, scores.f1) == (0, 0.0, 0.0, [0.0] * 3)
