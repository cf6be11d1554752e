"""The properties that every model of image codes must have, whatever its quantiser."""

import pytest
import torch
import torch.nn.functional as F
from battery.narrow import check_products_in_bf16
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

from jumok.catalogue import MODELS, model_class
from jumok.inspection.observe import observe
from jumok.nn.batch import ImageBatch
from jumok.training.average import load_tensors, model_tensors

CLOSE = {"atol": 1e-4, "rtol": 1e-4}
SIDE, CHANNELS = 24, 3
CODERS = [name for name in MODELS if "image-codes" in model_class(name).tasks]
SIZES = {"image-codes": {"halvings": 2, "width": 8, "most_width": 16}}
VARIANTS = {
    "image-codes": {
        "fsq": {"levels": [5, 4, 3]},
        "fsq, two levels": {"levels": [2, 2, 2, 2, 2], "halvings": 3},
        "vq": {"quantiser": "vq", "codes": 23, "code_width": 5},
        "deeper": {"blocks": 2, "halvings": 1},
        "grey": {"channels": 1},
    },
}
FOLLOWS = {"vq"}  # a codebook moves with every batch in training
CASES = [(name, variant) for name in CODERS for variant in VARIANTS[name]]


def make_model(name, variant, **changes):
    """Return a model whose blocks do something: they begin by changing nothing."""
    torch.manual_seed(5)
    built = model_class(name)
    options = {"image_size": SIDE, "channels": CHANNELS} | SIZES[name] | VARIANTS[name][variant] | changes
    model = built(built.Config(name=name, **options)).eval()
    for parameter in model.parameters():
        if not parameter.any():
            torch.nn.init.normal_(parameter, std=0.1)
    return model


def images_for(model, count=3, seed=3):
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.randn(count, model.config.channels, 6, 6, generator=generator)
    return F.interpolate(coarse, SIDE, mode="bilinear")


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}, {case[1]}")
def case(request):
    return request.param


@pytest.fixture
def model(case):
    return make_model(*case)


def test_codes_say_what_recoding_says(model):
    images = images_for(model)
    found, codes = model.recode(images), model.encode(images)
    assert codes.shape == (3, *model.grid)
    assert 0 <= int(codes.min()) <= int(codes.max()) < model.codes
    assert len(codes.unique()) > 1
    assert torch.equal(found.codes, codes)
    assert found.images.shape == images.shape
    assert_close(model.decode(codes), found.images, **CLOSE)
    assert_close(model(ImageBatch(images, torch.zeros(3))), found.images)
    assert bool(found.loss >= 0)


def test_digits_are_told_where_codes_have_some(case, model):
    product = 1
    for level in model.levels:
        product *= level
    assert product == (1 if "vq" in case[1] else model.codes)


def test_a_batch_of_one_equals_a_batch_of_many(model):
    images = images_for(model)
    assert torch.equal(model.encode(images[1:2])[0], model.encode(images)[1])
    assert_close(model.recode(images[1:2]).images[0], model.recode(images).images[1], **CLOSE)


def test_every_parameter_gets_a_gradient(model):
    images = images_for(model)
    found = model.train().recode(images)
    (F.mse_loss(found.images, images) + found.loss).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert bool(parameter.grad.isfinite().all()), name
        assert parameter.grad.abs().sum() > 0, name


def test_products_in_bf16_change_little(case, model):
    images = images_for(model)
    follows = case[1] in FOLLOWS  # a code may change by a rounding, and with it all that is learnt of its cell
    model.train(not follows)

    def loss():
        found = model.recode(images)
        return F.mse_loss(found.images, images) + found.loss

    check_products_in_bf16(model, loss, near=1.0 if follows else 0.02, along=-1.0 if follows else 0.97)


def test_gradients_of_parts_add_up_to_the_gradient_of_the_whole(case, model):
    def learn(images):
        found = model.recode(images)
        (((found.images - images) ** 2).sum() + found.loss).backward()

    model.train(case[1] not in FOLLOWS)
    images = images_for(model, 5)
    learn(images)
    wanted = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    learn(images[:2])
    learn(images[2:])
    for name, parameter in model.named_parameters():
        assert_close(parameter.grad, wanted[name], atol=1e-3, rtol=1e-3, msg=lambda text, name=name: f"{name}: {text}")


def test_one_batch_can_be_learnt_by_heart(case):
    model = make_model(*case, width=16, most_width=32).train()
    images = images_for(model, 4)
    model.begin(images)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(5):
        for _ in range(30):
            optimizer.zero_grad()
            found = model.recode(images)
            (F.mse_loss(found.images, images) + found.loss / found.codes.numel()).backward()
            optimizer.step()
        left = F.mse_loss(model.eval().recode(images).images, images) / images.var()
        if left < 0.1:
            return
        model.train()
    pytest.fail(f"{left:.2f} of the variance is left after 150 steps")


def test_saved_and_loaded_weights_say_the_same(case, model, tmp_path):
    images = images_for(model)
    model.train().recode(images)  # a codebook has moved, and is kept
    save_file({name: value.contiguous() for name, value in model_tensors(model).items()}, tmp_path / "w.safetensors")
    other = make_model(*case)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(1.0)
    load_tensors(other, load_file(tmp_path / "w.safetensors"))
    assert torch.equal(other.encode(images), model.eval().encode(images))
    assert torch.equal(other.recode(images).images, model.recode(images).images)


def test_there_is_no_attention_to_show(model):
    with observe(model) as record:
        model.recode(images_for(model))
    assert not record.maps
    assert "convolutions" in model.why_no_attention
