"""EfficientNet-Lite (Tan & Le 2019; Liu 2020): convolutions that a phone can run, pretrained on ImageNet.

image (B, 3, H, W) → stem at half the resolution → 7 stages of inverted residual blocks → map (B, 320 or 352, h, w)
  → 1 × 1 convolution (B, 1280, h, w) → mean over places → project → logits (B, classes)

h = H / 32, rounded up. Modules are named as in the weight files, so that those load as they are.
"""

import math
from typing import ClassVar, Literal, NamedTuple

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from jumok.config import ImageModelConfig
from jumok.nn.batch import ImageBatch
from jumok.nn.convolution import narrow_convolution
from jumok.nn.dropout import Dropout
from jumok.nn.model import ImageReader
from jumok.nn.precision import narrow

# B batch · H height · W width of the image · h, w cells of the last map

Variant = Literal["lite0", "lite1", "lite2"]
HEAD = 1280


class Stage(NamedTuple):
    """A row of the paper's table 1, before scaling."""

    blocks: int
    kernel: int
    stride: int
    expansion: int
    width: int


STAGES = (
    Stage(1, 3, 1, 1, 16),
    Stage(2, 3, 2, 6, 24),
    Stage(2, 5, 2, 6, 40),
    Stage(3, 3, 2, 6, 80),
    Stage(3, 5, 1, 6, 112),
    Stage(4, 5, 2, 6, 192),
    Stage(1, 3, 1, 6, 320),
)
SCALES: dict[str, tuple[float, float]] = {"lite0": (1.0, 1.0), "lite1": (1.0, 1.1), "lite2": (1.1, 1.2)}  # width, depth


def scaled(variant: str) -> list[Stage]:
    """Return the stages of a variant; the first and the last keep their one block."""
    wider, deeper = SCALES[variant]
    found = []
    for number, stage in enumerate(STAGES):
        blocks = stage.blocks if number in (0, len(STAGES) - 1) else math.ceil(stage.blocks * deeper)
        found.append(stage._replace(blocks=blocks, width=_in_eights(stage.width * wider)))
    return found


def _in_eights(width: float) -> int:
    """Return the nearest multiple of 8, never more than a tenth below."""
    rounded = max(8, int(width + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * width else rounded


class EfficientNetConfig(ImageModelConfig):
    """Which of the EfficientNet-Lites."""

    name: Literal["efficientnet"] = "efficientnet"
    variant: Variant = "lite0"
    dropout: float = Field(0.2, ge=0.0, lt=1.0, description="before the projection")
    MEAN: ClassVar[float] = 127 / 255  # of every channel: pixels become (x − 127) / 128
    DEVIATION: ClassVar[float] = 128 / 255


class SameConv2d(nn.Conv2d):
    """A convolution padded as TensorFlow's SAME: the odd pixel stands right and below."""

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, out, ⌈H / stride⌉, ⌈W / stride⌉) of x (B, in, H, W)."""
        kernel, stride = self.kernel_size[0], self.stride[0]
        high, wide = (max((-(-size // stride) - 1) * stride + kernel - size, 0) for size in x.shape[-2:])
        if high % 2 or wide % 2:
            x = F.pad(x, (wide // 2, wide - wide // 2, high // 2, high - high // 2))
            high = wide = 0
        convolve = narrow_convolution if narrow() else F.conv2d
        return convolve(x, self.weight, self.bias, self.stride, (high // 2, wide // 2), (1, 1), self.groups)


def _conv(inside: int, outside: int, kernel: int, *, stride: int = 1, groups: int = 1) -> SameConv2d:
    return SameConv2d(inside, outside, kernel, stride=stride, groups=groups, bias=False)


def _norm(width: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(width, eps=1e-3, momentum=0.01)


def _relu6(x: Tensor) -> Tensor:
    return F.relu6(x, inplace=True)  # nobody needs what comes out of a norm


class InvertedBlock(nn.Module):
    """Widen, look at the neighbourhood channel by channel, narrow again; what came in is added where shapes agree."""

    norm_of = {"_expand_conv": "_bn0", "_depthwise_conv": "_bn1", "_project_conv": "_bn2"}

    def __init__(self, inside: int, stage: Stage, *, stride: int) -> None:
        super().__init__()
        wide = inside * stage.expansion
        self.expands, self.adds = stage.expansion != 1, stride == 1 and inside == stage.width
        if self.expands:
            self._expand_conv, self._bn0 = _conv(inside, wide, 1), _norm(wide)
        self._depthwise_conv, self._bn1 = _conv(wide, wide, stage.kernel, stride=stride, groups=wide), _norm(wide)
        self._project_conv, self._bn2 = _conv(wide, stage.width, 1), _norm(stage.width)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, stage.width, H / stride, W / stride) of x (B, inside, H, W)."""
        inner = _relu6(self._bn0(self._expand_conv(x))) if self.expands else x
        inner = _relu6(self._bn1(self._depthwise_conv(inner)))
        narrow: Tensor = self._bn2(self._project_conv(inner))
        return narrow + x if self.adds else narrow


class EfficientNet(ImageReader):
    """Classify an image, or hand its feature map to a captioner."""

    Config = EfficientNetConfig
    tasks = ("image-classification",)
    why_no_attention = "This model has no attention to show: its convolutions see the same neighbourhood everywhere."
    behind_map = ("_conv_head", "_bn1", "project")
    norm_of = {"_conv_stem": "_bn0", "_conv_head": "_bn1"}

    def __init__(self, config: EfficientNetConfig) -> None:
        super().__init__()
        self.config = config
        blocks: list[nn.Module] = []
        inside = 32
        self._conv_stem, self._bn0 = _conv(config.channels, inside, 3, stride=2), _norm(inside)
        for stage in scaled(config.variant):
            for number in range(stage.blocks):
                blocks.append(InvertedBlock(inside, stage, stride=1 if number else stage.stride))
                inside = stage.width
        self._blocks = nn.ModuleList(blocks)
        self.map_width = inside
        self._conv_head, self._bn1 = _conv(inside, HEAD, 1), _norm(HEAD)
        self.dropout = Dropout(config.dropout)
        self.project = nn.Linear(HEAD, config.classes)

    def feature_map(self, images: Tensor) -> Tensor:
        """Return the last stage's features (B, 320 or 352, h, w) of images (B, 3, H, W)."""
        x = images.contiguous(memory_format=torch.channels_last)
        x = _relu6(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        return x

    def features(self, batch: ImageBatch) -> Tensor:
        """Return the mean of the widened map, which is projected: (B, 1280)."""
        head = _relu6(self._bn1(self._conv_head(self.feature_map(batch.images))))
        pooled: Tensor = self.dropout(head.mean(dim=(2, 3)))
        return pooled
