"""ViT and Swin give the logits of Hugging Face's, on random weights: every stage, odd sizes, shifted windows."""

import pytest
import torch
from torch.testing import assert_close

from jumok.export.images import swin_weights, vit_weights
from jumok.inspection.observe import observe
from jumok.models.swin import Swin, SwinConfig
from jumok.models.vit import ViT, ViTConfig
from jumok.nn.batch import ImageBatch

transformers = pytest.importorskip("transformers")


def shaken(model):
    """Return the model with every weight drawn wide, so that no part hides behind another."""
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model.eval()


def images(*shape):
    torch.manual_seed(5)
    return torch.randn(*shape)


def batch(found):
    return ImageBatch(found, torch.zeros(len(found), dtype=torch.int64))


@pytest.fixture(scope="module")
def vits():
    config = transformers.ViTConfig(
        hidden_size=24, num_hidden_layers=3, num_attention_heads=3, intermediate_size=40, image_size=20, patch_size=4, num_labels=5
    )  # fmt: skip
    theirs = shaken(transformers.ViTForImageClassification(config))
    return theirs, config


def saved(model, tmp_path):
    from safetensors.torch import load_file

    model.save_pretrained(tmp_path)
    return load_file(tmp_path / "model.safetensors")


@pytest.mark.parametrize("kind", ["matrix", "convolution"])
@pytest.mark.parametrize("size", [(20, 20), (28, 12), (8, 40)], ids=str)
def test_vit_at_its_own_size_and_at_others(vits, tmp_path, kind, size):
    theirs, config = vits
    model, weights = vit_weights(config.to_dict(), saved(theirs, tmp_path))
    ours = ViT(ViTConfig(**model, patches=kind)).eval()
    ours.load_state_dict(weights)
    image = images(2, 3, *size)
    with torch.no_grad():
        expected = theirs(image, interpolate_pos_encoding=size != (20, 20)).logits
        assert_close(ours(batch(image)), expected, atol=1e-4, rtol=1e-4)
        with observe(ours) as record:
            assert_close(ours(batch(image)), expected, atol=1e-4, rtol=1e-4)
    assert len(record.maps) == 3


@pytest.mark.parametrize("size", [(48, 48), (64, 50), (53, 77), (47, 90)], ids=str)
@pytest.mark.parametrize("window", [2, 3])
def test_swin_at_any_size(tmp_path, size, window):
    """Hugging Face's fails where a stage's grid is smaller than a window: there is nothing to compare with."""
    config = transformers.SwinConfig(
        image_size=32, patch_size=2, embed_dim=12, depths=[2, 2, 3, 2], num_heads=[2, 3, 4, 6], window_size=window, num_labels=5
    )  # fmt: skip
    theirs = shaken(transformers.SwinForImageClassification(config))
    model, weights = swin_weights(config.to_dict(), saved(theirs, tmp_path))
    ours = Swin(SwinConfig(**model)).eval()
    ours.load_state_dict(weights)
    image = images(2, 3, *size)
    with torch.no_grad():
        expected = theirs(image).logits
        assert_close(ours(batch(image)), expected, atol=1e-4, rtol=1e-4)
        with observe(ours) as record:
            assert_close(ours(batch(image)), expected, atol=1e-4, rtol=1e-4)
    assert len(record.maps) == 9
