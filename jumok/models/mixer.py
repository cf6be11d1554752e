"""MLP-Mixer (Tolstikhin et al. 2021): patches mixed by plain feed-forward layers, across places and across features.

image (B, C, H, W) → patches (B, P, D) → [mix places: norm, transpose, P → hidden → P; mix features: norm, D → hidden → D]
  → norm → mean over patches (B, D) → project → logits (B, classes)
"""

from typing import Any, ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from jumok.config import ImageModelConfig, check_multiple
from jumok.nn.batch import ImageBatch
from jumok.nn.dropout import Dropout, StochasticDepth, depth_rates
from jumok.nn.feedforward import FeedForward
from jumok.nn.model import ImageReader
from jumok.nn.norms import LayerNorm
from jumok.nn.patches import Patches, PatchKind
from jumok.nn.transformer import Layers

# B batch · C channels · H height · W width of the image · P patches · D width · h rows · w columns of the grid


class MixerConfig(ImageModelConfig):
    """Sizes and options of an MLP-Mixer."""

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "digits": {"patch_size": 4, "layers": 4, "width": 96, "feedforward": 192, "place_feedforward": 64},
        "small-images": {"patch_size": 4, "layers": 8, "width": 192, "feedforward": 384, "place_feedforward": 96},
        "small-16": {"patch_size": 16, "layers": 8, "width": 512, "feedforward": 2048, "place_feedforward": 256},
        "base-16": {"patch_size": 16, "layers": 12, "width": 768, "feedforward": 3072, "place_feedforward": 384},
    }

    name: Literal["mixer"] = "mixer"
    patch_size: int = Field(4, ge=1, description="pixels a side")
    patches: PatchKind = Field("matrix", description="how patches are projected: equal but for speed")
    layers: int = Field(8, ge=1)
    width: int = Field(192, ge=1)
    feedforward: int = Field(384, ge=1, description="hidden features of the layers that mix features")
    place_feedforward: int = Field(96, ge=1, description="hidden features of the layers that mix places")
    norm_epsilon: float = Field(1e-6, gt=0.0)
    dropout: float = Field(0.0, ge=0.0, lt=1.0)
    stochastic_depth: float = Field(0.0, ge=0.0, lt=1.0, description="how often the last layer's parts are left out")

    @model_validator(mode="after")
    def patches_tile_the_image(self) -> Self:
        check_multiple("data.size", self.image_size, "model.patch_size", self.patch_size)
        return self


class MixerLayer(nn.Module):
    """Mix places, the same way for every feature; then features, the same way at every place."""

    def __init__(self, config: MixerConfig, places: int, depth_rate: float) -> None:
        super().__init__()
        self.place_norm = LayerNorm(config.width, eps=config.norm_epsilon)
        self.places = FeedForward(places, config.place_feedforward, activation="gelu", dropout=config.dropout)
        self.feature_norm = LayerNorm(config.width, eps=config.norm_epsilon)
        self.features = FeedForward(config.width, config.feedforward, activation="gelu", dropout=config.dropout)
        self.dropout, self.depth = Dropout(config.dropout), StochasticDepth(depth_rate)

    def mixing_weights(self) -> Tensor:
        """Return how much each place adds to each other, were there no activation between: (P, P)."""
        return self.places.contract.weight @ self.places.expand.weight

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, P, D) of x (B, P, D)."""
        x, normal = self.place_norm.beside(x)
        x = self.dropout.added(x, self.depth(self.places(normal.transpose(1, 2)).transpose(1, 2)))
        x, normal = self.feature_norm.beside(x)
        return self.dropout.added(x, self.depth(self.features(normal)))


class Mixer(ImageReader):
    """Classify an image by mixing its patches; there is no attention to look at."""

    Config = MixerConfig
    tasks = ("image-classification",)
    why_no_attention = "This model has no attention to show: it mixes places in the same way for all images."

    def __init__(self, config: MixerConfig) -> None:
        super().__init__()
        self.config = config
        side = config.image_size // config.patch_size
        self.patches = Patches(config.channels, config.patch_size, config.width, kind=config.patches)
        rates = depth_rates(config.stochastic_depth, config.layers)
        self.layers: Layers[MixerLayer] = Layers(MixerLayer(config, side * side, rate) for rate in rates)
        self.norm = LayerNorm(config.width, eps=config.norm_epsilon)
        self.map_width = config.width
        self.project = nn.Linear(config.width, config.classes)
        nn.init.zeros_(self.project.weight)  # as in the paper: every class is as likely at the start
        nn.init.zeros_(self.project.bias)

    def grid(self, image: Tensor) -> tuple[int, int]:
        """Return the rows and columns of patches of an image (…, H, W)."""
        return self.patches.grid(image)

    def mixing_weights(self) -> Tensor:
        """Return how each layer mixes places: (layers, P, P)."""
        return torch.stack([layer.mixing_weights() for layer in self.layers])

    def states(self, images: Tensor) -> Tensor:
        """Return the last layer's states (B, P, D), normed, of images (B, C, H, W)."""
        x = self.patches(images)
        for layer in self.layers:
            x = layer(x)
        normed: Tensor = self.norm(x)
        return normed

    def feature_map(self, images: Tensor) -> Tensor:
        """Return the patches' last states (B, D, h, w) of images (B, C, H, W)."""
        return self.states(images).transpose(1, 2).view(len(images), -1, *self.grid(images))

    def features(self, batch: ImageBatch) -> Tensor:
        """Return what is projected: (B, D)."""
        return self.states(batch.images).mean(dim=1)
