"""Answers in bf16: near those in fp32, the same alone and among others, kept to the answering, and refused in a sentence."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from cli.conftest import babble_run, bert_run, classifier_run, copy_run, gpt_run  # noqa: F401 - fixtures

import jumok
from jumok.config import DecodingConfig
from jumok.decoding import native_weights
from jumok.decoding.native_step import NativeStep
from jumok.errors import ConfigError
from jumok.native.build import kernels, matrix_product
from jumok.native.kernels import packs_narrow
from jumok.nn.precision import narrow, weights_rest
from jumok.predictors import searching
from jumok.predictors.translator import Translator
from jumok.runs import loading
from jumok.runs.loading import LoadOptions
from jumok.runs.run import Run
from jumok.training import precision

TEXTS = ["a b c", "k", "q w e r t y u i o p a s", "z z z", "m n o p q"]


@pytest.fixture(autouse=True)
def any_processor(monkeypatch):
    """Torch multiplies in bf16 everywhere, if slowly."""
    monkeypatch.setattr(precision, "processor_flags", lambda: frozenset({"avx512_bf16"}))


@pytest.fixture(scope="module")
def wide(babble_run):  # noqa: F811
    return jumok.load(babble_run, precision="fp32")


def in_bf16(run):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(precision, "processor_flags", lambda: frozenset({"avx512_bf16"}))
        return jumok.load(run, precision="bf16")


@pytest.fixture(scope="module")
def narrowed(babble_run):  # noqa: F811
    return in_bf16(babble_run)


def best(predictor, texts, **options):
    return [(found[0].ids, found[0].score) for found in predictor.answers(texts, options=DecodingConfig(**options))]


@pytest.mark.parametrize("in_c", [True, False])
@pytest.mark.parametrize("beam", [1, 3])
def test_a_sentence_alone_is_the_sentence_among_others(narrowed, beam, in_c, monkeypatch):
    if not in_c:
        monkeypatch.setattr("jumok.decoding.native_weights.kernels", lambda: None)
    together = best(narrowed, TEXTS, beam=beam, workers=1)
    for text, (ids, score) in zip(TEXTS, together, strict=True):
        ((alone, own),) = best(narrowed, [text], beam=beam)
        assert alone == ids
        assert own == pytest.approx(score, abs=1e-6 if in_c and packs_narrow() else 1e-2)


def test_what_is_learnt_by_heart_is_said_in_bf16_too(copy_run):  # noqa: F811
    assert in_bf16(copy_run).translate(TEXTS) == TEXTS


def test_scores_are_near_those_of_fp32_and_others(wide, narrowed):
    one, other = best(wide, TEXTS, beam=1), best(narrowed, TEXTS, beam=1)
    near = [(a, b) for (ids, a), (others, b) in zip(one, other, strict=True) if ids == others]
    assert len(near) >= 3
    assert all(a == pytest.approx(b, abs=0.05) for a, b in near)
    assert [score for _, score in one] != [score for _, score in other]


@pytest.mark.skipif(
    kernels() is None or not matrix_product() or not packs_narrow(), reason="no products in bf16 in C here"
)
def test_c_and_torch_answer_alike_in_bf16(narrowed, monkeypatch):
    in_c = best(narrowed, TEXTS, beam=1)
    monkeypatch.setattr("jumok.decoding.native_weights.kernels", lambda: None)
    monkeypatch.setattr(NativeStep, "__call__", lambda self, tokens, state: pytest.fail("the step in C was called"))
    in_torch = best(narrowed, TEXTS, beam=1)
    near = [(a, b) for (ids, a), (others, b) in zip(in_c, in_torch, strict=True) if ids == others]
    assert len(near) >= 3
    assert all(a == pytest.approx(b, abs=0.05) for a, b in near)


@pytest.mark.parametrize("options", [{"prefixes": ["z z"] * 5}, {"options": DecodingConfig(coverage_penalty=0.2)}])
def test_prefixes_and_penalties_go_the_same_way(wide, narrowed, options):
    one, other = wide.answers(TEXTS, **options), narrowed.answers(TEXTS, **options)
    assert sum(a[0].ids == b[0].ids for a, b in zip(one, other, strict=True)) >= 3


def test_between_two_words_of_a_stream_the_caller_has_fp32(narrowed):
    seen = [(narrow(), weights_rest()) for _ in narrowed.stream(TEXTS[2])]
    assert len(seen) > 1
    assert set(seen) == {(False, False)}


def test_classifiers_and_fillers_answer_in_bf16(bert_run, classifier_run):  # noqa: F811
    for run, ask in (
        (classifier_run, lambda classifier: [*classifier.classify("a good film").probabilities.values()]),
        (bert_run, lambda filler: filler.embed("a good film").tolist()),
        (bert_run, lambda filler: [share for _, share in filler.fill("a [MASK] film").masks[0]]),
    ):
        exact, near = ask(jumok.load(run)), ask(in_bf16(run))
        assert near != exact
        assert np.allclose(sorted(near), sorted(exact), atol=0.05)


def test_a_writer_draws_in_bf16_what_it_draws_in_fp32(gpt_run):  # noqa: F811
    greedy = DecodingConfig(max_length=20)
    exact = [*jumok.load(gpt_run).stream("the ", options=greedy)]
    near = [*in_bf16(gpt_run).stream("the ", options=greedy)]
    assert exact[:5] == near[:5]


def test_weights_stay_fp32(narrowed):
    assert {parameter.dtype for parameter in narrowed.model.parameters()} == {torch.float32}


def test_auto_looks_at_family_and_processor(monkeypatch, copy_run, gpt_run):  # noqa: F811
    monkeypatch.setattr(precision, "ANSWERS_AS_WELL", frozenset({"transformer"}))
    expected = "bf16" if packs_narrow() else "fp32"
    assert jumok.load(copy_run).answering.precision == expected
    assert jumok.load(copy_run).engine.answering.precision == expected
    assert jumok.load(gpt_run).answering.precision == "fp32"
    assert jumok.load(copy_run, precision="fp32").answering.precision == "fp32"
    monkeypatch.setattr(precision, "processor_flags", lambda: frozenset({"avx2"}))
    assert jumok.load(copy_run).answering.precision == "fp32"


def test_what_cannot_be_had_is_refused(monkeypatch, copy_run):  # noqa: F811
    with pytest.raises(ConfigError, match="--precision bf17: did you mean 'bf16'"):
        jumok.load(copy_run, precision="bf17")
    monkeypatch.setattr(precision, "processor_flags", lambda: frozenset({"avx2"}))
    with pytest.raises(ConfigError, match="--precision bf16: cpu has no products in bf16 here"):
        jumok.load(copy_run, precision="bf16")


def test_a_loaded_one_is_loaded_again_in_its_precision(narrowed):
    load, _ = narrowed.__reduce__()
    assert load().answering.precision == "bf16"
    assert LoadOptions().precision == "auto"


def test_processes_that_share_a_search_find_weights_packed(narrowed, monkeypatch):
    """What is packed while there is one process, is there in all that are forked from it."""
    monkeypatch.setattr(searching, "share", lambda answer, given, **rest: answer([*range(20)]))
    monkeypatch.setattr(searching, "processes_for", lambda *given, **rest: 2)
    taken, packed = [], native_weights.packed
    monkeypatch.setattr(native_weights, "packed", lambda weight, kind: taken.append(weight) or packed(weight, kind))
    fresh = in_bf16(narrowed.run.folder)
    prepare = type(fresh.model).prepare
    before = []
    monkeypatch.setattr(type(fresh.model), "prepare", lambda self: prepare(self) or before.append(len(taken)))
    fresh.answers(["a b c"] * 20)
    assert before == [len(taken)]
    assert taken or not packs_narrow()


def test_another_engine_has_products_of_its_own(copy_run, monkeypatch):  # noqa: F811
    opened = Run.open(copy_run)
    run = replace(opened, facts={**opened.facts, "engine": "ctranslate2"})
    monkeypatch.setattr(Translator, "with_export", lambda run, task, *, int8: "an export")
    for given in ({"precision": "bf16"}, {"precision": "fp32", "int8": True}):
        with pytest.raises(ConfigError, match="for jumok's own products, and ctranslate2 has its own; leave it out"):
            loading._load(Translator, run, LoadOptions(**given))
    assert loading._load(Translator, run, LoadOptions(precision="fp32")) == "an export"
