"""What a task is to trainer, check, job and predictors: everything they may call, declared here.

recipe, folders → open → complete (recipe with sizes) → batches → loss …; evaluate → scores; survey → what `check` shows

Nobody outside asks which task it is: what differs between tasks is a method or an attribute of this class.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar

import torch

from jumok.config import DataConfig, DataFile, Split, TrainingConfig
from jumok.config.recipe import Recipe
from jumok.data import corpora as data_corpora
from jumok.data.corpora import ProgressCallback
from jumok.data.stream import Stream
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import ConfigError
from jumok.inspection.film import Shot
from jumok.nn.component import Component
from jumok.nn.model import Model
from jumok.tasks.losses import Loss
from jumok.tasks.survey import Survey

Direction = Literal["smaller", "larger"]  # of a score: which values are better
Scores = dict[str, Any]  # by name: numbers; 'samples' holds texts for the display

ModelT = TypeVar("ModelT", bound=Model[Any])
BatchT = TypeVar("BatchT")
BatchT_co = TypeVar("BatchT_co", covariant=True)
StoreT = TypeVar("StoreT")


class Pending(Protocol[BatchT_co]):
    """A batch as a stream hands it out: of some examples, on its way to a device. A batch itself is one."""

    def __len__(self) -> int:
        """Return how many examples there are."""

    def part(self, number: int, parts: int) -> Self:
        """Return every parts-th example, from number on."""

    def to(self, device: torch.device) -> BatchT_co:
        """Return the batch on device."""


class Task(ABC, Generic[ModelT, BatchT, StoreT]):
    """What is to be learnt: from data to batches and a loss, from answers to scores."""

    Data: ClassVar[type[DataConfig[DataFile]]]  # the class of its [data]
    Corpora: ClassVar[type[data_corpora.Corpora[Any, Any]]]  # and of what is read by it
    sections: ClassVar[tuple[str, ...]] = ()  # of a recipe that it uses beside data, model and training
    tokenizer_names: ClassVar[tuple[str, ...]] = ()  # a run keeps a file for each
    unit: ClassVar[str]  # what the loss is counted over
    rewarded: ClassVar[bool] = False  # whether its answers are texts that training.self_critical can reward
    filmed: ClassVar[bool] = False  # whether a run's attention can be filmed at its evaluations
    recipe: Recipe
    corpora: data_corpora.Corpora[Any, StoreT]  # the data of the recipe
    components: Mapping[str, Component] = MappingProxyType({})  # trained models that the recipe's model is made of

    def __init__(self, recipe: Recipe, corpora: data_corpora.Corpora[Any, StoreT]) -> None:
        self.recipe, self.corpora = recipe, corpora

    @classmethod
    def open(
        cls,
        recipe: Recipe,
        folders: Sequence[Path],
        *,
        tokenizers: Mapping[str, Tokenizer] | None = None,
        progress: ProgressCallback = lambda what, done: None,
    ) -> Self:
        """Return the task of a recipe; tokenizers are trained where none are given, data is read when needed.

        As it stands here, it is that of a task without tokenizers, whose batches are counted in examples.
        """
        assert isinstance(recipe.data, cls.Data)
        if recipe.training.batch_tokens != TrainingConfig().batch_tokens:
            raise ConfigError(f"training.batch_tokens is for text; set training.batch_size, in {cls.unit}")
        return cls(recipe, cls.Corpora(recipe.data, folders, progress))

    @property
    @abstractmethod
    def scores(self) -> Mapping[str, Direction]:
        """The val scores taken during training, and whether smaller or larger values are better."""

    @property
    @abstractmethod
    def size(self) -> str:
        """How much there is to learn from, in words."""

    @property
    def tokenizers(self) -> dict[str, Tokenizer]:
        """The tokenizers by name, as a run keeps them."""
        return {}

    @property
    def fingerprint(self) -> str:
        """What changes when the training data does."""
        return self.corpora.fingerprint

    def notes(self) -> list[str]:
        """Return what a user should know of the data before a run, one line each."""
        return []

    def open_split(self, split: Split) -> dict[str, StoreT]:
        """Return the stores of a split by label, ready for use."""
        return self.corpora.evaluation(split)

    def monitored(self) -> list[StoreT]:
        """Return the val stores that are scored during training: what is withheld from it must not choose its weights."""
        return [store for title, store in self.open_split("val").items() if title not in self.corpora.withheld]

    def take_components(self, components: Mapping[str, Component]) -> None:
        """Take the trained models that the recipe's model is made of, before anything of the data is read."""
        self.components = components

    @abstractmethod
    def complete(self, recipe: Recipe) -> Recipe:
        """Return the recipe with what the model takes from the data: vocabulary sizes, classes, image sizes."""

    def initialise(self, model: ModelT) -> list[str]:
        """Start weights from files and components where the recipe names some; return what was done, one line each."""
        notes = []
        for name, config in self.recipe.model.components.items():
            if not config.frozen:  # then a copy of it is a part of the model
                self.components[name].start(model.get_submodule(name))
                notes.append(f"the {name} starts from {config.title}")
        return notes

    def check_fits(self, model: ModelT) -> None:
        """Refuse what cannot work before training starts."""
        monitor = self.recipe.training.monitor
        if monitor not in self.scores:
            raise ConfigError(f"training.monitor = '{monitor}' is not among the scores: {', '.join(self.scores)}")
        if self.recipe.training.self_critical != "none" and not self.rewarded:
            raise ConfigError(
                f"training.self_critical rewards written answers, and {self.recipe.task} has none; leave it out"
            )

    @abstractmethod
    def batches(self) -> Stream[Pending[BatchT]]:
        """Return the stream of training batches."""

    @abstractmethod
    def loss(self, model: ModelT, batch: BatchT, step: int) -> Loss:
        """Return the summed loss of a batch; regularised in training only."""

    @torch.inference_mode()
    def total_loss(self, model: ModelT, batches: Iterable[Pending[BatchT]]) -> tuple[float, int]:
        """Return the loss summed over batches, and the count that it is summed over."""
        total, count = 0.0, 0
        for batch in batches:
            loss = self.loss(model, batch.to(model.device), 0)
            total, count = total + float(loss.total), count + loss.count
        return total, count

    @abstractmethod
    def evaluate(self, model: ModelT) -> Scores:
        """Return the val scores that are taken during training."""

    @abstractmethod
    def survey(self) -> Survey[Pending[BatchT]]:
        """Return the data at a glance, for `check`."""

    def camera(self, model: ModelT, *, count: int) -> Callable[[ModelT], tuple[Shot, ...]] | None:
        """Return what shows where a model attends in so many val examples, or None where there is nothing to film."""
        return None


def refuse_batch_size(recipe: Recipe) -> None:
    """Refuse a batch counted in images where it is counted in tokens."""
    if recipe.training.batch_size:
        raise ConfigError("training.batch_size is for images; set training.batch_tokens")
