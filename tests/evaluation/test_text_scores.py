"""Scores of text: sacreBLEU's own numbers, exact match, buckets of source length."""

import pytest
import sacrebleu

from jumok.evaluation.text import score_by_length, score_texts

REFERENCES = [
    "Ein Hund läuft über die Wiese.",
    "Zwei Männer stehen am Fluss.",
    "Eine Frau liest ein Buch im Garten.",
    "Ja.",
]
WRITTEN = ["Ein Hund läuft über die Straße.", "Zwei Männer stehen am Fluss.", "Eine Frau liest Buch im Garten.", "ja."]


def test_the_scores_are_sacrebleus():
    scores = score_texts(WRITTEN, REFERENCES)
    assert scores.bleu == pytest.approx(sacrebleu.corpus_bleu(WRITTEN, [REFERENCES]).score)
    assert scores.chrf == pytest.approx(sacrebleu.corpus_chrf(WRITTEN, [REFERENCES]).score)
    assert scores.sentences == 4
    assert 0 < scores.bleu < 100


def test_the_signature_says_cased_and_13a():
    scores = score_texts(WRITTEN, REFERENCES)
    assert "case:mixed" in scores.bleu_signature
    assert "tok:13a" in scores.bleu_signature
    assert f"version:{sacrebleu.__version__}" in scores.bleu_signature
    assert "nc:6" in scores.chrf_signature
    assert "tok:char" in score_texts(WRITTEN, REFERENCES, tokenize="char").bleu_signature


def test_exact_match_is_cased_and_forgives_outer_space_only():
    assert score_texts(WRITTEN, REFERENCES).exact_match == 25.0
    assert score_texts([" a b ", "A b", "a  b"], ["a b"] * 3).exact_match == pytest.approx(100 / 3)


def test_perfect_and_worthless():
    perfect = score_texts(REFERENCES, REFERENCES)
    assert (perfect.bleu, perfect.chrf, perfect.exact_match) == pytest.approx((100.0, 100.0, 100.0))
    worthless = score_texts([""] * 4, REFERENCES)
    assert (worthless.bleu, worthless.chrf, worthless.exact_match) == (0.0, 0.0, 0.0)


def test_unequal_numbers_are_a_mistake_of_ours():
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        score_texts(WRITTEN, REFERENCES[:-1])


@pytest.mark.parametrize("count", [1, 4, 5, 23])
def test_buckets_hold_each_sentence_once_from_short_to_long(count):
    lengths = [(number * 7) % 11 + 1 for number in range(count)]
    texts = [f"word {number}" for number in range(count)]
    found = score_by_length(texts, texts, lengths)
    assert len(found) == min(5, count)
    assert sum(bucket.sentences for bucket in found) == count
    assert max(bucket.sentences for bucket in found) - min(bucket.sentences for bucket in found) <= 1
    edges = [edge for bucket in found for edge in (bucket.shortest, bucket.longest)]
    assert edges == sorted(edges)
    assert (edges[0], edges[-1]) == (min(lengths), max(lengths))


def test_a_bucket_scores_its_own_sentences():
    lengths = [9, 1, 8, 2]
    found = score_by_length(
        ["wrong", "a b c d", "also wrong", "e f g h"], ["x", "a b c d", "y", "e f g h"], lengths, buckets=2
    )
    assert [(bucket.shortest, bucket.longest, bucket.exact_match) for bucket in found] == [(1, 2, 100.0), (8, 9, 0.0)]
    assert found[0].bleu == pytest.approx(100.0)
    assert found[1].bleu == 0.0
