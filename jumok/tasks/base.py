"""What every task shares: its recipe, its data by split, and which scores it takes."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from torch import nn

from jumok.config import Split
from jumok.config.recipe import Recipe
from jumok.data.corpora import ProgressCallback
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import ConfigError


def refuse_batch_size(recipe: Recipe) -> None:
    """Refuse a batch counted in images where it is counted in tokens."""
    if recipe.training.batch_size:
        raise ConfigError("training.batch_size is for images; set training.batch_tokens")


class Task(ABC):
    """What is to be learnt: from data to batches and a loss, from answers to scores."""

    Data: ClassVar[Any]  # the class of its [data]
    unit: ClassVar[str]  # what the loss is counted over
    recipe: Recipe
    corpora: Any

    @classmethod
    @abstractmethod
    def open(
        cls,
        recipe: Recipe,
        folders: Sequence[Path],
        *,
        tokenizers: Mapping[str, Tokenizer] | None = None,
        progress: ProgressCallback = lambda what, done: None,
    ) -> Self:
        """Return the task of a recipe; what the data must give first is made where it is not given."""

    @property
    @abstractmethod
    def scores(self) -> tuple[str, ...]:
        """The val scores that are taken during training."""

    @property
    def fingerprint(self) -> str:
        """What changes when the training data does."""
        return str(self.corpora.fingerprint)

    def notes(self) -> list[str]:
        """Return what a user should know of the data before a run, a line each."""
        return []

    def open_split(self, split: Split) -> dict[str, Any]:
        """Return the stores of a split by label, ready for use."""
        stores: dict[str, Any] = self.corpora.evaluation(split)
        return stores

    def initialise(self, model: nn.Module) -> list[str]:
        """Start weights from files where the recipe names some; return what was done, a line each."""
        return []

    def check_fits(self, model: nn.Module) -> None:
        """Refuse what cannot work before training starts."""
        monitor = self.recipe.training.monitor
        if monitor not in self.scores:
            raise ConfigError(f"training.monitor = '{monitor}' is not among the scores: {', '.join(self.scores)}")
