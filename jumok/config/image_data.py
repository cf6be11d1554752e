"""The [data] of a recipe about images: where they are, how large, and how they are varied in training."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from jumok.config.data import DataConfig, DataFile, FileT, as_files, refuse_equal_labels
from jumok.config.section import Section, one_or_its_name
from jumok.errors import ConfigError

AboveZero = Annotated[float, Field(gt=0.0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class ImageFiles(DataFile):
    """Images and their classes: a folder of class folders, a table, or a file of many images."""

    file: str = Field(
        description="a folder of class folders; a .csv, .tsv, .jsonl or .parquet table; an .npz; IDX images (MNIST); "
        "a .bin batch (CIFAR)"
    )
    image: int | str = Field(0, description="a table's column of paths, from the table's folder on")
    label: int | str = Field(1, description="a table's column of classes")
    labels_file: str = Field("", description="IDX: the file of classes; '' = the same name with labels-idx1")
    split_column: int | str = Field(
        "", description="a table's column that says which split a row belongs to; '' = none"
    )
    split: str = Field("", description="take the rows that have this in split_column")

    @model_validator(mode="after")
    def split_needs_both(self) -> Self:
        if (self.split_column == "") != (self.split == ""):
            raise ConfigError(f"{self.file}: split_column and split are given together, or neither")
        return self


class Augment(Section):
    """How an image is varied in training. Each key is off at 0; they are applied in this order."""

    crop: int = Field(0, ge=0, description="pixels of empty border, from which a place of the image's size is drawn")
    zoom: float = Field(
        0.0, ge=0.0, lt=1.0, description="cut a random part out, of 1 − zoom of the area at least, and enlarge it"
    )
    flip: bool = Field(False, description="mirror left and right, half of the time")
    policy: int = Field(
        0, ge=0, description="so many operations drawn for each image: turns, shears, shifts, tones (RandAugment)"
    )
    policy_strength: float = Field(0.3, ge=0.0, le=1.0, description="how far they go")
    jitter: Share = Field(0.0, description="brightness, contrast and colour by a factor drawn from 1 ± this")
    erase: Share = Field(0.0, description="how often a random rectangle is filled with noise")
    mixup: float = Field(0.0, ge=0.0, description="lay two images over each other: alpha of the Beta distribution")
    cutmix: float = Field(
        0.0, ge=0.0, description="put a rectangle of another image in: alpha of the Beta distribution"
    )


class PixelData(DataConfig[FileT]):
    """What every [data] of images has: a built-in set or files, and how an image becomes what a model sees."""

    set: str = Field("", description="a built-in set (jumok list) instead of files")
    set_size: int = Field(0, ge=0, description="training images of a built-in set; 0 = its own default")
    limit: int = Field(0, ge=0, description="learn from so many images only, drawn at random; 0 = all")
    size: int = Field(0, ge=0, description="pixels per side; 0 = that of the first training image")
    channels: Literal[0, 1, 3] = Field(0, description="1 = grey, 3 = colour; 0 = that of the first training image")
    fit: Literal["crop", "squeeze", "pad"] = Field("crop", description="how an image that is not square becomes so")
    mean: list[float] = Field([], max_length=3, description="of each channel, 0 to 1; of the training data where empty")
    deviation: list[AboveZero] = Field(
        [], max_length=3, description="of each channel; of the training data where empty"
    )
    augment: Augment = Field(Augment(), description="how images are varied in training")
    loaders: int = Field(1, ge=0, description="processes that prepare images ahead, for each that trains; 0 = none")

    @property
    def built_in(self) -> str:
        """The name of the built-in set that stands instead of files."""
        return self.set

    @model_validator(mode="after")
    def each_channel_has_its_own(self) -> Self:
        for key, values in (("mean", self.mean), ("deviation", self.deviation)):
            if values and self.channels and len(values) != self.channels:
                raise ConfigError(
                    f"data.{key} has {len(values)} numbers and an image {self.channels} channels; give one for each channel"
                )
        return self

    @field_validator("train", "val", "test", mode="before")
    @classmethod
    def one_source_is_a_list(cls, value: Any) -> Any:
        return as_files(value)


class ImageData(PixelData[ImageFiles]):
    """Images and their classes: a built-in set, or files for each split."""

    INSIDE = ImageFiles
    FILLED_IN: ClassVar[tuple[str, ...]] = ("labels", "size", "channels", "mean", "deviation")

    train: list[ImageFiles] = Field([], description="images to learn from", json_schema_extra=one_or_its_name)
    val: list[ImageFiles] = Field([], description="images to score during training", json_schema_extra=one_or_its_name)
    test: list[ImageFiles] = Field([], description="images for the final score", json_schema_extra=one_or_its_name)
    labels: list[str] = Field([], description="the classes in order; those of the training data, sorted, where empty")
    hold_out: int = Field(
        0, ge=0, description="images taken from train for val where val has no files; 0 = 5 %, at most 5000"
    )

    @field_validator("labels")
    @classmethod
    def labels_differ(cls, value: list[str]) -> list[str]:
        return refuse_equal_labels(value)
