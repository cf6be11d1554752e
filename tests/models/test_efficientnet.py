"""EfficientNet-Lite against plain functions that follow the papers' table: same tensors, same padding, same logits."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from jumok.models.efficientnet import EfficientNet, EfficientNetConfig, SameConv2d
from jumok.nn.batch import ImageBatch
from jumok.runs.components import weights_file

TENSORS = {"lite0": (296, 4_652_008), "lite1": (386, 5_416_680), "lite2": (386, 6_092_072)}


def make_model(variant="lite0", size=64, classes=1000):
    return EfficientNet(EfficientNetConfig(variant=variant, image_size=size, channels=3, classes=classes)).eval()


def make_image(size=61):
    """Return a coloured slope with a disc: no two places alike, no random numbers."""
    y, x = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    disc = ((x - 0.2) ** 2 + (y + 0.1) ** 2 < 0.3).float()
    return torch.stack([x * (1 - disc), y + disc, torch.sin(5 * x * y)])[None]


# --- the same by plain functions: rows of the facts' table, padding by hand

TABLE = [
    # blocks, kernel, stride, expansion, width
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
]


def same(x, weight, stride=1, groups=1):
    """Convolve as TensorFlow's SAME does: every output cell by the padding's own formula."""
    kernel, pads = weight.shape[-1], []
    for size in (x.shape[-1], x.shape[-2]):
        total = max((math.ceil(size / stride) - 1) * stride + kernel - size, 0)
        pads += [total // 2, total - total // 2]
    return F.conv2d(F.pad(x, pads), weight, stride=stride, groups=groups)


def norm(x, weights, name):
    mean, variance, scale, shift = (
        weights[f"{name}.{part}"][:, None, None] for part in ("running_mean", "running_var", "weight", "bias")
    )
    return (x - mean) / torch.sqrt(variance + 1e-3) * scale + shift


def plain_logits(weights, image, stage_blocks):
    x = norm(same(image, weights["_conv_stem.weight"], 2), weights, "_bn0").clamp(0, 6)
    number = 0
    for (_, kernel, stride, expansion, _), blocks in zip(TABLE, stage_blocks, strict=True):
        for place in range(blocks):
            here, inside, name = stride if place == 0 else 1, x, f"_blocks.{number}"
            if expansion > 1:
                x = norm(same(x, weights[f"{name}._expand_conv.weight"]), weights, f"{name}._bn0").clamp(0, 6)
            depthwise = weights[f"{name}._depthwise_conv.weight"]
            assert depthwise.shape[-1] == kernel
            x = norm(same(x, depthwise, here, x.shape[1]), weights, f"{name}._bn1").clamp(0, 6)
            x = norm(same(x, weights[f"{name}._project_conv.weight"]), weights, f"{name}._bn2")
            x = x + inside if here == 1 and x.shape == inside.shape else x
            number += 1
    head = norm(same(x, weights["_conv_head.weight"]), weights, "_bn1").clamp(0, 6)
    return head.mean(dim=(2, 3)) @ weights["_fc.weight"].T + weights["_fc.bias"]


BLOCKS = {"lite0": [1, 2, 2, 3, 3, 4, 1], "lite1": [1, 3, 3, 4, 4, 5, 1], "lite2": [1, 3, 3, 4, 4, 5, 1]}


def logits_of(model, image):
    with torch.inference_mode():
        return model(ImageBatch(image, torch.zeros(1, dtype=torch.int64)))


@pytest.mark.parametrize("variant", TENSORS)
@pytest.mark.parametrize("size", [61, 64])
def test_logits_are_those_of_the_table(variant, size):
    torch.manual_seed(5)
    model = make_model(variant, classes=7)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(std=0.2)
            module.running_var.uniform_(0.05, 0.2)
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
            torch.nn.init.normal_(module.bias)
    weights = {name.replace("project.", "_fc."): value for name, value in model.state_dict().items()}
    found = logits_of(model, make_image(size))
    assert found.std() > 0.01, "or the test would see nothing"
    assert_close(found, plain_logits(weights, make_image(size), BLOCKS[variant]), atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("variant", TENSORS)
def test_sizes_are_those_of_the_weight_files(variant):
    with torch.device("meta"):
        model = make_model(variant)
    tensors, parameters = TENSORS[variant]
    assert len(model.state_dict()) == tensors
    assert model.parameter_count == parameters


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("size", [(8, 8), (7, 9), (1, 2), (5, 6)], ids=str)
def test_padding_is_tensorflows_same(size, kernel, stride):
    torch.manual_seed(3)
    convolution = SameConv2d(3, 4, kernel, stride=stride, bias=False)
    x = torch.randn(2, 3, *size)
    found = convolution(x)
    assert found.shape[-2:] == tuple(-(-side // stride) for side in size)
    assert_close(found, same(x, convolution.weight, stride))


# --- the pretrained weights


@pytest.fixture(scope="module")
def weights():
    return torch.load(weights_file("efficientnet-lite0"), weights_only=True)


def test_pretrained_weights_give_the_logits_of_the_plain_functions(weights):
    model = make_model()
    model.load_state_dict({name.replace("_fc.", "project."): value for name, value in weights.items()})
    found = logits_of(model, make_image(96))
    assert_close(found, plain_logits(weights, make_image(96), BLOCKS["lite0"]), atol=1e-3, rtol=1e-3)
    assert found.softmax(dim=1).max() > 10 / 1000, "a disc on a slope is something: not every class alike"
