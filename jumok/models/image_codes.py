"""Image codes: an image as a small grid of numbers, and back (van den Oord et al. 2017, Mentzer et al. 2023).

image (B, C, H, W) → [convolution that halves it → residual blocks] × halvings → vectors (B, h, w, E)
  → quantiser → codes (B, h, w) → vectors → [residual blocks → twice as large] × halvings → image (B, C, H, W)

What a drawer draws is codes: an image can be no better than what its codes say.
"""

from typing import Any, ClassVar, Literal, Self

import torch
import torch.nn.functional as F
from pydantic import Field, field_validator, model_validator
from torch import Tensor, nn

from jumok.config import CodesModelConfig
from jumok.errors import ConfigError
from jumok.nn.batch import ImageBatch
from jumok.nn.convolution import Conv2d
from jumok.nn.model import ImageCoder, Recoded
from jumok.nn.norms import GroupNorm
from jumok.nn.quantisers import FiniteScalarQuantiser, Quantiser, VectorQuantiser

# B batch · C channels · H, W height and width of the image · h, w rows and columns of codes · E features of a vector

GROUPS = 8  # of channels that a group norm takes together


class ImageCodesConfig(CodesModelConfig):
    """Sizes and options of a model of image codes."""

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "coarse": {"halvings": 3},
        "fine": {"halvings": 2},
    }

    name: Literal["image-codes"] = "image-codes"
    halvings: int = Field(3, ge=1, description="how often the image is halved: 3 makes 8 × 8 codes of 64 pixels")
    width: int = Field(
        32, ge=8, multiple_of=8, description="channels after the first halving; they double at each that follows"
    )
    most_width: int = Field(128, ge=8, multiple_of=8, description="channels beyond which they no longer double")
    blocks: int = Field(1, ge=1, description="residual blocks at each size")
    quantiser: Literal["fsq", "vq"] = Field("fsq", description="finite scalar quantisation, or a codebook")
    levels: list[int] = Field(
        [8, 6, 5], min_length=1, description="fsq: levels of each feature; their product is the number of codes"
    )
    codes: int = Field(512, ge=2, le=65_536, description="vq: vectors of the codebook")
    code_width: int = Field(16, ge=1, description="vq: features of each")
    commitment: float = Field(0.25, ge=0.0, description="vq: weight of the loss that keeps features near the codebook")

    @field_validator("levels")
    @classmethod
    def levels_are_two_or_more(cls, value: list[int]) -> list[int]:
        if any(level < 2 for level in value):
            raise ConfigError(f"model.levels = {value}: each feature needs 2 levels at least, such as [8, 6, 5]")
        return value

    @model_validator(mode="after")
    def options_fit(self) -> Self:
        size, part = self.image_size, 2**self.halvings
        if size % part:
            below, most = size - size % part, (size & -size).bit_length() - 1
            raise ConfigError(
                f"data.size ({size}) must be a multiple of 2 to the power of model.halvings ({part}); set data.size to "
                f"{f'{below} or ' if below else ''}{below + part}{f', or model.halvings to {most}' if most else ''}"
            )
        return self

    @property
    def why_no_film(self) -> str:
        """What is said where there is no attention to be filmed."""
        return "convolutions make its codes, and convolutions look at nothing; film the drawer that uses them"


class ImageCodes(ImageCoder):
    """Say an image in codes, and make an image of codes."""

    Config = ImageCodesConfig
    tasks = ("image-codes",)
    why_no_attention = "This model has no attention to show: convolutions make its codes; `jumok look` shows them."

    def __init__(self, config: ImageCodesConfig) -> None:
        super().__init__()
        self.config = config
        widths = [min(config.width * 2**halving, config.most_width) for halving in range(config.halvings)]
        self.quantiser: Quantiser = (
            FiniteScalarQuantiser(config.levels)
            if config.quantiser == "fsq"
            else VectorQuantiser(config.codes, config.code_width, commitment=config.commitment)
        )
        self.codes = self.quantiser.count
        self.levels = tuple(config.levels) if config.quantiser == "fsq" else ()
        down, inside = [], config.channels
        for width in widths:
            down += [Conv2d(inside, width, 4, stride=2, padding=1), *blocks(width, config.blocks)]
            inside = width
        up = []
        for outside in reversed([config.channels, *widths[:-1]]):
            up += [*blocks(inside, config.blocks), *ending(inside), Enlarge(inside, outside)]
            inside = outside
        self.down = nn.Sequential(*down, *ending(widths[-1]))
        self.project = nn.Linear(widths[-1], self.quantiser.width)
        self.of_code = nn.Linear(self.quantiser.width, widths[-1])
        self.up = nn.Sequential(*up)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                module.weight.data = module.weight.data.contiguous(memory_format=torch.channels_last)

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of codes."""
        side = self.config.image_size // 2**self.config.halvings
        return side, side

    def features(self, batch: ImageBatch) -> Tensor:
        """Return what is projected to the quantiser's features: (B, h, w, D)."""
        return self._seen(batch.images)

    def forward(self, batch: ImageBatch) -> Tensor:
        """Return the images (B, C, H, W) that the codes of a batch's images tell."""
        return self.recode(batch.images).images

    def recode(self, images: Tensor) -> Recoded:
        """Return images (B, C, H, W) as their codes tell them, with gradients."""
        vectors, codes, loss = self.quantiser.quantise(self.project(self._seen(images)))
        return Recoded(self._image(vectors), codes, loss)

    def encode(self, images: Tensor) -> Tensor:
        """Return the codes (B, h, w) of images (B, C, H, W)."""
        return self.quantiser.quantise(self.project(self._seen(images))).codes

    def decode(self, codes: Tensor) -> Tensor:
        """Return images (B, C, H, W) of codes (B, h, w)."""
        return self._image(self.quantiser.vectors(codes))

    @torch.no_grad()
    def begin(self, images: Tensor) -> None:
        """Look at some images (B, C, H, W) before training: a codebook starts from them."""
        self.quantiser.begin(self.project(self._seen(images)).flatten(0, 2))

    def _seen(self, images: Tensor) -> Tensor:
        found: Tensor = self.down(images.contiguous(memory_format=torch.channels_last))
        return found.permute(0, 2, 3, 1)  # (B, h, w, D)

    def _image(self, vectors: Tensor) -> Tensor:
        found: Tensor = self.up(self.of_code(vectors).permute(0, 3, 1, 2))
        return found


class Block(nn.Module):
    """Two convolutions, each after a norm, added to what came in."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            *ending(width), Conv2d(width, width, 3, padding=1), *ending(width), Conv2d(width, width, 3, padding=1)
        )
        last = self.inner[-1]
        assert isinstance(last, nn.Conv2d)
        nn.init.zeros_(last.weight)  # a block begins by changing nothing

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, D, H, W) of x (B, D, H, W)."""
        found: Tensor = x + self.inner(x)
        return found


class Enlarge(nn.Module):
    """Make a map twice as large: a convolution writes the four cells that each becomes."""

    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.spread = Conv2d(inside, 4 * outside, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, outside, 2 H, 2 W) of x (B, inside, H, W)."""
        return F.pixel_shuffle(self.spread(x), 2)


def blocks(width: int, count: int) -> list[nn.Module]:
    """Return so many residual blocks."""
    return [Block(width) for _ in range(count)]


def ending(width: int) -> list[nn.Module]:
    """Return what stands before a convolution: a norm over each image's own channels, and an activation."""
    return [GroupNorm(GROUPS, width), nn.SiLU()]
