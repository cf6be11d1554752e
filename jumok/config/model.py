"""The [model] of a recipe: what the models' own sections share."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from jumok.config.component import CodesConfig, ComponentConfig, as_run
from jumok.config.encoder import EncoderConfig, as_encoder
from jumok.config.section import Section, table_or_name
from jumok.config.tokenizer import TokenizerConfig
from jumok.errors import ConfigError, did_you_mean


class ModelConfig(Section):
    """Sizes and options of a model. A preset gives sizes that single keys override."""

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {}
    FRESH_ONLY: ClassVar[tuple[str, ...]] = ()  # keys about fresh weights, of no use to a run that starts from another
    EXTRA_TOKENS: ClassVar[int] = 0  # rows of the vocabulary behind the tokenizer's own, such as the mask token

    name: str
    preset: str = Field("", description="a named set of sizes; keys given beside it win")

    @model_validator(mode="before")
    @classmethod
    def fill_in_preset(cls, values: Any) -> Any:
        preset = values.get("preset", "") if isinstance(values, dict) else ""
        if not isinstance(preset, str):
            return values  # told as any other key of a wrong type
        if preset and preset not in cls.PRESETS:
            raise ConfigError(f"model.preset = '{preset}' does not exist; {did_you_mean(preset, cls.PRESETS)}")
        return {**cls.PRESETS[preset], **values} if preset else values

    @property
    def longest(self) -> int:
        """The longest sequence the model is made for; 0: any."""
        return 0

    @property
    def components(self) -> Mapping[str, ComponentConfig]:
        """The trained models that this one is made of, by what they are to it; a task finds them in its components."""
        return {}

    @property
    def why_no_film(self) -> str:
        """What is said where there is no attention to be filmed; "": there is some."""
        return ""

    def with_tokenizer(self, tokenizer: TokenizerConfig) -> Self:
        """Return the configuration that fits a tokenizer's options."""
        return self


class PairModelConfig(ModelConfig):
    """A model that turns one sequence of tokens into another."""

    FILLED_IN: ClassVar[tuple[str, ...]] = ("source_vocabulary", "target_vocabulary")
    FRESH_ONLY: ClassVar[tuple[str, ...]] = ("source_embeddings", "target_embeddings")

    source_vocabulary: int = Field(0, ge=0, description="filled in from the tokenizer")
    target_vocabulary: int = Field(0, ge=0, description="filled in from the tokenizer")
    shared_embeddings: bool = Field(True, description="one table for both sides, where the vocabulary is shared")
    source_embeddings: str = Field("", description="word2vec text file to start from")
    target_embeddings: str = Field("", description="word2vec text file to start from")

    def with_tokenizer(self, tokenizer: TokenizerConfig) -> Self:
        """Return the configuration with a table for each side where each has its own vocabulary.

        Two vocabularies may happen to have one size, so that sizes alone do not tell.
        """
        return self if tokenizer.shared else self.model_copy(update={"shared_embeddings": False})


class TextModelConfig(ModelConfig):
    """A model that reads one sequence of tokens."""

    FILLED_IN: ClassVar[tuple[str, ...]] = ("vocabulary",)

    vocabulary: int = Field(0, ge=0, description="filled in from the tokenizer")


class ImageModelConfig(ModelConfig):
    """A model that reads an image."""

    FILLED_IN: ClassVar[tuple[str, ...]] = ("image_size", "channels", "classes")

    image_size: int = Field(0, ge=0, description="filled in from data.size: pixels a side")
    channels: int = Field(0, ge=0, description="filled in from the data: 1 for grey, 3 for colour")
    classes: int = Field(0, ge=0, description="filled in from the data")


class CodesModelConfig(ModelConfig):
    """A model that says images in codes."""

    FILLED_IN: ClassVar[tuple[str, ...]] = ("image_size", "channels")

    image_size: int = Field(0, ge=0, description="filled in from data.size: pixels a side")
    channels: int = Field(0, ge=0, description="filled in from the data: 1 for grey, 3 for colour")
    loss: Literal["l1", "l2"] = Field("l2", description="how pixels are compared")
    perceptual: float = Field(
        0.0, ge=0.0, description="weight of the difference between the features that `critic` sees in both images"
    )
    critic: EncoderConfig = Field(
        EncoderConfig(),
        description="perceptual: a run of image classification, { name = 'run', run = 'FOLDER' }",
        json_schema_extra=table_or_name,
    )

    @field_validator("critic", mode="before")
    @classmethod
    def critic_by_name(cls, value: Any) -> Any:
        return as_encoder(value)

    @model_validator(mode="after")
    def a_critic_needs_its_weight(self) -> Self:
        if bool(self.perceptual) != self.critic.frozen:
            raise ConfigError(
                "model.perceptual and model.critic go together: perceptual = 0.1 and critic = { name = 'run', "
                "run = 'FOLDER' }, a run of image classification"
            )
        return self

    @property
    def components(self) -> Mapping[str, ComponentConfig]:
        """The reader whose features are compared, where there is one."""
        return {"critic": self.critic} if self.perceptual else {}


class DrawerModelConfig(ModelConfig):
    """A model that draws what a text says, in the codes of another run."""

    FILLED_IN: ClassVar[tuple[str, ...]] = ("vocabulary", "code_count", "rows", "columns", "longest_text")

    vocabulary: int = Field(0, ge=0, description="filled in from the tokenizer")
    code_count: int = Field(0, ge=0, description="filled in from the image codes: how many there are")
    rows: int = Field(0, ge=0, description="filled in from the image codes")
    columns: int = Field(0, ge=0, description="filled in from the image codes")
    longest_text: int = Field(0, ge=0, description="filled in from data.max_length: most tokens of a text")
    codes: CodesConfig = Field(
        CodesConfig(),
        description="the run of image codes that it draws in; its folder alone is enough",
        json_schema_extra=table_or_name,
    )
    text_share: float = Field(
        0.125,
        ge=0.0,
        lt=1.0,
        description="of the loss that the text has; 0.125 is the paper's 1 : 7, 0 = learn no text",
    )
    text_dropout: float = Field(
        0.1, ge=0.0, lt=1.0, description="how often a text is dropped in training: guidance needs drawings of no text"
    )

    @field_validator("codes", mode="before")
    @classmethod
    def codes_by_folder(cls, value: Any) -> Any:
        return as_run(value)

    @property
    def components(self) -> Mapping[str, ComponentConfig]:
        """The image codes."""
        return {"codes": self.codes}

    @property
    def longest(self) -> int:
        """The longest text that it can be given, in tokens."""
        return self.longest_text


class SeriesModelConfig(ModelConfig):
    """A model that reads windows of series."""

    FILLED_IN: ClassVar[tuple[str, ...]] = (
        "look_back",
        "horizon",
        "targets",
        "past",
        "known",
        "static",
        "relative",
        "joint",
    )

    look_back: int = Field(0, ge=0, description="filled in from data.look_back")
    horizon: int = Field(0, ge=0, description="filled in from data.horizon")
    targets: int = Field(0, ge=0, description="filled in from the data: how many columns are forecast")
    past: int = Field(0, ge=0, description="filled in from the data: columns known only in the past")
    known: int = Field(0, ge=0, description="filled in from the data: columns known ahead")
    static: int = Field(0, ge=0, description="filled in from the data: features that are constant in a series")
    relative: bool = Field(False, description="filled in from data.transform: targets are told from the last step on")
    joint: bool = Field(False, description="filled in from data.paths: the ridge regression takes x and y together")
    ridge: float = Field(
        0.0,
        ge=0.0,
        description="penalty, per example, of the ridge regression that it begins from; 0 = 0.05, of paths 1e-5",
    )
    units: Literal["scaled", "window"] = Field(
        "scaled", description="errors count in units of the column, or of each window: for series of very unlike sizes"
    )


def check_multiple(what: str, size: int, of: str, part: int, remedy: str = "") -> None:
    """Refuse a size that cannot be shared out evenly."""
    if size % part:
        below = f"{what} ({size}) must be a multiple of {of} ({part}); the nearest below is {size - size % part}"
        raise ConfigError(f"{below}; {remedy}" if remedy else below)
