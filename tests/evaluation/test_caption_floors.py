"""Floors of captions: the consensus is CIDEr-D's, the nearest are the nearest, humans never see themselves."""

import numpy as np
import pytest

from jumok.evaluation.caption_floors import NgramVectors, constant_caption, floors, nearest_captions, score_humans
from jumok.evaluation.captions import CiderD, score_captions, tokenise

DOGS = [
    ["a dog runs over grass", "one brown dog runs", "a dog runs over some grass ."],
    ["a dog runs", "the dog jumps high"],
]
MEN = [["two men sit on stones", "two men are talking"], ["two men sit", "men on two stones sit"], ["two old men sit on stones"]]  # fmt: skip
TRAIN = [*DOGS, *MEN]


def test_agreement_is_the_sum_of_cider_d_with_the_others():
    texts = [text for of_image in TRAIN for text in of_image]
    words = [tokenise(text) for text in texts]  # none has a word twice: nothing is clipped
    cider = CiderD([[tokenise(text) for text in of_image] for of_image in TRAIN])
    numbers = np.array([8, 0, 2, 5, 3])
    wanted = [
        sum(cider.score(words[one], cider.prepare([words[other]])) for other in numbers if other != one)
        for one in numbers
    ]
    np.testing.assert_allclose(NgramVectors.of(TRAIN).agreement(numbers) * 10 / 4, wanted, rtol=1e-5, atol=1e-6)


def test_the_constant_caption_is_of_what_is_most_common():
    assert constant_caption([*MEN * 5, *DOGS]) in {" ".join(tokenise(text)) for texts in MEN for text in texts}
    assert "dog" in constant_caption([*MEN, *DOGS * 5])
    assert constant_caption([]) == constant_caption([[]]) == ""


def test_captions_are_those_of_the_nearest_images():
    known = np.array([[1.0, 0.1], [0.9, 0.0], [0.0, 1.0], [0.1, 2.0], [0.0, 0.3]])
    told = []
    written = nearest_captions(
        np.array([[5.0, 0.0], [0.1, 7.0]]), known.astype(np.float16), TRAIN, neighbours=2, progress=told.append
    )
    assert "dog" in written[0]
    assert "men" in written[1]
    assert told == [1, 1]
    everyone = nearest_captions(known, known, TRAIN, neighbours=99)  # more neighbours than there are images
    assert len(set(everyone)) == 1


def test_humans_are_scored_against_the_others():
    humans = score_humans([*DOGS, ["one reference alone"]])
    first = score_captions([texts[0] for texts in DOGS], [texts[1:] for texts in DOGS])
    second = score_captions([texts[1] for texts in DOGS], [[DOGS[0][0], DOGS[0][2]], [DOGS[1][0]]])
    third = score_captions([DOGS[0][2], DOGS[1][0]], [DOGS[0][:2], [DOGS[1][1]]])
    assert humans["images"] == 2
    for name in ("bleu1", "bleu4", "cider_d", "rouge_l"):
        assert humans[name] == pytest.approx(np.mean([getattr(scores, name) for scores in (first, second, third)]))
    assert score_humans([["one"], ["two"]]) is None


def test_floors_are_those_that_the_data_allows():
    alone = [["a dog runs"], ["two men sit"]]
    assert list(floors(alone, TRAIN)) == ["one constant caption"]
    assert floors(alone, []) == {}
    known = np.eye(5)
    every = floors(DOGS, TRAIN, features=known[:2], train_features=known)
    assert list(every) == ["one constant caption", "captions of the nearest images", "one human against the others"]
    assert every["one constant caption"]["distinct"] == 1
