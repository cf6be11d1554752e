"""ViT and Swin folders of Hugging Face's layout, brought in: the same probabilities for the same image."""

import json

import numpy as np
import pytest
import torch
import transformers
from PIL import Image

from jumok import api
from jumok.errors import DataError

NAMES = {0: "cat", 1: "dog", 2: "bird"}
SHARED = {
    "image_size": 48,
    "num_channels": 3,
    "num_labels": 3,
    "id2label": NAMES,
    "label2id": {v: k for k, v in NAMES.items()},
}


def models():
    vit = transformers.ViTConfig(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40, patch_size=8, **SHARED
    )
    swin = transformers.SwinConfig(
        patch_size=2, embed_dim=12, depths=[1, 2, 2, 1], num_heads=[2, 3, 4, 6], window_size=3, **SHARED
    )
    return {
        "vit": transformers.ViTForImageClassification(vit),
        "swin": transformers.SwinForImageClassification(swin),
    }


@pytest.fixture(params=["vit", "swin"])
def folder(request, tmp_path):
    torch.manual_seed(3)
    model = models()[request.param].eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    place = tmp_path / request.param
    model.save_pretrained(place)
    (place / "preprocessor_config.json").write_text(
        json.dumps({"image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.3, 0.4]})
    )
    return place, model


def test_the_same_image_gets_the_same_probabilities(folder, tmp_path):
    place, theirs = folder
    ours, missing = api.import_model(place, tmp_path / "run")
    assert missing == []
    pixels = np.random.default_rng(1).integers(0, 256, (48, 48, 3), dtype=np.uint8)
    [verdict] = ours.classify([Image.fromarray(pixels)])
    values = (torch.from_numpy(pixels).float() / 255 - torch.tensor([0.4, 0.5, 0.6])) / torch.tensor([0.2, 0.3, 0.4])
    with torch.no_grad():
        wanted = theirs(values.permute(2, 0, 1)[None]).logits.softmax(dim=1)[0]
    for number, name in NAMES.items():
        assert verdict.probabilities[name] == pytest.approx(float(wanted[number]), abs=1e-4)
    explanation = ours.explain(Image.fromarray(pixels))
    assert explanation.heat is not None
    assert len(explanation.record.maps) == (2 if place.name == "vit" else 6)


def test_an_imported_model_scores_images_of_ones_own(folder, tmp_path):
    place, _ = folder
    api.import_model(place, tmp_path / "run")
    for name in ("cat", "dog"):
        (tmp_path / "own" / name).mkdir(parents=True)
        Image.new("RGB", (50, 40), "red").save(tmp_path / "own" / name / "a.png")
    scores = api.evaluate(tmp_path / "run", source=tmp_path / "own")["own"]
    assert scores["examples"] == 2
    assert scores["accuracy"] in (0.0, 50.0)
    with pytest.raises(DataError, match="the recipe has no val data"):
        api.evaluate(tmp_path / "run")


@pytest.mark.parametrize(("change", "why"), [
    ({"qkv_bias": False}, "config.json: qkv_bias is False; jumok imports models with True only"),
    ({"hidden_act": "relu"}, "config.json: hidden_act is 'relu'"),
    ({"model_type": "deit"}, "holds a model of type 'deit'; jumok imports bert, gpt2, marian, pegasus, swin, vit"),
])  # fmt: skip
def test_other_kinds_are_refused(folder, tmp_path, change, why):
    place, _ = folder
    config = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(DataError, match=why):
        api.import_model(place, tmp_path / "run")
    assert not (tmp_path / "run").exists()
