"""The whole inventory on one screen: models, tasks, built-in data sets, trained models that ship with jumok.

An entry names its home as "module:Class", imported when first used, so that listing costs nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from jumok.errors import ConfigError, did_you_mean


@dataclass(frozen=True)
class Entry:
    """One thing jumok offers."""

    summary: str
    home: str = ""

    def load(self) -> Any:
        """Import the entry's home."""
        module, _, name = self.home.partition(":")
        return getattr(import_module(module), name)


@dataclass(frozen=True)
class Shipped:
    """A trained model inside the package, used by its name."""

    summary: str
    folder: str  # inside jumok/shipped
    to: str = ""  # the target language that the name stands for, of a model that has several


MODELS = {
    "cnn": Entry("a small residual CNN, the yardstick for images (He et al. 2016)", "jumok.models.cnn:CNN"),
    "mixer": Entry("MLP-Mixer: patches mixed without attention (Tolstikhin et al. 2021)", "jumok.models.mixer:Mixer"),
    "swin": Entry("Swin: attention in shifted windows of an image (Liu et al. 2021)", "jumok.models.swin:Swin"),
    "vit": Entry(
        "Vision Transformer: an image as a sequence of patches (Dosovitskiy et al. 2021)", "jumok.models.vit:ViT"
    ),
    "bert": Entry("the encoder alone: fills gaps, names classes (Devlin et al. 2019)", "jumok.models.bert:Bert"),
    "gpt": Entry("the decoder alone, which writes on (Radford et al. 2018, 2019)", "jumok.models.gpt:GPT"),
    "recurrent-classifier": Entry(
        "sequence → last recurrent state → class: the plain baseline",
        "jumok.models.recurrent_classifier:RecurrentClassifier",
    ),
    "seq2seq": Entry(
        "recurrent encoder-decoder, with attention or without (Sutskever 2014, Bahdanau 2015, Luong 2015)",
        "jumok.models.seq2seq:Seq2Seq",
    ),
    "transformer": Entry("Transformer, encoder-decoder (Vaswani et al. 2017)", "jumok.models.transformer:Transformer"),
}

TASKS = {
    "image-classification": Entry("the class of an image", "jumok.tasks.image_classification:ImageClassification"),
    "text-classification": Entry(
        "the class of a text, or of two", "jumok.tasks.text_classification:TextClassification"
    ),
    "masked-language-modeling": Entry(
        "the hidden words of a text", "jumok.tasks.masked_language_modeling:MaskedLanguageModeling"
    ),
    "language-modeling": Entry("what comes next in running text", "jumok.tasks.language_modeling:LanguageModeling"),
    "translation": Entry("one sequence of tokens into another", "jumok.tasks.translation:Translation"),
}

DATASETS = {
    "shapes": Entry("coloured forms drawn on the spot, with boxes and captions"),
    "dates": Entry("dates written out in about 50 languages → ISO 8601"),
    "stdlib": Entry("running text that ships with Python: docstrings, the licence, the Zen"),
    "copy": Entry("letters → the same letters"),
    "reverse": Entry("letters → the same letters, last first"),
    "phrasebook": Entry("449 everyday sentences in English and Korean, for a list of corpora"),
}


SHIPPED = {  # python -m jumok.workflows.ship RUN FOLDER makes the folders
    "ko-en": Shipped("Korean → English, everyday sentences", "translator", "en"),
    "en-ko": Shipped("English → Korean, everyday sentences", "translator", "ko"),
    "fr-en": Shipped("French → English, everyday sentences", "translator", "en"),
    "en-fr": Shipped("English → French, everyday sentences", "translator", "fr"),
}


def find(kind: str, name: str, entries: Mapping[str, Entry]) -> Entry:
    """Return the entry of a name, or say which names there are."""
    if name not in entries:
        raise ConfigError(f"there is no {kind} '{name}'; {did_you_mean(name, entries)}")
    return entries[name]


def model_class(name: str) -> Any:
    """Return the model of a name."""
    return find("model", name, MODELS).load()


def task_class(name: str) -> Any:
    """Return the task of a name."""
    return find("task", name, TASKS).load()


def check_model_fits(task: str, model: str) -> None:
    """Refuse a model that was not made for a task."""
    fitting = model_class(model).tasks
    if task not in fitting:
        others = [name for name in MODELS if task in model_class(name).tasks]
        raise ConfigError(f"model '{model}' is for {', '.join(fitting)}, not for {task}; use {' or '.join(others)}")
