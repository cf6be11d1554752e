"""Swin Transformer (Liu et al. 2021): attention in shifted windows, at a coarser grid from stage to stage.

image (B, C, H, W) → patches → norm (B, h, w, D) → 4 × [layers of window attention and feed-forward → merge 2 × 2 cells]
  → norm → mean over cells (B, 8D) → project → logits (B, classes)
"""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from jumok.config import ImageModelConfig
from jumok.errors import ConfigError
from jumok.nn.batch import ImageBatch
from jumok.nn.dropout import Dropout, StochasticDepth, depth_rates
from jumok.nn.feedforward import FeedForward
from jumok.nn.model import ImageReader
from jumok.nn.norms import LayerNorm
from jumok.nn.patches import Patches, PatchKind
from jumok.nn.windows import MergePatches, WindowAttention

# B batch · C channels · H height · W width of the image · h rows · w columns of the grid · D width

SPREAD = 0.02  # of weights at the start
Counts = list[Annotated[int, Field(ge=1)]]


class SwinConfig(ImageModelConfig):
    """Sizes and options of a Swin Transformer; lists have an entry for each stage."""

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "digits": {"patch_size": 2, "width": 32, "layers": [2, 2, 2, 2], "heads": [2, 4, 8, 16], "window": 7},
        "small-images": {"patch_size": 2, "width": 48, "layers": [2, 2, 4, 2], "heads": [3, 6, 12, 24], "window": 4},
        "tiny": {
            "patch_size": 4, "width": 96, "layers": [2, 2, 6, 2], "heads": [3, 6, 12, 24], "window": 7,
            "feedforward_ratio": 4.0, "stochastic_depth": 0.2,
        },
        "small": {
            "patch_size": 4, "width": 96, "layers": [2, 2, 18, 2], "heads": [3, 6, 12, 24], "window": 7,
            "feedforward_ratio": 4.0, "stochastic_depth": 0.3,
        },
        "base": {
            "patch_size": 4, "width": 128, "layers": [2, 2, 18, 2], "heads": [4, 8, 16, 32], "window": 7,
            "feedforward_ratio": 4.0, "stochastic_depth": 0.5,
        },
    }  # fmt: skip

    name: Literal["swin"] = "swin"
    patch_size: int = Field(2, ge=1, description="pixels a side")
    patches: PatchKind = Field("matrix", description="how patches are projected: equal but for speed")
    width: int = Field(48, ge=1, description="of the first stage; it doubles from stage to stage")
    layers: Counts = Field([2, 2, 4, 2], min_length=1, description="of each stage; every second one is shifted")
    heads: Counts = Field([3, 6, 12, 24], min_length=1, description="of each stage")
    window: int = Field(4, ge=1, description="cells a side")
    feedforward_ratio: float = Field(2.0, gt=0.0, description="hidden features, in widths")
    norm_epsilon: float = Field(1e-5, gt=0.0)
    dropout: float = Field(0.0, ge=0.0, lt=1.0)
    attention_dropout: float = Field(0.0, ge=0.0, lt=1.0, description="on attention weights (slower: no fused kernel)")
    stochastic_depth: float = Field(0.1, ge=0.0, lt=1.0, description="how often the last layer's parts are left out")

    @model_validator(mode="after")
    def stages_fit(self) -> Self:
        if len(self.layers) != len(self.heads):
            raise ConfigError(
                f"model.layers has {len(self.layers)} stages and model.heads {len(self.heads)}; give each stage an entry in both"
            )
        for number, heads in enumerate(self.heads):
            width = self.width * 2**number
            if width % heads:
                raise ConfigError(
                    f"stage {number + 1} has width {width}, which is no multiple of its {heads} heads; set model.heads or "
                    "model.width"
                )
        return self


class SwinLayer(nn.Module):
    """Window attention, then feed-forward, each normed before and added to what came in."""

    def __init__(self, config: SwinConfig, width: int, heads: int, *, shifted: bool, depth_rate: float) -> None:
        super().__init__()
        self.attention_norm = LayerNorm(width, eps=config.norm_epsilon)
        self.attention = WindowAttention(width, heads, config.window, shifted=shifted, dropout=config.attention_dropout)
        self.feedforward_norm = LayerNorm(width, eps=config.norm_epsilon)
        hidden = int(config.feedforward_ratio * width)
        self.feedforward = FeedForward(width, hidden, activation="gelu", dropout=config.dropout)
        self.dropout, self.depth = Dropout(config.dropout), StochasticDepth(depth_rate)

    def forward(self, cells: Tensor) -> Tensor:
        """Return (B, h, w, D) of cells (B, h, w, D)."""
        cells, normal = self.attention_norm.beside(cells)
        cells = self.dropout.added(cells, self.depth(self.attention(normal)))
        cells, normal = self.feedforward_norm.beside(cells)
        return self.dropout.added(cells, self.depth(self.feedforward(normal)))


class Stage(nn.Module):
    """Layers at one resolution, and what leads to the next."""

    def __init__(self, config: SwinConfig, number: int, depth_rates: Iterator[float]) -> None:
        super().__init__()
        width, heads = config.width * 2**number, config.heads[number]
        self.layers = nn.ModuleList(
            SwinLayer(config, width, heads, shifted=bool(place % 2), depth_rate=rate)
            for place, rate in enumerate(depth_rates)
        )
        last = number == len(config.layers) - 1
        self.merge = None if last else MergePatches(width, config.norm_epsilon)

    def forward(self, cells: Tensor) -> Tensor:
        """Return the cells of the next stage, or the last one's own."""
        for layer in self.layers:
            cells = layer(cells)
        return cells if self.merge is None else self.merge(cells)


class Swin(ImageReader):
    """Classify an image of any size through windows."""

    Config = SwinConfig
    tasks = ("image-classification",)

    def __init__(self, config: SwinConfig) -> None:
        super().__init__()
        self.config = config
        self.patches = Patches(config.channels, config.patch_size, config.width, kind=config.patches)
        self.patch_norm = LayerNorm(config.width, eps=config.norm_epsilon)
        self.dropout = Dropout(config.dropout)
        rates = depth_rates(config.stochastic_depth, sum(config.layers))
        self.stages = nn.ModuleList(
            Stage(config, number, islice(rates, count)) for number, count in enumerate(config.layers)
        )
        last = config.width * 2 ** (len(config.layers) - 1)
        self.norm = LayerNorm(last, eps=config.norm_epsilon)
        self.map_width = last
        self.project = nn.Linear(last, config.classes)
        with torch.no_grad():
            nn.init.trunc_normal_(self.project.weight, std=SPREAD)
            nn.init.zeros_(self.project.bias)

    def grid(self, image: Tensor) -> tuple[int, int]:
        """Return the rows and columns of the first stage's cells."""
        return self.patches.grid(image)

    def cells(self, images: Tensor) -> Tensor:
        """Return the last stage's cells (B, h, w, 8D) with four stages, normed, of images (B, C, H, W)."""
        patches = self.dropout(self.patch_norm(self.patches(images)))
        cells = patches.view(len(patches), *self.grid(images), -1)  # (B, h, w, D)
        for stage in self.stages:
            cells = stage(cells)
        normed: Tensor = self.norm(cells)
        return normed

    def feature_map(self, images: Tensor) -> Tensor:
        """Return the last stage's cells (B, 8D, h, w) of images (B, C, H, W): coarser than the grid of the first stage."""
        return self.cells(images).permute(0, 3, 1, 2)

    def features(self, batch: ImageBatch) -> Tensor:
        """Return what is projected: (B, 8D) with four stages."""
        return self.cells(batch.images).mean(dim=(1, 2))
