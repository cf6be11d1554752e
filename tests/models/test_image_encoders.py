"""Encoders inside captioners: their feature maps are what the classifiers pool, norms folded or not."""

import pytest
import torch
from torch.testing import assert_close

from jumok.config.encoder import EncoderConfig
from jumok.errors import ConfigError
from jumok.models.image_encoders import READERS, build_encoder
from jumok.nn.batch import ImageBatch
from jumok.nn.folding import fold_norms

DATA = {"image_size": 24, "channels": 3, "classes": 5}
RUNS = {
    "cnn": {"width": 8, "stages": 2, "blocks": 1, "stem_pool": True},
    "efficientnet": {"variant": "lite0"},
    "mixer": {"patch_size": 4, "layers": 2, "width": 22, "feedforward": 17, "place_feedforward": 13},
    "swin": {"patch_size": 2, "width": 6, "layers": [2, 3], "heads": [2, 3], "window": 3},
    "vit": {"patch_size": 4, "layers": 2, "width": 22, "heads": 2, "feedforward": 17, "pool": "mean"},
}
CLOSE = {"atol": 1e-5, "rtol": 1e-4}


def make_reader(name, **changes):
    torch.manual_seed(5)
    kind, section = READERS[name]
    model = kind(section.parse({"name": name, **DATA, **RUNS[name], **changes}, "model"))
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):  # as if it had been trained
                module.running_mean.normal_()
                module.running_var.uniform_(0.5, 2.0)
                module.weight.normal_()
                module.bias.normal_()
        model.project.weight.normal_()
    return model.eval()


def make_images(rows=3, height=24, width=24):
    return torch.randn(rows, 3, height, width, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("name", ["cnn", "mixer", "swin", "vit"])
def test_the_feature_map_pooled_and_projected_gives_the_logits(name):
    model, images = make_reader(name), make_images()
    found = model.feature_map(images)
    assert found.shape[:2] == (3, model.map_width)
    logits = model(ImageBatch(images, torch.zeros(3, dtype=torch.int64)))
    assert_close(model.project(found.mean(dim=(2, 3))), logits, **CLOSE)


@pytest.mark.parametrize("pool", ["mean", "class"])
def test_the_cells_of_a_vit_stand_where_its_patches_do(pool):
    model, images = make_reader("vit", pool=pool), make_images(2, 16, 28)
    found = model.feature_map(images)
    assert found.shape == (2, 22, *model.grid(images)) == (2, 22, 4, 7)
    states = model.states(images)
    assert_close(found[:, :, 2, 3], states[:, (2 * 7 + 3) + (pool == "class")])


def test_the_map_of_a_mixer_has_its_grid_and_that_of_a_swin_is_coarser():
    images = make_images()
    mixer, swin = make_reader("mixer"), make_reader("swin")
    assert tuple(mixer.feature_map(images).shape[2:]) == mixer.grid(images)
    assert swin.grid(images) == (12, 12)
    assert swin.feature_map(images).shape == (3, 12, 6, 6)


@pytest.mark.parametrize("name", RUNS)
def test_an_encoder_of_a_run_sees_what_the_run_does(name):
    model, images = make_reader(name), make_images()
    wanted = model.feature_map(images)
    config = EncoderConfig(name="run", run="there", finetune=True, model={"name": name, **DATA, **RUNS[name]})
    encoder = build_encoder(config, size=24, channels=3)
    fold_norms(model)
    parts = model.state_dict()
    encoder.load_state_dict({key: parts[key] for key in encoder.state_dict()})
    assert encoder.map_width == wanted.shape[1]
    assert_close(encoder.eval().feature_map(images), wanted, atol=1e-4, rtol=1e-3)
    assert not list(encoder.buffers()), "statistics of a batch would keep worker processes away"
    assert not hasattr(encoder, "project")


@pytest.mark.parametrize("name", ["cnn", "efficientnet"])
def test_folding_changes_no_logit(name):
    model, batch = make_reader(name), ImageBatch(make_images(), torch.zeros(3, dtype=torch.int64))
    wanted = model(batch)
    fold_norms(model)
    assert not any(isinstance(module, torch.nn.BatchNorm2d) for module in model.modules())
    assert_close(model(batch), wanted, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("name", RUNS)
def test_every_parameter_of_an_encoder_gets_a_gradient(name):
    config = EncoderConfig(name="run", run="there", finetune=True, model={"name": name, **DATA, **RUNS[name]})
    encoder = build_encoder(config, size=24, channels=3).train()
    (encoder.feature_map(make_images()) ** 2).sum().backward()
    assert [key for key, parameter in encoder.named_parameters() if parameter.grad is None] == []


def test_a_cnn_is_made_of_the_encoders_own_keys():
    encoder = build_encoder(EncoderConfig(width=16, stages=2, blocks=2, stem_pool=True), size=40, channels=1)
    assert encoder.map_width == 32
    assert encoder.feature_map(torch.zeros(2, 1, 40, 40)).shape == (2, 32, 10, 10)


@pytest.mark.parametrize(("name", "width"), [("lite0", 320), ("lite1", 320), ("lite2", 352)])
def test_a_lite_has_a_cell_for_32_pixels(name, width):
    encoder = build_encoder(EncoderConfig(name=f"efficientnet-{name}", finetune=True), size=224, channels=3)
    assert encoder.map_width == width
    assert encoder.feature_map(torch.zeros(1, 3, 64, 70)).shape == (1, width, 2, 3)


def test_a_run_of_a_model_of_ones_own_cannot_be_finetuned():
    config = EncoderConfig(name="run", run="there", finetune=True, model={"name": "my:Mine"})
    with pytest.raises(ConfigError, match="'there' is a run of the model 'my:Mine', which cannot be finetuned"):
        build_encoder(config, size=24, channels=3)
