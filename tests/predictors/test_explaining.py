"""Explanations: how sure, what else, in words, and what if something were left out."""

import copy
import math

import pytest
import torch
from cli.conftest import babble_run, copy_run  # noqa: F401 - fixtures
from torch.testing import assert_close

import jumok
from jumok.config import DecodingConfig, TokenizerConfig
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import ConfigError

CROSS = "decoder.layers.0.cross"


@pytest.fixture(scope="module")
def predictor(copy_run):  # noqa: F811
    return jumok.load(copy_run)


@pytest.fixture(scope="module")
def babbler(babble_run):  # noqa: F811
    return jumok.load(babble_run)


def test_probabilities_of_tokens_make_up_the_score(predictor, babbler):
    for model in (predictor, babbler):
        found = model.explain("a b c d", options=DecodingConfig(beam=3, n_best=3, max_length=20))
        count = len(found.answer.ids) + found.answer.finished
        total = sum(math.log(choice.probability) for choice in found.choices[:count])
        assert total == pytest.approx(found.answer.log_probability, abs=1e-3)
        assert [choice.token for choice in found.choices] == [*found.answer.tokens, "[END]"]
        for choice in found.choices:
            shares = [share for _, share in choice.rivals]
            assert len(shares) == 5
            assert shares == sorted(shares, reverse=True)
            assert choice.token not in [name for name, _ in choice.rivals]
            assert choice.probability + sum(shares) <= 1.0 + 1e-5
        assert len(found.others) == 2
        assert found.answer.score >= found.others[0].score >= found.others[1].score


def test_an_answer_of_a_beam_is_seen_as_when_it_is_given(predictor, babbler):
    found = predictor.explain("a b c d", options=DecodingConfig(beam=5))
    given = predictor.explain("a b c d", target=found.answer.text)
    for one, other in zip(found.record.maps, given.record.maps, strict=True):
        assert_close(one.weights, other.weights)
    assert given.answer.log_probability == pytest.approx(found.answer.log_probability, abs=1e-4)
    forced = babbler.explain("a b", target="k c a")
    assert forced.answer.log_probability == pytest.approx(sum(math.log(c.probability) for c in forced.choices))
    assert forced.answer.score == pytest.approx(forced.answer.log_probability / len(forced.choices))


def test_words_of_a_tokenizer():
    texts = ["low lower lowest newest widest"] * 20
    for kind in ("bpe", "byte", "unigram", "wordpiece", "word", "character"):
        tokenizer = Tokenizer.train(texts, TokenizerConfig(kind=kind, vocabulary=280 if kind == "bpe" else 24))
        ids = tokenizer.encode(["low lowest newest"])[0]
        words = tokenizer.words(ids)
        pieces = ["".join(label for label, word in zip(tokenizer.labels(ids), words, strict=True) if word == w) for w in range(words[-1] + 1)]  # fmt: skip
        assert [piece.strip("▁").replace("##", "") for piece in pieces] == ["low", "lowest", "newest"], kind
    assert tokenizer.words([]) == []


def test_in_words_every_row_still_sums_to_one(babbler):
    found = babbler.explain("one two three", target="four five")
    words = found.in_words()
    assert words.source == ["one", "two", "three"]
    for whole, pieces in zip(words.record.maps, found.record.maps, strict=True):
        assert_close(whole.weights.sum(dim=-1), torch.ones(whole.weights.shape[:2]))
        queries, keys = whole.weights.shape[1:]
        assert (len(whole.queries), len(whole.keys)) == (queries, keys)
        if whole.kind == "cross":
            assert whole.queries == ("four", "five", "[END]")
            assert whole.keys == ("one", "two", "three", "[END]")
            first = found.source_words.count(0)
            looks = found.output.words.count(0)
            expected = pieces.weights[:, :looks, :first].sum(dim=-1).mean(dim=-1)
            assert_close(whole.weights[:, 0, 0], expected)
        if whole.kind == "decoder":
            assert whole.keys == ("[START]", "four", "five")


def test_a_head_that_is_off_adds_nothing(predictor):
    """The same as a model whose output projection forgets the head."""
    found = predictor.explain("k c a", target="k c a", without_heads=[(CROSS, 1)])
    other = copy.deepcopy(predictor)
    cross = other.model.get_submodule(CROSS)
    with torch.no_grad():
        cross.output.weight[:, cross.value_width : 2 * cross.value_width] = 0.0
    assert found.answer.log_probability == pytest.approx(other.explain("k c a", target="k c a").answer.log_probability)
    cross_map = found.record.of_kind("cross")[0].weights
    assert not cross_map[1].any()
    assert_close(cross_map[0].sum(dim=-1), torch.ones(4))


def test_with_all_heads_on_the_source_off_the_source_does_not_matter(predictor):
    off = [(CROSS, head) for head in range(2)]
    one = predictor.explain("k c a", without_heads=off)
    other = predictor.explain("m n o", without_heads=off)
    assert one.answer.text == other.answer.text != "k c a"
    assert one.answer.log_probability == pytest.approx(other.answer.log_probability, abs=1e-5)


def test_a_hidden_token_is_not_looked_at_and_not_copied(predictor):
    found = predictor.explain("k c a z", without_tokens=[2])
    for seen in found.record.maps:
        if seen.kind != "decoder":
            assert not seen.weights[..., 2].any()
            assert_close(seen.weights.sum(dim=-1), torch.ones(seen.weights.shape[:2]))
    assert found.answer.text != "k c a z"
    plain, swapped = (predictor.explain(t, target="k c a z", without_tokens=[2]).answer for t in ("k c a z", "k c m z"))
    assert plain.log_probability == pytest.approx(swapped.log_probability, abs=1e-5), "what is hidden cannot matter"


def test_without_positions_order_is_lost(predictor):
    one, other = (
        predictor.explain(text, target="k c a", without_positions=True).answer.log_probability
        for text in ("k c a", "a k c")
    )
    assert one == pytest.approx(other, abs=1e-4)
    assert predictor.explain("k c a", target="k c a").answer.log_probability > one + 1


def test_the_worth_of_heads(predictor):
    explanation, worth = predictor.importance("k c a z")
    assert explanation.answer.text == "k c a z"
    assert len(worth) == sum(len(found.weights) for found in explanation.record.maps)
    assert [head.lost for head in worth] == sorted((head.lost for head in worth), reverse=True)
    dearest = worth[0]
    without = predictor.explain("k c a z", target="k c a z", without_heads=[(dearest.path, dearest.head)])
    assert explanation.answer.log_probability - without.answer.log_probability == pytest.approx(dearest.lost, abs=1e-3)
    assert 0 <= dearest.strongest <= 1


def test_what_is_not_there_cannot_be_switched_off(predictor):
    with pytest.raises(
        ConfigError, match=r"there is no attention layer 'cross'; there are encoder\.layers\.0\.attention"
    ):
        predictor.explain("k", without_heads=[("cross", 0)])
    with pytest.raises(ConfigError, match=f"{CROSS} has 2 heads, counted from 0; there is no head 2"):
        predictor.explain("k", without_heads=[(CROSS, 2)])
