"""The schema of a recipe: one class per section."""

from jumok.config.data import DataConfig, DataFile, Split
from jumok.config.decoding import DecodingConfig
from jumok.config.image_data import Augment, ImageData, ImageFiles
from jumok.config.model import ImageModelConfig, ModelConfig, PairModelConfig, TextModelConfig, check_multiple
from jumok.config.section import Section
from jumok.config.text_data import Corpus, LabelledData, LabelledFile, MaskedTextData, ParallelData, TextData, TextFile
from jumok.config.tokenizer import TokenizerConfig
from jumok.config.training import TrainingConfig

__all__ = [
    "Augment",
    "Corpus",
    "DataConfig",
    "DataFile",
    "DecodingConfig",
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
    "Split",
    "TextData",
    "TextFile",
    "TextModelConfig",
    "TokenizerConfig",
    "TrainingConfig",
    "check_multiple",
]
