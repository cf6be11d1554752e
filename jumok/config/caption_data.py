"""The [data] of a recipe about images and the sentences that describe them."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from jumok.config.data import DataFile
from jumok.config.image_data import Augment, PixelData
from jumok.config.section import one_or_its_name
from jumok.errors import ConfigError


class CaptionFiles(DataFile):
    """Captions, and where the images are that they describe; or images, each described by the name of its class."""

    file: str = Field(
        description="captions: a .csv, .tsv, .jsonl or .parquet table, COCO's or Karpathy's .json, Flickr8k's own text "
        "file, or a .json of lists by the images' names or in their order (.gz allowed); or images whose class is their "
        "caption: a folder of class folders, an .npz, IDX (MNIST), a .bin batch (CIFAR)"
    )
    images: str = Field(
        "",
        description="the images' folder, or an .npz of many; '' = the folder of the captions",
    )
    image: int | str = Field(0, description="a table's column of images, from the images' folder on")
    caption: int | str | list[int | str] = Field(
        1,
        description="a table's column of captions, or a key in .json, whose values may be lists; a list of columns: all of them",
    )
    group: int | str = Field(
        "",
        description="a table's column, or a key in a .json list, of the group of an image, for scores of drawings; '' = none",
    )
    labels_file: str = Field("", description="IDX: the file of classes; '' = the same name with labels-idx1")
    split_column: int | str = Field("", description="a table's column of the split that a row belongs to; '' = none")
    split: str = Field(
        "",
        description="take what is of this split: of split_column, or of Karpathy's file; or a .txt with names of images",
    )

    @model_validator(mode="after")
    def a_split_column_needs_a_split(self) -> Self:
        if self.split_column != "" and not self.split:
            raise ConfigError(f"{self.file}: split_column = '{self.split_column}' needs split, what is wanted of it")
        return self


class CaptionData(PixelData[CaptionFiles]):
    """Images and their captions: a built-in set, or files for each split."""

    INSIDE = CaptionFiles
    FILLED_IN: ClassVar[tuple[str, ...]] = ("size", "channels", "mean", "deviation")

    captions: Literal["plain", "relations"] = Field(
        "relations", description="shapes: its first sentence, or up to five objects from left to right, with relations"
    )
    withhold: bool = Field(
        False,
        description="shapes with relations: keep some pairs of colour and form, and some orders of two forms, out of "
        "training; val and test get a part of its own for each",
    )
    brief: bool = Field(
        False,
        description="shapes with relations: a second caption of each training image leaves places, sizes or colours out, "
        "as people do; val and test get a part of their own of such captions",
    )
    train: list[CaptionFiles] = Field([], description="captions to learn from", json_schema_extra=one_or_its_name)
    val: list[CaptionFiles] = Field(
        [], description="captions to score during training", json_schema_extra=one_or_its_name
    )
    test: list[CaptionFiles] = Field([], description="captions for the final score", json_schema_extra=one_or_its_name)
    hold_out: int = Field(
        0, ge=0, description="images taken from train for val where val has no files; 0 = 5 %, at most 1000"
    )
    lowercase: bool = Field(False, description="make all captions lower case")
    punctuation: bool = Field(
        True, description="keep punctuation marks; false = drop those around words (man's and t-shirt stay)"
    )
    max_length: int = Field(100, ge=1, description="most tokens of a training caption; longer ones are left out")
    size: int = Field(0, ge=0, description="pixels per side; 0 = what a pretrained encoder sees, or the first image's")
    fit: Literal["crop", "squeeze", "pad"] = Field("squeeze", description="how an image that is not square becomes so")
    augment: Augment = Field(Augment(), description="how images are varied in training; not with a frozen encoder")

    @model_validator(mode="after")
    def only_relations_withhold_or_are_brief(self) -> Self:
        relations = self.set == "shapes" and self.captions == "relations"
        if self.withhold and not relations:
            raise ConfigError(
                'data.withhold keeps combinations of the built-in set out of training: it needs set = "shapes" and captions '
                '= "relations"; leave it out'
            )
        if self.brief and not relations:
            raise ConfigError(
                'data.brief adds shorter captions of the built-in set: it needs set = "shapes" and captions = "relations"; '
                "leave it out"
            )
        return self
