"""The whole inventory on one screen: models, tasks, built-in data sets, trained models that ship with jumok.

An entry names its home as "module:Class", imported when first used, so that listing costs nothing. Beside the names
here stand those that other packages register (entry points of the groups jumok.models and jumok.tasks), and any
"package.module:Class" of a user's own (docs/extend.md).
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jumok.errors import ConfigError, did_you_mean
from jumok.importing import folders_of, import_named

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


@dataclass(frozen=True)
class Shipped:
    """A trained model inside the package, used by its name."""

    summary: str
    folder: str  # inside jumok/shipped
    to: str = ""  # the target language that the name stands for, of a model that has several
    others: tuple[str, ...] = ()  # folders of models of other kinds that a command may mean by the same name


MODELS = {
    "captioner": ModelEntry(
        "Show and Tell, Show, Attend and Tell, or a Transformer: an image in words (Vinyals 2015, Xu 2015)",
        "jumok.models.captioner:Captioner",
    ),
    "cnn": ModelEntry("a small residual CNN, the yardstick for images (He et al. 2016)", "jumok.models.cnn:CNN"),
    "dalle": ModelEntry(
        "DALL-E: one Transformer over a text and the codes of an image, which draws (Ramesh et al. 2021)",
        "jumok.models.dalle:Dalle",
    ),
    "efficientnet": ModelEntry(
        "EfficientNet-Lite: convolutions for small machines (Tan & Le 2019)", "jumok.models.efficientnet:EfficientNet"
    ),
    "forecaster": ModelEntry(
        "Transformer over steps, patches or whole variables of series (Nie et al. 2023, Liu et al. 2024)",
        "jumok.models.forecaster:Forecaster",
    ),
    "image-codes": ModelEntry(
        "an image as a grid of codes, and back (van den Oord et al. 2017, Mentzer et al. 2023)",
        "jumok.models.image_codes:ImageCodes",
    ),
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
    "forecasting": TaskEntry(
        "what comes next in a series of numbers",
        task="jumok.tasks.forecasting:Forecasting",
        predictor="jumok.predictors.forecaster:SeriesForecaster",
        report="jumok.evaluation.forecast_report:forecast_report",
    ),
    "image-captioning": TaskEntry(
        "a sentence about an image",
        task="jumok.tasks.image_captioning:ImageCaptioning",
        predictor="jumok.predictors.captioner:CaptionWriter",
        report="jumok.evaluation.reports:caption_report",
    ),
    "image-classification": TaskEntry(
        "the class of an image",
        task="jumok.tasks.image_classification:ImageClassification",
        predictor="jumok.predictors.image_classifier:ImageClassifier",
        report="jumok.evaluation.reports:classification_report",
    ),
    "image-codes": TaskEntry(
        "an image in codes, and back",
        task="jumok.tasks.image_codes:ImageCoding",
        predictor="jumok.predictors.image_coder:CodePredictor",
        report="jumok.evaluation.codes_report:codes_report",
    ),
    "text-to-image": TaskEntry(
        "an image of what a text says",
        task="jumok.tasks.text_to_image:TextToImage",
        predictor="jumok.predictors.drawer:Drawer",
        report="jumok.evaluation.drawing_report:drawing_report",
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
    "waves": DataSet("hourly series with a trend, two seasons, noise and holidays that are known ahead"),
    "dates": DataSet("dates written out in about 50 languages → ISO 8601"),
    "stdlib": DataSet("running text that ships with Python: docstrings, the licence, the Zen"),
    "copy": DataSet("letters → the same letters"),
    "reverse": DataSet("letters → the same letters, last first"),
    "korean": DataSet("Korean sentences → English, made by a grammar, with word alignments, as many as are wanted"),
    "phrasebook": DataSet("449 everyday sentences in English and Korean, for a list of corpora"),
}


SHIPPED = {  # python -m jumok.workflows.ship RUN FOLDER makes the folders
    "ko-en": Shipped("Korean → English, everyday sentences", "translator", "en"),
    "en-ko": Shipped("English → Korean, everyday sentences", "translator", "ko"),
    "fr-en": Shipped("French → English, everyday sentences", "translator", "en"),
    "en-fr": Shipped("English → French, everyday sentences", "translator", "fr"),
    "shapes-captioner": Shipped("images of the built-in set shapes → their objects in a sentence", "shapes-captioner"),
    "shapes-drawer": Shipped("sentences about coloured forms → images of them", "shapes-drawer"),
    "shapes": Shipped("both by a shorter name", "shapes-captioner", others=("shapes-drawer",)),
}


def registered(kind: Literal["models", "tasks"]) -> dict[str, str]:
    """Return what installed packages add, by name: where each is at home."""
    from importlib.metadata import entry_points

    return {point.name: point.value for point in entry_points(group=f"jumok.{kind}")}


def model_class(name: str, folders: Sequence[Path] = ()) -> "type[Model[Any]]":
    """Return the model of a name; folders are searched for one of a user's own."""
    if name not in MODELS:
        return _own_model(_home("model", name), folders)
    found: type[Model[Any]] = import_named(MODELS[name].model)
    return found


def config_class(name: str, folders: Sequence[Path] = ()) -> "type[ModelConfig]":
    """Return the class of a model's [model]."""
    found: type[ModelConfig] = model_class(name, folders).Config
    return found


def task_entry(name: str, folders: Sequence[Path] = ()) -> TaskEntry:
    """Return the entry of a task; folders are searched for one of a user's own."""
    return TASKS[name] if name in TASKS else _own_task(_home("task", name), folders)


def task_class(name: str, folders: Sequence[Path] = ()) -> "type[Task[Any, Any, Any]]":
    """Return the task of a name."""
    found: type[Task[Any, Any, Any]] = import_named(task_entry(name, folders).task)
    return found


def predictor_class(name: str) -> "type[AnyPredictor]":
    """Return what the models of a task are used through."""
    found: type[AnyPredictor] = import_named(task_entry(name).predictor)
    return found


def report_of(name: str) -> "Callable[[str, str, Mapping[str, Any]], ScoreReport]":
    """Return what makes the scores of a task readable: it takes label, split and scores."""
    found: Callable[[str, str, Mapping[str, Any]], ScoreReport] = import_named(task_entry(name).report)
    return found


def check_model_fits(task: str, model: str) -> None:
    """Refuse a model that was not made for a task."""
    fitting = model_class(model).tasks
    if task not in fitting and not _is_kind_of(task, fitting):
        others = [name for name in MODELS if task in model_class(name).tasks]
        cure = f"use {' or '.join(others)}" if others else f"name it among the model's own: tasks = ('{task}',)"
        raise ConfigError(f"model '{model}' is for {', '.join(fitting)}, not for {task}; {cure}")


def _is_kind_of(task: str, others: Sequence[str]) -> bool:
    """Return whether a task of a user's own is made of one of jumok's, whose models then fit."""
    return task not in TASKS and any(issubclass(task_class(task), task_class(name)) for name in others if name in TASKS)


def code_folders(*names: str) -> list[str]:
    """Return where the modules of a user's own task and model came from, so that a run finds them again."""
    return folders_of(name for name in names if ":" in name)


def _home(kind: Literal["model", "task"], name: str) -> str:
    """Return where a model or a task that is none of jumok's own is at home."""
    if ":" in name:
        return name
    others = registered("models" if kind == "model" else "tasks")
    if name not in others:
        known = [*(MODELS if kind == "model" else TASKS), *others]
        raise ConfigError(f"there is no {kind} '{name}'; {did_you_mean(name, known)}")
    return others[name]


def _own_model(home: str, folders: Sequence[Path]) -> "type[Model[Any]]":
    """Return a model of a user's own, or say what it lacks."""
    from jumok.config import ModelConfig
    from jumok.nn.model import Model

    found = import_named(home, folders)
    if not inspect.isclass(found) or not issubclass(found, Model):
        raise ConfigError(f"'{home}' is no model: it must be a subclass of jumok.nn.model.Model (docs/extend.md)")
    if inspect.isabstract(found):
        raise ConfigError(f"'{home}' lacks {', '.join(sorted(found.__abstractmethods__))} (docs/extend.md)")
    config = getattr(found, "Config", None)
    if not inspect.isclass(config) or not issubclass(config, ModelConfig):
        raise ConfigError(f"'{home}' needs a Config, a subclass of jumok.config.ModelConfig (docs/extend.md)")
    if not found.tasks:
        raise ConfigError(f"'{home}' does not say what it is for, such as tasks = ('text-classification',)")
    return found


def _own_task(home: str, folders: Sequence[Path] = ()) -> TaskEntry:
    """Return the entry of a user's own task; all that it names is imported while its folder is searched."""
    entry = import_named(home, folders)
    if not isinstance(entry, TaskEntry):
        raise ConfigError(f"'{home}' is no jumok.catalogue.TaskEntry: task, predictor and report (docs/extend.md)")
    for part in (entry.task, entry.predictor, entry.report):
        import_named(part, folders)
    return entry
