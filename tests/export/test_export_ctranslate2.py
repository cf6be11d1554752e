"""Transformers exported to CTranslate2: every layout answers as the run does, and a wrong export is never kept."""

import errno
import json
import os

import pytest
from export.conftest import SHAPES, make

import jumok
from jumok import api
from jumok.config import DecodingConfig
from jumok.errors import ConfigError, RunError
from jumok.export import ctranslate2 as module
from jumok.workflows import export as exporting


def answers(predictor, texts, **options):
    given = DecodingConfig.parse(predictor.options.model_dump() | options, "decoding")
    return [[(a.text, pytest.approx(a.score, abs=1e-4), a.ids, a.tokens) for a in found] for found in predictor.answers(texts, options=given)]  # fmt: skip


@pytest.mark.parametrize("overrides", SHAPES, ids=str)
def test_an_export_answers_as_its_run(tmp_path, overrides):
    parity = api.export_model(make(tmp_path, *overrides), tmp_path / "fast")
    assert parity.sentences == 200
    assert parity.equal >= 198  # near ties, and answers without an end
    assert parity.largest_difference < 1e-4
    ours, theirs = jumok.load(tmp_path / "run"), jumok.load(tmp_path / "fast")
    texts = ["a b c", "", "z y x w v", "q"]
    for options in ({"beam": 1}, {"beam": 4, "n_best": 3, "length_penalty": 0.6}, {"beam": 2, "max_length": 9}):
        assert answers(theirs, texts, **options) == answers(ours, texts, **options)
    store = next(iter(ours.task.open_split("val").values()))
    assert theirs.mean_loss(store) == pytest.approx(ours.mean_loss(store), abs=1e-4)
    assert json.loads((tmp_path / "fast" / "parity.json").read_text())["sentences"] == 200


def test_a_wrong_export_is_refused_and_leaves_nothing(tmp_path, monkeypatch):
    run, right = make(tmp_path), module._linear

    def spoilt(place, linear):
        right(place, linear)
        place.bias = place.bias + 0.5

    monkeypatch.setattr(module, "_linear", spoilt)
    with pytest.raises(RunError, match=r"is wrong and was not kept: \d+ of 200 held-out sentences are answered alike"):
        api.export_model(run, tmp_path / "fast")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recipe.toml", "run"]


def test_scores_that_drift_are_refused_though_the_texts_agree():
    alike = [("a", -1.0), ("b", -2.0)]
    assert exporting.compare(["x", "y"], alike, alike).holds
    assert not exporting.compare(["x", "y"], alike, [("a", -1.0), ("b", -2.01)]).holds
    assert not exporting.compare(["x", "y"], alike, [("a", -1.0), ("c", -2.0)]).holds
    assert exporting.compare(["x", "y"], alike, [("a", -1.0), ("c", -2.0)]).first_difference == ["y", "b", "c"]


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("model.norm=batch", "model.norm = 'batch'; it takes 'layer'"),
        ("model.middle_feedforward=true", "model.middle_feedforward = True; it takes False"),
        ("model.cross_attention=same_depth", "model.cross_attention = 'same_depth'; it takes 'last'"),
        ("model.head_width=5", "model.head_width = 5; it takes 0 or 8"),
        ("model.feedforward=0", "without a feed-forward layer"),
    ],
)
def test_what_ctranslate2_does_not_have_is_named(tmp_path, override, says):
    with pytest.raises(ConfigError, match="CTranslate2 has no Transformer") as caught:
        api.export_model(make(tmp_path, override), tmp_path / "fast")
    assert says in str(caught.value)
    assert not (tmp_path / "fast").exists()


def test_what_is_there_already_is_not_overwritten(tmp_path):
    (tmp_path / "fast").mkdir()
    (tmp_path / "fast" / "mine.txt").write_text("keep me")
    with pytest.raises(RunError, match="is there already; choose another folder"):
        api.export_model(make(tmp_path), tmp_path / "fast")
    assert (tmp_path / "fast" / "mine.txt").read_text() == "keep me"
    with pytest.raises(ConfigError, match="--to ctranslat: did you mean 'ctranslate2'"):
        api.export_model(tmp_path / "run", tmp_path / "other", to="ctranslat")


def test_what_the_engine_cannot_do_is_refused_not_ignored(tmp_path):
    api.export_model(make(tmp_path), tmp_path / "fast")
    fast = jumok.load(tmp_path / "fast")
    for options in (
        {"sample": True}, {"coverage_penalty": 0.2}, {"no_repeat_ngram": 2}, {"min_length": 3}, {"repetition_penalty": 1.2},
        {"shortlist": 5},
    ):  # fmt: skip
        with pytest.raises(ConfigError, match="or use the run itself"):
            answers(fast, ["a"], **options)
    with pytest.raises(ConfigError, match="what follows a prefix in another way"):
        fast.translate(["a"], prefixes=["b"])
    for refused in (lambda: next(iter(fast.stream("a"))), lambda: fast.explain("a")):
        with pytest.raises(ConfigError, match=f"the run itself: {tmp_path / 'run'}"):
            refused()
    with pytest.raises(ConfigError, match="is no run of a translator"):
        api.export_model(tmp_path / "fast", tmp_path / "again")
    (tmp_path / "fast" / "model.bin").write_bytes(b"cut off")
    with pytest.raises(RunError, match=r"CTranslate2 cannot read it .*; export it again"):
        jumok.load(tmp_path / "fast")


def test_a_run_is_exported_at_its_first_use_and_again_only_for_other_weights(tmp_path, monkeypatch):
    run = make(tmp_path)
    texts, made = ["a b c", "z y x w v"], []
    real = exporting.export_run
    monkeypatch.setattr(exporting, "export_run", lambda *a, **k: made.append(a[1].name) or real(*a, **k))
    for _ in range(2):
        fast = jumok.load(run, engine="ctranslate2")
        assert fast.translate(texts) == jumok.load(run, engine="jumok").translate(texts)
    assert made == ["step-0"]
    small = jumok.load(run, int8=True)
    assert small.to_dict()["engine"] == "CTranslate2 int8_float32"
    assert fast.to_dict()["engine"] == "CTranslate2 float32"
    assert small.to_dict()["parameters"] == jumok.load(run).to_dict()["parameters"]
    store = next(iter(fast.task.open_split("val").values()))
    assert 0 < abs(small.mean_loss(store) - fast.mean_loss(store)) < 0.5
    with pytest.raises(ConfigError, match=f"was exported to ctranslate2; the run it was made of is {run}"):
        jumok.load(run / "ctranslate2" / "step-0", engine="jumok")
    with pytest.raises(ConfigError, match="--engine ctranslate: did you mean 'ctranslate2'"):
        jumok.load(run, engine="ctranslate")


def test_a_run_that_cannot_be_written_is_exported_into_the_cache(tmp_path, monkeypatch):
    run = make(tmp_path)
    monkeypatch.setattr("jumok.workflows.export.os.access", lambda path, mode: False)
    before = sorted(run.rglob("*"))
    fast = jumok.load(run, engine="ctranslate2")
    assert fast.run.folder.is_relative_to(os.environ["JUMOK_CACHE"])
    assert fast.translate("a b c") == jumok.load(run).translate("a b c")
    assert sorted(run.rglob("*")) == before


@pytest.mark.parametrize("kind", ["ctranslate2", "huggingface", "onnx"])
def test_an_export_that_finds_no_room_leaves_nothing(tmp_path, monkeypatch, kind):
    predictor = jumok.load(make(tmp_path))

    def full(translator, folder):
        folder.mkdir()
        (folder / "half").write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setitem(exporting.KINDS, kind, full)
    with pytest.raises(
        RunError, match=r"fast cannot be written: its disk is full; free some space, or choose another f"
    ):
        exporting.export_run(predictor, tmp_path / "fast", kind=kind, texts=["a"])
    assert {path.name for path in tmp_path.iterdir()} == {"recipe.toml", "run"}
