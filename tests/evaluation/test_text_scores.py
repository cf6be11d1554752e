"""Scores of text: sacreBLEU's own numbers, exact match, buckets of source length."""

import pytest
import sacrebleu

from jumok.evaluation.text import mean_scores, score_by_length, score_texts, tokenization

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


LANGUAGES = {
    "de": ["Ein Hund läuft über die Straße.", "Übung macht den Meister."],
    "en": ["A dog runs (in Seoul, 서울)."],
    "fr": ["Où est-il allé cet été ?", "L’œuvre est achevée."],
    "ko": ["개가 공원에서 뛰고 있어요.", "저는 BTS의 새 CD를 샀어요."],
    "ja": ["犬が公園を走っています。", "東京へ行きます。"],
    "zh": ["一只狗在公园里跑。", "我爱北京。"],
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_how_bleu_cuts_a_language(language):
    references = LANGUAGES[language]
    wanted = "char" if language in ("ko", "ja", "zh") else "13a"
    assert tokenization(references) == tokenization([], language) == tokenization([], f"{language}-XX") == wanted
    assert f"tok:{wanted}" in score_texts(references, references).bleu_signature


def test_a_language_that_is_known_decides_whatever_the_letters():
    assert tokenization(LANGUAGES["en"], "ko") == "char"
    assert tokenization(LANGUAGES["ko"], "en") == "13a"
    assert tokenization(["2026-11-16", "…"]) == tokenization([]) == "13a"


def test_korean_that_differs_in_an_ending_scores_by_its_characters():
    """By words nothing agrees, as every word carries its ending."""
    written, references = ["나는 학교에 갔어요"], ["나는 학교로 갔습니다"]
    scores = score_texts(written, references)
    assert scores.bleu == pytest.approx(sacrebleu.corpus_bleu(written, [references], tokenize="char").score)
    assert scores.bleu > score_texts(written, references, tokenize="13a").bleu


def test_buckets_are_all_cut_alike():
    texts = ["개가 공원에서 뛰고 있어요", "a b c d e", "저는 학교에 갔습니다 그리고 밥을 먹었습니다", "f g h i j"]
    by_character = score_by_length(texts, texts, [1, 2, 3, 4], buckets=4)
    assert [bucket.bleu for bucket in by_character] == pytest.approx([100.0] * 4)
    written = ["개가 공원으로 뛰고 있어요", *texts[1:]]
    found = score_by_length(written, texts, [1, 2, 3, 4], buckets=4)[0].bleu
    assert found == pytest.approx(score_texts(written[:1], texts[:1], tokenize="char").bleu)


def test_several_languages_are_scored_each_by_itself():
    written, references = (
        ["개가 뛰어요", "A dog runs fast now", "개가 자요"],
        ["개가 뛴다", "A dog runs fast now", "개가 잔다"],
    )
    scores = mean_scores(written, references, ["ko", "en", "ko"])
    korean = score_texts(written[::2], references[::2], tokenize="char")
    english = score_texts(written[1:2], references[1:2], tokenize="13a")
    for key in ("bleu", "chrf", "exact_match"):
        assert scores[key] == pytest.approx((2 * getattr(korean, key) + getattr(english, key)) / 3)
    assert (scores["bleu_ko"], scores["bleu_en"]) == (korean.bleu, english.bleu)
    alone = score_texts(WRITTEN, REFERENCES)
    assert mean_scores(WRITTEN, REFERENCES) == {key: getattr(alone, key) for key in ("bleu", "chrf", "exact_match")}


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
