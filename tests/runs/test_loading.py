"""A run becomes a predictor: without a draw, and with everything global of the caller's as it was."""

import gc
import logging
import os
import random
import signal
import warnings

import numpy as np
import pytest
import torch
from cli.conftest import babble_run, bert_run, classifier_run, copy_run, directions_run, gpt_run, write_lines  # noqa: F401 - fixtures

import jumok
from jumok.api import LoadOptions, load_for
from jumok.catalogue import MODELS, model_class
from jumok.config import DecodingConfig
from jumok.errors import ConfigError, RunError
from jumok.predictors.classifier import Classifier
from jumok.predictors.translator import Translator
from jumok.runs.loading import load_run
from jumok.runs.weights import WithoutDraws, build_empty_model
from jumok.training.average import load_tensors, model_tensors

FROM_DATA = {
    "image_size": 32,
    "channels": 3,
    "classes": 7,
    "vocabulary": 31,
    "source_vocabulary": 29,
    "target_vocabulary": 29,
    "look_back": 24,
    "horizon": 3,
    "code_count": 23,
    "rows": 3,
    "columns": 5,
    "longest_text": 7,
    "targets": 2,
}


def config_of(name: str):
    config = model_class(name).Config
    return config(name=name, **{key: FROM_DATA[key] for key in FROM_DATA if key in config.model_fields})


def global_state() -> dict:
    """Return everything global that loading and predicting could change."""
    return {
        "torch": torch.get_rng_state().tolist(),
        "numpy": str(np.random.get_state()),
        "python": random.getstate(),
        "threads": (torch.get_num_threads(), torch.get_num_interop_threads()),
        "dtype": torch.get_default_dtype(),
        "gradients": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "mkldnn": torch.backends.mkldnn.enabled,
        "float32 products": torch.get_float32_matmul_precision(),
        "denormals": float(torch.tensor(1e-40)),
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "warnings": list(warnings.filters),
        "logging": logging.getLogger().level,
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
        "garbage": (gc.isenabled(), gc.get_threshold()),
    }


@pytest.fixture
def threads():
    """Two threads, as a user has: one_thread must put them back."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def use_translator(folder, text):
    translator = jumok.load(folder)
    translator.translate(["1 2 3", "4", "a b c", ""] * 12)  # many: processes share them
    translator.translate("a b", options=translator.options.changed({"sample": True, "seed": 3}))
    list(translator.stream("1 2 3"))
    translator.evaluate("val", source=text, target=text)
    translator.explain("1 2 3", details=True)
    translator.importance("1 2")


def use_writer(folder, text):
    writer = jumok.load(folder)
    writer.generate("import", options=writer.options.changed({"max_length": 40}))
    writer.evaluate("val", source=text)


def use_filler(folder, text):
    filler = jumok.load(folder)
    filler.fill("[MASK] film")
    filler.embed(["a film"])
    filler.evaluate("val", source=text)


def use_classifier(folder, text):
    classifier = jumok.load(folder)
    classifier.classify(["a film", "a good film"])
    classifier.evaluate("val")


@pytest.mark.parametrize(
    ("run", "use"),
    [
        ("babble_run", use_translator),
        ("gpt_run", use_writer),
        ("bert_run", use_filler),
        ("classifier_run", use_classifier),
    ],
)
def test_loading_and_predicting_leave_everything_global_as_it_was(request, threads, tmp_path, run, use):
    folder, text = request.getfixturevalue(run), write_lines(tmp_path / "text", ["a b c", "1 2 3", "x"])
    use(folder, text)  # libraries that are imported at their first use may set what they like: that is once, and theirs
    torch.manual_seed(11)
    before = global_state()
    use(folder, text)
    after = global_state()
    for name, value in before.items():
        assert after[name] == value, name


def test_loading_alone_draws_nothing(copy_run):  # noqa: F811
    torch.manual_seed(3)
    wanted = torch.rand(5)
    torch.manual_seed(3)
    jumok.load(copy_run)
    assert torch.equal(torch.rand(5), wanted)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_made_without_draws_is_whole_once_its_weights_are_loaded(name):
    """Names, shapes, tied weights and buffers are those of a model made as always; no generator has moved."""
    torch.manual_seed(2)
    drawn = model_class(name)(config_of(name))
    before = torch.get_rng_state()
    empty = build_empty_model(config_of(name))
    assert torch.equal(torch.get_rng_state(), before)
    load_tensors(empty, model_tensors(drawn))
    for tensors in (torch.nn.Module.named_parameters, torch.nn.Module.named_buffers):
        ours, theirs = (dict(tensors(model, remove_duplicate=False)) for model in (empty, drawn))
        assert ours.keys() == theirs.keys()
        for key, value in theirs.items():
            assert torch.equal(ours[key], value), key
            assert ours[key].requires_grad == value.requires_grad
        tied = [{other for other in found if found[other] is found[key]} for found in (ours, theirs) for key in found]
        assert tied[: len(ours)] == tied[len(ours) :]


@pytest.mark.parametrize(("low", "high"), [(-2.0, 2.0), (0.5, 9.0), (1.5, 1.9)])
def test_numbers_that_are_redrawn_until_they_fit_come_to_an_end(low, high):
    """torch redraws what lies outside the bounds of trunc_normal_: left empty, that would never be over."""
    before = torch.get_rng_state()
    weight = torch.nn.Parameter(torch.full((7, 5), 1e9))
    with WithoutDraws():
        torch.nn.init.trunc_normal_(weight, a=low, b=high)
        torch.nn.init.trunc_normal_(weight[2:4], a=low, b=high)
    assert torch.equal(torch.get_rng_state(), before)


def test_another_kind_is_refused_before_its_weights_are_read(copy_run, monkeypatch):  # noqa: F811
    monkeypatch.setattr("jumok.runs.loading.build_empty_model", lambda config: pytest.fail("it was loaded"))
    with pytest.raises(ConfigError, match=r"is a run of translation: use jumok translate, not jumok classify"):
        load_for(Classifier, copy_run)
    with pytest.raises(ConfigError, match=r"is a run of translation; this needs images$"):
        load_for(Classifier, copy_run, otherwise="this needs images")


def test_options_reach_the_predictor(directions_run, copy_run):  # noqa: F811
    assert load_for(Translator, directions_run, LoadOptions(to="ko")).to == "ko"
    with pytest.raises(RunError, match="has no checkpoint 'step-7'"):
        load_for(Translator, copy_run, LoadOptions(checkpoint="step-7"))
    with pytest.raises(ConfigError, match="is not exported: jumok export"):
        load_run(Translator, copy_run, LoadOptions(engine="ctranslate2"))


def test_changed_options_are_checked_and_none_changes_nothing():
    options = DecodingConfig()
    assert options.changed({"beam": None}) is options
    assert options.changed({"beam": 3, "seed": None}).beam == 3
    with pytest.raises(ConfigError, match=r"decoding\.beam = 0: must be at least 1"):
        options.changed({"beam": 0})
    with pytest.raises(ConfigError, match=r"\[decoding\] has no key 'baem'; did you mean 'beam'"):
        options.changed({"baem": 2})
