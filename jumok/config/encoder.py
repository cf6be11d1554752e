"""The encoder of a model that is made of another one: what sees the image before a captioner speaks.

A run names it, with the hash of its weights; a run whose encoder is missing or has changed is refused.
"""

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from jumok.config.component import ComponentConfig
from jumok.errors import ConfigError

PRETRAINED = ("efficientnet-lite0", "efficientnet-lite1", "efficientnet-lite2")


class EncoderConfig(ComponentConfig):
    """A CNN trained along, a pretrained one from the extra `vision`, or a run of image classification."""

    FILLED_IN: ClassVar[tuple[str, ...]] = ("size", "hash", "model")
    TASK = "image-classification"

    name: Literal["cnn", "efficientnet-lite0", "efficientnet-lite1", "efficientnet-lite2", "run"] = "cnn"
    run: str = Field("", description="name = 'run': the folder of a run of image classification (ViT, Swin, CNN)")
    width: int = Field(32, ge=8, multiple_of=8, description="cnn: channels of the first stage; they double each stage")
    stages: int = Field(3, ge=1, description="cnn: each after the first halves the resolution")
    blocks: int = Field(1, ge=1, description="cnn: residual blocks a stage")
    stem_pool: bool = Field(False, description="cnn: halve the image before the first stage")
    norm: Literal["batch", "group"] = Field(
        "group", description="cnn: captions of like length make a batch, and a norm over such images misleads"
    )
    size: int = Field(
        0, ge=0, description="pixels per side that it sees, enlarged from data.size; 0 = its own, cnn: data.size"
    )
    finetune: bool = Field(False, description="train a pretrained encoder, too; it is frozen otherwise")
    finetune_after: int = Field(1000, ge=0, description="finetune: steps in which it still rests")
    finetune_rate: float = Field(0.1, gt=0.0, le=1.0, description="finetune: its share of the learning rate")

    @model_validator(mode="after")
    def run_needs_its_folder(self) -> Self:
        if (self.name == "run") != bool(self.run):
            raise ConfigError(
                "model.encoder: name = 'run' and run = 'FOLDER' go together: encoder = { name = 'run', run = 'FOLDER' }"
            )
        if self.finetune and self.name == "cnn":
            raise ConfigError("model.encoder.finetune is for a pretrained encoder; a cnn is always trained")
        return self

    @property
    def pretrained(self) -> bool:
        """Whether it starts from weights that were learnt before."""
        return self.name != "cnn"

    @property
    def frozen(self) -> bool:
        """Whether its weights stay as they are, so that what it sees in an image is computed once."""
        return self.pretrained and not self.finetune

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return self.run or self.name

    def taken(self, *, hash: str, size: int, model: dict[str, Any]) -> dict[str, Any]:
        """Return what is filled in of the component that was found."""
        return {"hash": hash, "size": size, "model": model}


def as_encoder(value: Any) -> Any:
    """Return an encoder that is given by its name alone as a table."""
    return {"name": value} if isinstance(value, str) else value
