"""The schema of a recipe: one class a section."""

from jumok.config.data import Corpus, GapData, LabelledData, LabelledFile, ParallelData, TextData, TextFile
from jumok.config.decoding import DecodingConfig
from jumok.config.model import ModelConfig, PairModelConfig, PictureModelConfig, TextModelConfig, check_multiple
from jumok.config.pictures import Augment, PictureData, PictureFiles
from jumok.config.section import Section
from jumok.config.tokenizer import TokenizerConfig
from jumok.config.training import TrainingConfig

__all__ = [
    "Augment",
    "Corpus",
    "DecodingConfig",
    "GapData",
    "LabelledData",
    "LabelledFile",
    "ModelConfig",
    "PairModelConfig",
    "ParallelData",
    "PictureData",
    "PictureFiles",
    "PictureModelConfig",
    "Section",
    "TextData",
    "TextFile",
    "TextModelConfig",
    "TokenizerConfig",
    "TrainingConfig",
    "check_multiple",
]
