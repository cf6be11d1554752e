"""The properties of models that read images."""

import pytest
import torch
from battery.narrow import check_products_in_bf16
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

from jumok.catalogue import MODELS, model_class
from jumok.inspection.observe import observe
from jumok.nn.batch import ImageBatch
from jumok.training.average import load_tensors, model_tensors

CLOSE = {"atol": 1e-5, "rtol": 1e-4}
SIDE, CHANNELS, CLASSES = 20, 3, 5
READERS = [name for name in MODELS if "image-classification" in model_class(name).tasks]
SIZES = {
    "cnn": {"width": 8, "stages": 3, "blocks": 1},
    "efficientnet": {"dropout": 0.0},
    "mixer": {"patch_size": 4, "layers": 2, "width": 22, "feedforward": 17, "place_feedforward": 13},
    "swin": {"patch_size": 2, "width": 6, "layers": [2, 3], "heads": [2, 3], "window": 3, "stochastic_depth": 0.0},
    "vit": {"patch_size": 4, "layers": 2, "width": 22, "heads": 2, "feedforward": 17},
}
VARIANTS = {
    "cnn": {"default": {}, "deeper": {"blocks": 2, "stages": 2}, "pooled": {"stem_pool": True}},
    "efficientnet": {"lite0": {}, "lite2": {"variant": "lite2"}},
    "mixer": {"default": {}, "convolution": {"patches": "convolution"}},
    "swin": {
        "default": {},
        "whole image in a window": {"window": 10},
        "four stages": {"layers": [1, 2, 1, 1], "heads": [1, 2, 3, 4]},
        "convolution": {"patches": "convolution", "feedforward_ratio": 3.0},
    },
    "vit": {
        "default": {},
        "mean": {"pool": "mean"},
        "sinusoids": {"positions": "sinusoidal", "pool": "mean"},
        "no positions": {"positions": "none"},
        "convolution": {"patches": "convolution"},
        "post-norm": {"norm_position": "post", "activation": "relu"},
        "no feed-forward": {"feedforward": 0},
    },
}
MIXES_EXAMPLES = {"cnn", "efficientnet"}  # batch norm, while training
ATTENDS = {"swin", "vit"}
ONE_SIZE = {"mixer"}
CASES = [(name, variant) for name in READERS for variant in VARIANTS[name]]


def make_model(name, variant, **changes):
    torch.manual_seed(5)
    built = model_class(name)
    options = {**SIZES[name], **VARIANTS[name][variant], **changes}
    model = built(built.Config(name=name, image_size=SIDE, channels=CHANNELS, classes=CLASSES, **options))
    if name == "mixer":  # it starts with the same answer to everything
        torch.nn.init.normal_(model.project.weight, std=0.1)
    return model.eval()


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}, {case[1]}")
def case(request):
    return request.param


@pytest.fixture
def model(case):
    return make_model(*case)


def make_batch(rows=3, height=SIDE, width=SIDE, seed=3):
    generator = torch.Generator().manual_seed(seed)
    images = torch.randn(rows, CHANNELS, height, width, generator=generator)
    return ImageBatch(images, torch.arange(rows) % CLASSES)


def loss_of(model, batch):
    return torch.nn.functional.cross_entropy(model(batch), batch.labels, reduction="sum")


def test_every_model_for_images_is_in_the_battery():
    assert set(READERS) == SIZES.keys() == VARIANTS.keys()


def test_forward_is_the_projection_of_features(model):
    batch = make_batch()
    assert_close(model(batch), model.project(model.features(batch)))
    assert model(batch).shape == (3, CLASSES)


def test_examples_do_not_touch_each_other(model):
    batch = make_batch()
    for row in range(3):
        alone = ImageBatch(batch.images[row : row + 1], batch.labels[row : row + 1])
        assert_close(model(alone)[0], model(batch)[row], **CLOSE)


def test_every_parameter_gets_a_gradient(model):
    loss_of(model.train(), make_batch()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_products_in_bf16_change_little(case, model):
    model.train(case[0] != "efficientnet")  # fresh, with statistics of a few small images, it is chaotic in any numbers
    check_products_in_bf16(model, lambda: loss_of(model, make_batch()))


def test_one_batch_is_learnt_by_heart(case):
    model, batch = make_model(*case).train(), make_batch()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        if loss < 0.1:
            break
        loss.backward()
        optimizer.step()
    assert loss < 0.3
    if case[0] not in MIXES_EXAMPLES:
        assert model.eval()(batch).argmax(dim=1).tolist() == batch.labels.tolist()


def test_observing_changes_nothing_and_shows_attention_where_there_is_some(case, model):
    batch = make_batch()
    plain = model(batch)
    with observe(model) as record:
        observed = model(batch)
    assert_close(observed, plain, **CLOSE)
    assert bool(record.maps) == (case[0] in ATTENDS)
    for found in record.maps:
        sums = found.weights.sum(dim=-1)
        if case[0] == "swin":  # what falls on padding is left out
            assert float(sums.max()) < 1 + 1e-5
            rows, columns = found.grid
            assert found.weights.shape[-2:] == (rows * columns, rows * columns)
        else:
            assert_close(sums, torch.ones_like(sums))
    assert_close(model(batch), plain, atol=0, rtol=0)


def test_saved_and_loaded_it_is_the_same(case, model, tmp_path):
    save_file(
        {name: value.contiguous() for name, value in model_tensors(model).items()}, tmp_path / "model.safetensors"
    )
    other = make_model(*case)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    load_tensors(other, load_file(tmp_path / "model.safetensors"))
    batch = make_batch()
    assert torch.equal(other.eval()(batch), model(batch))


@pytest.mark.parametrize("size", [(12, 12), (28, 20), (16, 40)], ids=str)
def test_other_sizes_work_too(case, model, size):
    batch = make_batch(2, *size)
    if case[0] in ONE_SIZE:
        with pytest.raises(RuntimeError):
            model(batch)
        return
    assert model(batch).isfinite().all()
    with observe(model) as record:
        model(batch)
    if case[0] == "vit":
        rows, columns = model.grid(batch.images)
        assert all(found.weights.shape[-1] in (rows * columns, rows * columns + 1) for found in record.maps)


def test_what_is_random_is_so_in_training_alone(case):
    name, variant = case
    options = {"dropout": 0.4} | ({} if name in MIXES_EXAMPLES else {"stochastic_depth": 0.5})
    model, batch = make_model(name, variant, **options), make_batch()
    assert torch.equal(model(batch), model(batch))
    model.train()
    assert not torch.equal(model(batch), model(batch))
