"""The whole inventory on one screen: models, tasks, built-in data sets, trained models that ship with jumok.

An entry names its home as "module:Class", imported when first used, so that listing costs nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from jumok.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from jumok.config import ModelConfig
    from jumok.evaluation.reports import ScoreReport
    from jumok.nn.model import Model
    from jumok.predictors.base import AnyPredictor
    from jumok.tasks.base import Task


@dataclass(frozen=True)
class DataSet:
    """A built-in data set."""

    summary: str


@dataclass(frozen=True)
class ModelEntry:
    """A model, and where its class is."""

    summary: str
    model: str


@dataclass(frozen=True)
class TaskEntry:
    """A task, what its models are used through, and how its scores are shown to people."""

    summary: str
    task: str
    predictor: str
    report: str


def load(home: str) -> Any:
    """Import what "module:Name" names."""
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


@dataclass(frozen=True)
class Shipped:
    """A trained model inside the package, used by its name."""

    summary: str
    folder: str  # inside jumok/shipped
    to: str = ""  # the target language that the name stands for, of a model that has several


MODELS = {
    "cnn": ModelEntry("a small residual CNN, the yardstick for images (He et al. 2016)", "jumok.models.cnn:CNN"),
    "mixer": ModelEntry(
        "MLP-Mixer: patches mixed without attention (Tolstikhin et al. 2021)", "jumok.models.mixer:Mixer"
    ),
    "swin": ModelEntry("Swin: attention in shifted windows of an image (Liu et al. 2021)", "jumok.models.swin:Swin"),
    "vit": ModelEntry(
        "Vision Transformer: an image as a sequence of patches (Dosovitskiy et al. 2021)", "jumok.models.vit:ViT"
    ),
    "bert": ModelEntry(
        "the encoder alone: fills in masked tokens, names classes (Devlin et al. 2019)", "jumok.models.bert:Bert"
    ),
    "gpt": ModelEntry("the decoder alone, which writes on (Radford et al. 2018, 2019)", "jumok.models.gpt:GPT"),
    "recurrent-classifier": ModelEntry(
        "sequence → last recurrent state → class: the plain baseline",
        "jumok.models.recurrent_classifier:RecurrentClassifier",
    ),
    "seq2seq": ModelEntry(
        "recurrent encoder-decoder, with attention or without (Sutskever 2014, Bahdanau 2015, Luong 2015)",
        "jumok.models.seq2seq:Seq2Seq",
    ),
    "transformer": ModelEntry(
        "Transformer, encoder-decoder (Vaswani et al. 2017)", "jumok.models.transformer:Transformer"
    ),
}

TASKS = {
    "image-classification": TaskEntry(
        "the class of an image",
        task="jumok.tasks.image_classification:ImageClassification",
        predictor="jumok.predictors.image_classifier:ImageClassifier",
        report="jumok.evaluation.reports:classification_report",
    ),
    "text-classification": TaskEntry(
        "the class of a text, or of two",
        task="jumok.tasks.text_classification:TextClassification",
        predictor="jumok.predictors.text_classifier:TextClassifier",
        report="jumok.evaluation.reports:classification_report",
    ),
    "masked-language-modeling": TaskEntry(
        "the masked tokens of a text",
        task="jumok.tasks.masked_language_modeling:MaskedLanguageModeling",
        predictor="jumok.predictors.filler:Filler",
        report="jumok.evaluation.reports:masked_language_report",
    ),
    "language-modeling": TaskEntry(
        "what comes next in running text",
        task="jumok.tasks.language_modeling:LanguageModeling",
        predictor="jumok.predictors.writer:Writer",
        report="jumok.evaluation.reports:language_report",
    ),
    "translation": TaskEntry(
        "one sequence of tokens into another",
        task="jumok.tasks.translation:Translation",
        predictor="jumok.predictors.translator:Translator",
        report="jumok.evaluation.reports:translation_report",
    ),
}

DATASETS = {
    "shapes": DataSet("coloured forms drawn on the spot, with boxes and captions"),
    "dates": DataSet("dates written out in about 50 languages → ISO 8601"),
    "stdlib": DataSet("running text that ships with Python: docstrings, the licence, the Zen"),
    "copy": DataSet("letters → the same letters"),
    "reverse": DataSet("letters → the same letters, last first"),
    "phrasebook": DataSet("449 everyday sentences in English and Korean, for a list of corpora"),
}


SHIPPED = {  # python -m jumok.workflows.ship RUN FOLDER makes the folders
    "ko-en": Shipped("Korean → English, everyday sentences", "translator", "en"),
    "en-ko": Shipped("English → Korean, everyday sentences", "translator", "ko"),
    "fr-en": Shipped("French → English, everyday sentences", "translator", "en"),
    "en-fr": Shipped("English → French, everyday sentences", "translator", "fr"),
}


EntryT = TypeVar("EntryT")


def find(kind: str, name: str, entries: Mapping[str, EntryT]) -> EntryT:
    """Return the entry of a name, or say which names there are."""
    if name not in entries:
        raise ConfigError(f"there is no {kind} '{name}'; {did_you_mean(name, entries)}")
    return entries[name]


def model_class(name: str) -> "type[Model[Any]]":
    """Return the model of a name."""
    found: type[Model[Any]] = load(find("model", name, MODELS).model)
    return found


def config_class(name: str) -> "type[ModelConfig]":
    """Return the class of a model's [model]."""
    found: type[ModelConfig] = model_class(name).Config
    return found


def task_class(name: str) -> "type[Task[Any, Any, Any]]":
    """Return the task of a name."""
    found: type[Task[Any, Any, Any]] = load(find("task", name, TASKS).task)
    return found


def predictor_class(name: str) -> "type[AnyPredictor]":
    """Return what the models of a task are used through."""
    found: type[AnyPredictor] = load(find("task", name, TASKS).predictor)
    return found


def report_of(name: str) -> "Callable[[str, str, Mapping[str, Any]], ScoreReport]":
    """Return what makes the scores of a task readable: it takes label, split and scores."""
    found: Callable[[str, str, Mapping[str, Any]], ScoreReport] = load(find("task", name, TASKS).report)
    return found


def check_model_fits(task: str, model: str) -> None:
    """Refuse a model that was not made for a task."""
    fitting = model_class(model).tasks
    if task not in fitting:
        others = [name for name in MODELS if task in model_class(name).tasks]
        raise ConfigError(f"model '{model}' is for {', '.join(fitting)}, not for {task}; use {' or '.join(others)}")
