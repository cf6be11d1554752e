"""A small residual network (He et al. 2016): the yardstick that the attention models for images are held against.

image (B, C, H, W) → 3 × 3 convolution, where asked for 2 × 2 pooling
  → stages of residual blocks, each at half the resolution and twice the width → feature map (B, D, h, w)
  → mean over places (B, D) → project → logits (B, classes)
"""

from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from jumok.config import ImageModelConfig
from jumok.nn.batch import ImageBatch
from jumok.nn.convolution import Conv2d
from jumok.nn.dropout import Dropout
from jumok.nn.model import ImageReader
from jumok.nn.norms import GroupNorm

# B batch · C channels · H height · W width of the image · D features of the last stage · h, w its cells

Norm = Literal["batch", "group"]


class CNNConfig(ImageModelConfig):
    """Sizes of a residual network."""

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "digits": {"width": 16, "stages": 3, "blocks": 1},
        "small-images": {"width": 64, "stages": 3, "blocks": 2, "stem_pool": True},
    }

    name: Literal["cnn"] = "cnn"
    # torch 2.13's convolutions on a CPU write past their memory at some smaller numbers (4 and 6 were seen to).
    width: int = Field(
        32,
        ge=8,
        multiple_of=8,
        description="channels of the first stage, a multiple of 8; they double from stage to stage",
    )
    stages: int = Field(3, ge=1)
    blocks: int = Field(2, ge=1, description="residual blocks a stage")
    stem_pool: bool = Field(False, description="halve the image before the first stage: wider stages at the same cost")
    norm: Norm = Field(
        "batch",
        description="over the batch, or over 8 groups of each image's own channels, so that no image sees another",
    )
    dropout: float = Field(0.0, ge=0.0, lt=1.0, description="before the projection")


GROUPS = 8  # of channels that a group norm takes together


def make_norm(kind: Norm, channels: int) -> nn.Module:
    """Return the norm of a feature map."""
    return nn.BatchNorm2d(channels) if kind == "batch" else GroupNorm(GROUPS, channels)


class ResidualBlock(nn.Module):
    """Two convolutions, each normed, and what came in added to what comes out."""

    norm_of = {"first": "first_norm", "second": "second_norm", "around.0": "around.1"}

    def __init__(self, inside: int, outside: int, *, stride: int, norm: Norm) -> None:
        super().__init__()
        self.first = Conv2d(inside, outside, 3, stride=stride, padding=1, bias=False)
        self.first_norm = make_norm(norm, outside)
        self.second = Conv2d(outside, outside, 3, padding=1, bias=False)
        self.second_norm = make_norm(norm, outside)
        self.around: nn.Module = nn.Identity()
        if stride != 1 or inside != outside:
            self.around = nn.Sequential(Conv2d(inside, outside, 1, stride=stride, bias=False), make_norm(norm, outside))

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, outside, H / stride, W / stride) of x (B, inside, H, W)."""
        inner = F.relu(self.first_norm(self.first(x)))
        return F.relu(self.second_norm(self.second(inner)) + self.around(x))


class CNN(ImageReader):
    """Classify an image by convolutions; there is no attention to look at."""

    Config = CNNConfig
    tasks = ("image-classification",)
    why_no_attention = "This model has no attention to show: its convolutions see the same neighbourhood everywhere."
    norm_of = {"stem": "stem_norm"}

    def __init__(self, config: CNNConfig) -> None:
        super().__init__()
        self.config = config
        self.stem = Conv2d(config.channels, config.width, 3, padding=1, bias=False)
        self.stem_norm = make_norm(config.norm, config.width)
        blocks, inside = [], config.width
        for stage in range(config.stages):
            outside = config.width * 2**stage
            for number in range(config.blocks):
                stride = 2 if stage and not number else 1
                blocks.append(ResidualBlock(inside, outside, stride=stride, norm=config.norm))
                inside = outside
        self.blocks = nn.Sequential(*blocks)
        self.map_width = inside
        self.dropout = Dropout(config.dropout)
        self.project = nn.Linear(inside, config.classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                module.weight.data = module.weight.data.contiguous(memory_format=torch.channels_last)

    def feature_map(self, images: Tensor) -> Tensor:
        """Return the last stage's features (B, D, h, w) of images (B, C, H, W)."""
        x = images.contiguous(memory_format=torch.channels_last)
        x = F.relu(self.stem_norm(self.stem(x)))
        if self.config.stem_pool:
            x = F.max_pool2d(x, 2, ceil_mode=True)  # an image of one pixel keeps it
        found: Tensor = self.blocks(x)
        return found

    def features(self, batch: ImageBatch) -> Tensor:
        """Return the mean of the feature map, which is projected: (B, D)."""
        pooled: Tensor = self.dropout(self.feature_map(batch.images).mean(dim=(2, 3)))
        return pooled
