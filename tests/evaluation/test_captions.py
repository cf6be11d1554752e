"""Scores of captions: pycocoevalcap's to 1e-6, and what each promises."""

import importlib.util
import json
import random
from pathlib import Path

import numpy as np
import pytest

from jumok.errors import DataError
from jumok.evaluation.captions import (
    CiderD,
    bleu_counts,
    bleu_from_counts,
    longest_common_subsequence,
    rouge_l,
    score_captions,
    tokenise,
)

STORED = json.loads(Path(__file__).with_name("caption_scores.json").read_text(encoding="utf-8"))["corpora"]


def check_parity(scores, wanted):
    """Assert that our scores, times 100, are pycocoevalcap's."""
    found = [scores.bleu1, scores.bleu2, scores.bleu3, scores.bleu4]
    assert found == pytest.approx([100 * value for value in wanted["bleu"]], abs=1e-6)
    each = bleu_from_counts(np.array(scores.bleu_counts))
    np.testing.assert_allclose(each, np.array(wanted["bleu_each"]), atol=1e-8, rtol=0)
    for name in ("cider_d", "rouge_l"):
        assert getattr(scores, name) == pytest.approx(100 * wanted[name], abs=1e-6)
        expected = [100 * value for value in wanted[f"{name}_each"]]
        assert getattr(scores, f"{name}_each") == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", STORED)
def test_scores_are_pycocoevalcaps(name):
    stored = STORED[name]
    check_parity(score_captions(stored["hypotheses"], stored["references"]), stored)


@pytest.mark.slow
def test_scores_are_pycocoevalcaps_live():
    pytest.importorskip("pycocoevalcap.cider.cider")
    path = Path(__file__).parents[2] / "tools" / "caption_scores.py"
    spec = importlib.util.spec_from_file_location("caption_scores", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    for seed in range(7):
        written, wanted = tool.corpus(100 + seed, 211, (1, 5), odd=seed % 2 == 0)
        check_parity(score_captions(written, wanted), tool.scored(written, wanted))


def test_words_and_their_punctuation():
    text = "A man's dog, which isn't “old”, jumps (high)."
    words = ["a", "man", "'s", "dog", "which", "is", "n't", "old", "jumps", "high"]
    assert tokenise(text) == words
    assert tokenise("a man 's dog , which is n't \" old \" , jumps ( high ) .") == words  # cut already, as Flickr8k is
    assert tokenise("A dog .", punctuation=True) == tokenise("a dog.", punctuation=True) == ["a", "dog", "."]
    assert tokenise("a t-shirt at 5:30 ... --") == ["a", "t-shirt", "at", "5:30"]
    assert tokenise("웃는 얼굴!") == ["웃는", "얼굴"]
    assert tokenise(" \n") == tokenise("'") == []


def test_a_full_stop_at_every_end_raises_bleu():
    written, wanted = ["a dog runs .", "two men sit ."], [["a cat runs fast ."], ["two men stand ."]]
    dropped, kept = (score_captions(written, wanted, punctuation=choice) for choice in (False, True))
    assert kept.bleu1 > dropped.bleu1
    assert dropped.signature == "refs:1|case:lower|punctuation:dropped|tokeniser:words|as:pycocoevalcap-1.2"
    assert "punctuation:kept" in kept.signature


def test_one_caption_for_everything_is_seen():
    scores = score_captions(["a dog runs"] * 5, [["a dog runs", "dog"]] * 3 + [["a cat"]] * 2)
    assert (scores.images, scores.distinct, scores.vocabulary) == (5, 1, 3)
    assert scores.signature.startswith("refs:1-2|")
    assert "cider_d_each" not in scores.to_dict()


def test_cider_d_of_ids_is_that_of_words():
    stored = STORED["odd captions"]
    numbers: dict[str, int] = {}
    ids = [[numbers.setdefault(word, len(numbers)) for word in text.split()] for text in stored["hypotheses"]]
    wanted = [
        [[numbers.setdefault(word, len(numbers)) for word in text.split()] for text in texts]
        for texts in stored["references"]
    ]
    assert CiderD(wanted).scores(ids, wanted) == pytest.approx(stored["cider_d_each"], abs=1e-8)


def test_cider_d_is_largest_for_a_reference_and_does_not_pay_for_repeating():
    corpus = [[["a", "dog", "runs", "fast"]], [["a", "cat", "sits", "still"]], [["two", "men", "eat", "rice"]]]
    cider = CiderD(corpus)
    mine = cider.prepare(corpus[0])
    assert cider.score(corpus[0][0], mine) == pytest.approx(10.0)
    assert cider.score(["dog", "dog", "dog", "dog"], mine) < cider.score(["a", "dog", "sits", "still"], mine)
    assert cider.score([], mine) == cider.score(corpus[1][0][1:], mine) == 0.0


def test_the_longest_common_subsequence_is_that_of_the_table():
    generator = random.Random(3)
    for _ in range(50):
        first, second = ([generator.randrange(4) for _ in range(generator.randrange(12))] for _ in range(2))
        table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
        for i, a in enumerate(first):
            for j, b in enumerate(second):
                table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
        assert longest_common_subsequence(first, second) == table[-1][-1]


def test_bounds():
    words = ["a", "dog", "runs", "on", "grass"]
    assert rouge_l(words, [words, ["cat"]]) == pytest.approx(1.0)
    assert bleu_from_counts(np.array(bleu_counts(words, [words])))[3] == pytest.approx(1.0)
    assert rouge_l([], [words]) == 0.0
    nobody = score_captions([], [])
    assert (nobody.images, nobody.cider_d) == (0, 0.0)


def test_what_cannot_be_scored_is_said():
    with pytest.raises(DataError, match="2 captions and references of 1 images; give one for each"):
        score_captions(["a", "b"], [["a"]])
    with pytest.raises(DataError, match="image 2 has no reference; leave it out"):
        score_captions(["a", "b"], [["a"], []])
