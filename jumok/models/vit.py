"""Vision Transformer (Dosovitskiy et al. 2021): an image read as a sequence of patches.

image (B, C, H, W) → patches + positions (B, P, D) → [class token] → encoder (B, 1 + P, D)
  → the class token, or the mean over patches (B, D) → project → logits (B, classes)
"""

from typing import Any, ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from jumok.config import ImageModelConfig, check_multiple
from jumok.nn.batch import ImageBatch
from jumok.nn.dropout import Dropout
from jumok.nn.feedforward import Activation
from jumok.nn.model import ImageReader
from jumok.nn.patches import GridPositionKind, GridPositions, Patches, PatchKind
from jumok.nn.transformer import EncoderStack, LayerOptions

# B batch · C channels · H height · W width of the image · P patches · D width · h rows · w columns of the grid

SPREAD = 0.02  # of weights at the start


class ViTConfig(ImageModelConfig):
    """Sizes and options of a ViT."""

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "digits": {"patch_size": 4, "layers": 4, "width": 96, "feedforward": 192, "heads": 4},  # for 28 × 28
        "small-images": {"patch_size": 4, "layers": 6, "width": 192, "feedforward": 384, "heads": 6},  # for 32 × 32
        "tiny-16": {"patch_size": 16, "layers": 12, "width": 192, "feedforward": 768, "heads": 3},
        "small-16": {"patch_size": 16, "layers": 12, "width": 384, "feedforward": 1536, "heads": 6},
        "base-16": {"patch_size": 16, "layers": 12, "width": 768, "feedforward": 3072, "heads": 12},
    }

    name: Literal["vit"] = "vit"
    patch_size: int = Field(4, ge=1, description="pixels a side")
    patches: PatchKind = Field("matrix", description="how patches are projected: equal but for speed")
    layers: int = Field(6, ge=1)
    width: int = Field(192, ge=1)
    heads: int = Field(6, ge=1)
    feedforward: int = Field(384, ge=0, description="hidden features; 0 = no feed-forward")
    pool: Literal["class", "mean"] = Field("class", description="a class token's state, or the mean over patches")
    positions: GridPositionKind = "learned"
    activation: Activation = "gelu"
    norm_position: Literal["post", "pre"] = "pre"
    norm_epsilon: float = Field(1e-6, gt=0.0)
    dropout: float = Field(0.0, ge=0.0, lt=1.0)
    attention_dropout: float = Field(0.0, ge=0.0, lt=1.0, description="on attention weights (slower: no fused kernel)")
    stochastic_depth: float = Field(0.0, ge=0.0, lt=1.0, description="how often the last layer's parts are left out")

    @model_validator(mode="after")
    def sizes_fit(self) -> Self:
        check_multiple("model.width", self.width, "model.heads", self.heads)
        check_multiple("data.size", self.image_size, "model.patch_size", self.patch_size)
        return self


class ViT(ImageReader):
    """Classify an image read as a sequence of patches."""

    Config = ViTConfig
    tasks = ("image-classification",)

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.config = config
        side = config.image_size // config.patch_size
        self.patches = Patches(config.channels, config.patch_size, config.width, kind=config.patches)
        self.positions = GridPositions(config.positions, config.width, (side, side))
        if config.pool == "class":
            self.class_token = nn.Parameter(torch.zeros(config.width))
        self.dropout = Dropout(config.dropout)
        self.encoder = EncoderStack(LayerOptions.of(config), config.layers)
        self.map_width = config.width
        self.project = nn.Linear(config.width, config.classes)
        self._initialise()

    @torch.no_grad()
    def _initialise(self) -> None:
        nn.init.trunc_normal_(self.patches.project.weight, std=self.patches.project.in_features**-0.5)
        nn.init.zeros_(self.patches.project.bias)
        if self.config.pool == "class":
            self.class_token.normal_(std=SPREAD)
        nn.init.normal_(self.project.weight, std=SPREAD)
        nn.init.zeros_(self.project.bias)

    def grid(self, image: Tensor) -> tuple[int, int]:
        """Return the rows and columns of cells that an image's attention maps have; a class token stands before them."""
        return self.patches.grid(image)

    def states(self, images: Tensor) -> Tensor:
        """Return the last layer's states (B, P, D) of images (B, C, H, W); a class token's stands before them."""
        cells = self.positions(self.patches(images), self.grid(images))
        if self.config.pool == "class":
            cells = torch.cat([self.class_token.expand(len(cells), 1, -1), cells], dim=1)
        found: Tensor = self.encoder(self.dropout(cells))[-1]
        return found

    def feature_map(self, images: Tensor) -> Tensor:
        """Return the patches' last states (B, D, h, w) of images (B, C, H, W)."""
        states = self.states(images)
        cells = states[:, 1:] if self.config.pool == "class" else states
        return cells.transpose(1, 2).view(len(images), -1, *self.grid(images))

    def features(self, batch: ImageBatch) -> Tensor:
        """Return what is projected: (B, D)."""
        states = self.states(batch.images)
        return states[:, 0] if self.config.pool == "class" else states.mean(dim=1)
