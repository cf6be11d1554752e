"""A loaded model: one text = many, search score = rescoring, stream = greedy, explain = what really happened."""

import math
from functools import partial
from itertools import product

import numpy as np
import pytest
import torch
from cli.conftest import babble_run, copy_run  # noqa: F401 - fixtures

import jumok
from jumok.config import DecodingConfig
from jumok.decoding import search as searching
from jumok.errors import ConfigError, RunError
from jumok.models import text_decoder
from jumok.native.build import kernels, matrix_product
from jumok.predictors.cutting import longest_beginning
from jumok.tasks.pairs import collate

TEXTS = ["a b c", "k", "", "q w e r t y u i o p a s", "z z z"]


@pytest.fixture(scope="module")
def predictor(copy_run):  # noqa: F811
    return jumok.load(copy_run)


@pytest.fixture(scope="module")
def babbler(babble_run):  # noqa: F811
    return jumok.load(babble_run)


def test_one_text_is_a_list_of_one(predictor):
    assert [predictor.translate("a b c")] == predictor.translate(["a b c"]) == ["a b c"]
    assert predictor.translate([]) == []


@pytest.mark.parametrize("beam", [1, 4])
def test_many_texts_are_translated_as_each_alone(predictor, babbler, beam):
    for model in (predictor, babbler):
        assert model.translate(TEXTS, beam=beam) == [model.translate(text, beam=beam) for text in TEXTS]


@pytest.mark.parametrize("beam", [1, 3])
def test_the_score_of_an_answer_is_what_the_model_gives_it(predictor, babbler, beam):
    """Search and a plain forward pass over the answer agree."""
    for model in (predictor, babbler):
        options = DecodingConfig(beam=beam, n_best=beam, length_penalty=0.7)
        answers = model.answers(["a b c d", "k k"], options=options)
        for text, found in zip(["a b c d", "k k"], answers, strict=True):
            for answer in found:
                ids = np.asarray(answer.ids, dtype=np.int64)
                batch = collate([(model.read([text])[0], ids)])
                with torch.inference_mode():
                    log_probabilities = model.model(batch).log_softmax(dim=-1)[0]
                each = log_probabilities.gather(1, batch.targets[0][:, None])[:, 0]
                length = len(ids) + int(answer.finished)
                total = float(each[:length].sum())
                assert answer.log_probability == pytest.approx(total, abs=1e-3)
                assert answer.score == pytest.approx(total / length**0.7, abs=1e-3)


@pytest.mark.skipif(kernels() is None or not matrix_product(), reason="no C compiler, or a torch without sgemm")
@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("rows", [1, 2, 64])
def test_a_search_by_itself_is_step_by_step(predictor, babbler, rows, beam, monkeypatch):
    """Prefixes, refilled batches, answers that end at different places and answers that are cut."""
    calls, real = [], text_decoder.search_on
    monkeypatch.setattr(text_decoder, "search_on", lambda *given: calls.append(real(*given)) or calls[-1])
    options = DecodingConfig(beam=beam, n_best=beam, batch_size=rows, workers=1)
    for model, prefixes in product((predictor, babbler), (None, ["", "k", "", "q w", "z"])):
        calls.clear()
        monkeypatch.setattr(searching, "AT_ONCE", 16)
        whole = model.answers(TEXTS, options=options, prefixes=prefixes)
        assert calls
        monkeypatch.setattr(searching, "AT_ONCE", 1)
        before = len(calls)
        steps = model.answers(TEXTS, options=options, prefixes=prefixes)
        assert len(calls) == before
        assert [[a.ids for a in found] for found in whole] == [[a.ids for a in found] for found in steps]
        for one, other in zip(whole, steps, strict=True):
            assert [a.score for a in one] == pytest.approx([a.score for a in other], abs=1e-4)
    assert [found[0].text for found in predictor.answers(TEXTS, options=options)] == TEXTS


@pytest.mark.parametrize("beam", [1, 3])
def test_processes_that_share_the_sentences_change_nothing(predictor, babbler, beam):
    letters = "abcdefghijklmnopqrstuvwxyz"
    texts = [" ".join(letters[number % 20 : number % 20 + 1 + number % 7]) for number in range(70)] + [""]
    for model in (predictor, babbler):
        alone, shared = (
            model.answers(texts, options=DecodingConfig(beam=beam, n_best=beam, workers=workers, batch_size=9))
            for workers in (1, 3)
        )
        assert [[a.ids for a in found] for found in shared] == [[a.ids for a in found] for found in alone]
        for one, other in zip(alone, shared, strict=True):
            assert [a.score for a in other] == pytest.approx([a.score for a in one], abs=1e-4)


def test_n_best_come_best_first_and_differ(predictor):
    found = predictor.answers("a b c", options=DecodingConfig(beam=5, n_best=5))
    assert len({tuple(answer.ids) for answer in found}) == 5
    assert [answer.score for answer in found] == sorted((answer.score for answer in found), reverse=True)


@pytest.mark.parametrize("text", TEXTS)
def test_a_stream_is_the_greedy_answer_in_pieces(predictor, babbler, text):
    for model in (predictor, babbler):
        pieces = list(model.stream(text))
        assert "".join(pieces) == model.translate(text, beam=1)
    assert len(list(predictor.stream("a b c"))) == 3


def test_a_prefix_each(predictor):
    found = predictor.translate(["a b", "", "c d"], prefixes=["x", "ignored", "y z"])
    assert found[0].startswith("x")
    assert found[1] == ""
    assert found[2].startswith("y z")


def test_progress_counts_real_sentences(predictor):
    seen = []
    predictor.translate(TEXTS, progress=seen.append)
    assert sum(seen) == 4


def test_an_impossible_beam_is_a_sentence(predictor):
    with pytest.raises(ConfigError, match=r"decoding\.beam = 0: must be at least 1"):
        predictor.translate("a", beam=0)


def test_no_run_is_a_sentence(tmp_path):
    with pytest.raises(RunError, match="there is no run folder"):
        jumok.load(tmp_path / "none")


# --- texts that are too long


def read_with_warnings(predictor, text):
    warnings = []
    return predictor.read([text], warn=warnings.append)[0], warnings


def test_what_fits_is_not_touched(predictor):
    text = " ".join("abcdefghijklm" * 3)  # 39 words and the end: exactly 40
    ids, warnings = read_with_warnings(predictor, text)
    assert (len(ids), warnings) == (39, [])
    ids, warnings = read_with_warnings(predictor, text + " n")
    assert (len(ids), len(warnings)) == (39, 1)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("a b c d e f g h i j k l m n o p q r s t u v w x. y z " + "a " * 40, "w x."),
        ("a " * 25 + "b! " + "c " * 40, "a b!"),
        ("a " * 25 + "3.5 " + "c " * 40, "c c"),  # a point inside a number ends nothing
        ("a " * 25 + "가。나 " + "c " * 40, "a 가。"),
        ("a. " + "c " * 90, "c c"),  # a sentence, but too little of the text: a word is the better place
    ],
)
def test_a_long_text_is_cut_at_the_last_sentence_or_word(predictor, text, end):
    kept = longest_beginning(text.strip(), partial(predictor._fits, ""))
    assert kept.endswith(end)
    assert text.startswith(kept)
    assert len(kept) > 20
    ids, warnings = read_with_warnings(predictor, text)
    assert 0 < len(ids) < predictor.longest_source
    assert len(warnings) == 1
    assert warnings[0].line == 1
    assert repr(kept[-40:]) in warnings[0].text


def test_a_cut_keeps_as_much_as_fits(predictor):
    text = " ".join("abcdefghij" * 9)
    assert len(predictor.read([text])[0]) == predictor.longest_source - 1


def test_a_text_of_one_word_is_cut_inside_it(babbler):
    for text in ("x" * 1000, "가" * 300, "🦊" * 300):
        ids, warnings = read_with_warnings(babbler, text)
        assert 50 < len(ids) < babbler.longest_source == 64
        assert len(warnings) == 1
        assert babbler.task.source_tokenizer.decode(ids) == text[: len(babbler.task.source_tokenizer.decode(ids))]


def test_answers_of_a_learned_table_stay_inside_it(babbler):
    options = DecodingConfig(beam=1, max_length=500, min_length=400)
    answer = babbler.answers("1 2 3", options=options)[0]
    assert len(answer.ids) <= babbler.model.limit == 64
    assert not answer.finished
    assert len(babbler.explain("1 2 3", options=options).record.maps) == 3


# --- explain


@pytest.mark.parametrize("beam", [1, 4])
def test_the_record_has_labels_for_every_row_and_rows_sum_to_one(predictor, babbler, beam):
    for model in (predictor, babbler):
        found = model.explain("a b c d", options=model.options.model_copy(update={"beam": beam}))
        assert set(found.record.kinds) == {"encoder", "decoder", "cross"}
        source, written = [*found.source, "[END]"], [*found.answer.tokens, "[END]"]
        expected = {
            "encoder": (source, source),
            "decoder": (written, ["[START]", *found.answer.tokens]),
            "cross": (written, source),
        }
        for attention in found.record.maps:
            queries, keys = expected[attention.kind]
            assert (list(attention.queries), list(attention.keys)) == (queries, keys)
            assert attention.weights.shape == (2, len(queries), len(keys))
            torch.testing.assert_close(attention.weights.sum(dim=-1), torch.ones(2, len(queries)))
            if attention.kind == "decoder":
                assert float(attention.weights.triu(diagonal=1).abs().max()) == 0.0


def test_what_is_explained_is_the_answer(predictor):
    found = predictor.explain("k c a")
    assert found.answer.text == predictor.translate("k c a") == "k c a"
    assert found.source == found.answer.tokens == ["▁k", "▁c", "▁a"]


def test_a_copy_looks_at_what_it_copies(predictor):
    cross = predictor.explain("k c a z m").record.of_kind("cross")[0].weights.mean(dim=0)
    assert cross.argmax(dim=1).tolist() == list(range(6))


def test_another_target_can_be_looked_at(predictor):
    found = predictor.explain("k c a", target="x  y")
    assert found.answer.tokens == ["▁x", "▁y"]
    assert found.record.of_kind("cross")[0].weights.shape == (2, 3, 4)
    assert len(predictor.explain("k", target="").record.of_kind("cross")[0].queries) == 1


def test_looking_changes_nothing(predictor):
    before = predictor.answers(TEXTS)
    predictor.explain("a b c")
    assert predictor.answers(TEXTS) == before


def test_facts_about_the_model(predictor):
    facts = predictor.to_dict()
    assert facts["model"] == "transformer"
    assert facts["parameters"] == sum(math.prod(parameter.shape) for parameter in predictor.model.parameters())
