"""The schema of a recipe: one class per section."""

from jumok.config.caption_data import CaptionData, CaptionFiles
from jumok.config.component import CodesConfig, ComponentConfig, as_run
from jumok.config.data import DataConfig, DataFile, Split
from jumok.config.decoding import DecodingConfig
from jumok.config.encoder import EncoderConfig, as_encoder
from jumok.config.image_data import Augment, ImageData, ImageFiles
from jumok.config.model import (
    CodesModelConfig,
    DrawerModelConfig,
    ImageModelConfig,
    ModelConfig,
    PairModelConfig,
    SeriesModelConfig,
    TextModelConfig,
    check_multiple,
)
from jumok.config.section import Section
from jumok.config.series_data import SeriesData, SeriesFile
from jumok.config.text_data import Corpus, LabelledData, LabelledFile, MaskedTextData, ParallelData, TextData, TextFile
from jumok.config.tokenizer import TokenizerConfig
from jumok.config.training import TrainingConfig

__all__ = [
    "Augment",
    "CaptionData",
    "CaptionFiles",
    "CodesConfig",
    "CodesModelConfig",
    "ComponentConfig",
    "Corpus",
    "DataConfig",
    "DataFile",
    "DecodingConfig",
    "DrawerModelConfig",
    "EncoderConfig",
    "ImageData",
    "ImageFiles",
    "ImageModelConfig",
    "LabelledData",
    "LabelledFile",
    "MaskedTextData",
    "ModelConfig",
    "PairModelConfig",
    "ParallelData",
    "Section",
    "SeriesData",
    "SeriesFile",
    "SeriesModelConfig",
    "Split",
    "TextData",
    "TextFile",
    "TextModelConfig",
    "TokenizerConfig",
    "TrainingConfig",
    "as_encoder",
    "as_run",
    "check_multiple",
]
