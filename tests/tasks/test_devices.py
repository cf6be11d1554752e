"""Nothing of a loss stays behind on the CPU: every model's loss on torch's meta device, which refuses to meet another.

A mask that was left on the CPU would show on a GPU only, and none is here.
"""

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.fx.experimental import _config as meta

from jumok.catalogue import MODELS, model_class, task_class
from jumok.config import DataConfig, DecodingConfig, MaskedTextData, TokenizerConfig, TrainingConfig
from jumok.config.recipe import Recipe
from jumok.nn.batch import (
    CaptionBatch,
    DrawingBatch,
    ImageBatch,
    LabelBatch,
    MaskedBatch,
    PairBatch,
    SeriesBatch,
    TextBatch,
)

B, S, T, V = 3, 7, 5, 19
SMALL = {
    "captioner": {"width": 8, "embedding_width": 8, "heads": 2, "encoder": {"name": "cnn", "width": 8, "stages": 2}},
    "cnn": {"width": 8, "stages": 2, "blocks": 1},
    "dalle": {"layers": 1, "width": 8, "heads": 2, "feedforward": 8},
    "efficientnet": {},
    "image-codes": {"halvings": 1, "width": 8, "most_width": 8},
    "forecaster": {"patch": 1, "stride": 1, "layers": 1, "width": 8, "heads": 2, "feedforward": 8},
    "mixer": {"patch_size": 4, "layers": 1, "width": 8},
    "swin": {"patch_size": 2, "width": 8, "layers": [1, 1], "heads": [2, 2], "window": 2},
    "vit": {"patch_size": 4, "layers": 1, "width": 8, "heads": 2},
    "bert": {"layers": 1, "width": 8, "heads": 2, "max_positions": 16},
    "gpt": {"layers": 1, "width": 8, "heads": 2, "window": 16},
    "recurrent-classifier": {"width": 8},
    "seq2seq": {"width": 8},
    "transformer": {"layers": 1, "width": 8, "heads": 2, "feedforward": 8},
}
SIZES = {
    "source_vocabulary": V, "target_vocabulary": V, "vocabulary": V, "classes": 2, "image_size": 8, "channels": 3,
    "map_width": 0, "look_back": S, "horizon": T, "targets": 2, "past": 1, "known": 1, "static": 2,
    "code_count": V, "rows": 1, "columns": T, "longest_text": S,
}  # fmt: skip
CASES = [
    *((name, task, {}) for name in MODELS for task in model_class(name).tasks),
    ("transformer", "translation", {"norm": "batch"}),
    ("transformer", "translation", {"positions": "learned", "cross_attention": "same_depth"}),
    *(("seq2seq", "translation", {"attention": score}) for score in ("none", "dot", "bilinear")),
    ("seq2seq", "translation", {"reverse_source": True, "attend": "before"}),
    ("captioner", "image-captioning", {"decoder": "transformer"}),
    ("captioner", "image-captioning", {"doubly_stochastic": 1.0}),
    ("captioner", "image-captioning", {"attention": "none"}),
    ("bert", "masked-language-modeling", {"pooling": "mean"}),
    ("vit", "image-classification", {"positions": "sinusoidal", "pool": "mean"}),
    ("captioner", "image-captioning", {"decoder": "transformer"}),
    *(("forecaster", "forecasting", {"tokens": tokens}) for tokens in ("steps", "variables")),
    *(("forecaster", "forecasting", {"head": head}) for head in ("quantiles", "student-t", "mixture")),
    ("forecaster", "forecasting", {"tokens": "steps", "feedback": True, "relative": True}),
    *(("captioner", "image-captioning", {"attention": score}) for score in ("none", "dot", "bilinear")),
    ("captioner", "image-captioning", {"doubly_stochastic": 0.5}),
]


def batch_of(task):
    """Return a batch with padding, and all that a task may ask for."""
    mask = torch.arange(S) < torch.tensor([S, 4, 2])[:, None]
    ids = torch.randint(V, (B, S))
    if task == "translation":
        return PairBatch(ids, mask, ids[:, :T], ids[:, -T:], mask[:, :T])
    if task == "image-captioning":
        return CaptionBatch(ids[:, :T], ids[:, -T:], mask[:, :T], torch.randn(B, 3, 8, 8), None, torch.arange(B))
    if task == "forecasting":
        future, there = torch.randn(B, T, 2), torch.ones(B, T, 2, dtype=torch.bool)
        past = torch.randn(B, S, 4)
        return SeriesBatch(past, past > -1, torch.randn(B, T, 1), torch.randn(B, 2), future, there)
    if task == "text-to-image":
        return DrawingBatch(ids, mask, ids[:, :T], torch.tensor([False, True, False]))
    if task == "language-modeling":
        return TextBatch(ids, ids, torch.zeros_like(ids))
    if task == "masked-language-modeling":
        return MaskedBatch(ids, mask, mask, ids[mask], ids % 2, torch.tensor([0, 1, 1]))
    if task == "text-classification":
        return LabelBatch(ids, mask, torch.tensor([0, 1, 1]), ids % 2)
    if task == "image-captioning":
        return CaptionBatch(ids, ids, mask, torch.randn(B, 3, 8, 8))
    return ImageBatch(torch.randn(B, 3, 8, 8), torch.tensor([0, 1, 1]), torch.full((B, 2), 0.5))


def task_of(name, config):
    """Return a task of a recipe, without data."""
    task = object.__new__(task_class(name))
    optional = {"tokenizer": TokenizerConfig(), "decoding": DecodingConfig()}
    task.recipe = Recipe(name, DataConfig(), config, TrainingConfig(), optional)
    return task


@pytest.fixture
def made_up(monkeypatch):
    """Make up the few numbers that a loss asks of masks: a meta tensor has none. All of a selection is taken."""
    monkeypatch.setattr(torch.Tensor, "__bool__", lambda tensor: False)
    monkeypatch.setattr(torch.Tensor, "__int__", lambda tensor: S)
    monkeypatch.setattr(torch.Tensor, "tolist", lambda tensor: [S] * tensor.numel())  # lengths
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())  # knows no meta device
    with meta.patch(meta_nonzero_assume_all_nonzero=True):
        yield


@pytest.mark.parametrize(("name", "task", "options"), CASES, ids=str)
def test_every_loss_stays_on_its_device(name, task, options, request):
    built = model_class(name)
    sizes = {key: size for key, size in SIZES.items() if key in built.Config.FILLED_IN}
    sizes |= {"classes": 0} if task == "masked-language-modeling" else {}
    config = built.Config(name=name, **{**SMALL[name], **sizes, **options})
    model, batch = built(config), batch_of(task)
    here = task_of(task, config).loss(model.train(), batch, 1)
    away = batch.to(torch.device("meta"))
    if task == "masked-language-modeling":
        away = replace(away, answers=torch.empty(B * S, dtype=torch.int64, device="meta"))
    request.getfixturevalue("made_up")
    there = task_of(task, config).loss(model.to("meta"), away, 1)
    assert there.total.device.type == "meta"
    assert all(part.device.type == "meta" for part in there.parts.values())
    assert set(there.parts) == set(here.parts)
    assert np.isfinite(here.total.item())


def test_a_tensor_left_behind_is_noticed(made_up):
    batch = batch_of("text-classification")
    model = model_class("bert")(model_class("bert").Config(name="bert", vocabulary=V, classes=2, **SMALL["bert"]))
    torn = LabelBatch(batch.source.to("meta"), batch.source_mask, batch.labels.to("meta"))
    with pytest.raises(RuntimeError, match="device"):
        task_of("text-classification", model.config).loss(model.to("meta"), torn, 1)


def test_scores_of_masked_text_stay_on_the_models_device(made_up, monkeypatch):
    """The mask of the next-sentence question once stayed on the CPU, where pooling by the mean met it."""
    monkeypatch.setattr(torch.Tensor, "__float__", lambda tensor: 1.0)
    config = model_class("bert").Config(name="bert", vocabulary=V, pooling="mean", **SMALL["bert"])
    task = task_of("masked-language-modeling", config)
    batch = replace(batch_of("masked-language-modeling"), answers=torch.zeros(B * S, dtype=torch.int64))
    task.corpora = SimpleNamespace(data=MaskedTextData(next_sentence=True))
    task._batches = lambda *_, **__: SimpleNamespace(in_order=lambda: [batch])
    scores = task.metrics(model_class("bert")(config).to("meta"), object())
    assert set(scores) == {"loss", "perplexity", "accuracy", "next_sentence"}
