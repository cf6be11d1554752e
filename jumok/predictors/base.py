"""What every trained model in use shares: its run, its task, its model, and how it is scored.

api.load(RUN) → the predictor of the run's task → answers, scores, explanations; a Notice tells what to know of an input
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sized
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

from jumok.config import DecodingConfig, Split
from jumok.errors import ConfigError
from jumok.nn.model import Model
from jumok.nn.precision import Precision
from jumok.predictors.answering import Answering
from jumok.predictors.explaining import Look
from jumok.predictors.explanation import Explanation
from jumok.runs.run import Run
from jumok.tasks.base import Scores, Task

SPLITS: tuple[Split, ...] = ("train", "val", "test")
ScoringProgress = Callable[[str, int, int], None]  # label of a corpus, items done since the last call, items in all

TaskT = TypeVar("TaskT", bound=Task[Any, Any, Any])
ModelT = TypeVar("ModelT", bound=Model[Any])
StoreT = TypeVar("StoreT", bound=Sized)


@dataclass(frozen=True)
class Notice:
    """What a user should know of an answer, about a line of the input (counted from 1) or about no line."""

    line: int | None
    text: str

    def __str__(self) -> str:
        return self.text if self.line is None else f"line {self.line} {self.text}"

    def after(self, lines: int) -> "Notice":
        """Return the notice as it reads where so many lines came before the call."""
        return self if self.line is None else replace(self, line=self.line + lines)


Warn = Callable[[Notice], None]
Advance = Callable[[int], None]  # how many items are done since the last call


def ignore_notice(notice: Notice) -> None:
    """Let a notice pass unheard."""


def ignore_progress(done: int) -> None:
    """Let the work go on unseen."""


class Predictor(ABC, Generic[TaskT, ModelT, StoreT]):
    """Answer new inputs with a run's weights."""

    verb: ClassVar[str] = ""  # the command that uses it
    example: ClassVar[str] = '"…"'  # what that command is given
    source_is: ClassVar[str] = ""  # what --source of an evaluation is, where it stands alone
    explains: ClassVar[Literal["", "text", "image", "caption", "series", "codes", "drawing"]] = (
        ""  # what `jumok look` shows the attention of, or the codes; "": nothing
    )

    def __init__(self, run: Run, task: TaskT) -> None:
        self.run, self.task = run, task
        self.answering = Answering()
        self.load_again: Callable[[], Self] | None = None  # from its folder, as runs/loading.py loaded it

    def __reduce__(self) -> tuple[Callable[[], Self], tuple[()]]:
        """Pickle where the run is and how it was loaded; whoever unpickles it loads it again."""
        if self.load_again is None:
            raise TypeError(
                "only a predictor that jumok.load returned can be pickled: it is loaded again from its folder"
            )
        return self.load_again, ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.run.folder)!r})"

    @classmethod
    @abstractmethod
    def with_model(cls, run: Run, task: TaskT, model: ModelT) -> Self:
        """Return the predictor of a run whose model was loaded."""

    @classmethod
    def with_export(cls, run: Run, task: TaskT, *, int8: bool) -> Self:
        """Return the predictor of a folder that was exported to another engine."""
        raise ConfigError(f"{run.folder} was exported to {run.facts['engine']}, which is for translation")

    @property
    @abstractmethod
    def model(self) -> ModelT:
        """The model."""

    @property
    def options(self) -> DecodingConfig:
        """The recipe's own way to decode."""
        return self.run.recipe.decoding

    def choose_precision(self, precision: Precision) -> None:
        """Choose the precision of the products that answers are made of."""
        self.answering = Answering(precision)

    def choose_language(self, to: str) -> None:
        """Choose the target language that is meant where a call names none."""
        raise ConfigError(f"--to {to} is for translation; {self.run.folder} is a run of {self.run.recipe.task}")

    def look(self, text: str, asked: Look, *, warn: Warn = ignore_notice) -> Explanation[Any]:
        """Return what `jumok look` shows of a text."""
        raise ConfigError(f"{self.run.folder} is a run of {self.run.recipe.task}, which has no text to look into")

    def evaluate(
        self,
        split: str,
        *,
        source: Path | None = None,
        target: Path | None = None,
        options: DecodingConfig | None = None,
        progress: ScoringProgress = lambda label, done, total: None,
    ) -> dict[str, Scores]:
        """Return the scores of each corpus of a split, or of files of one's own, by label."""
        stores = self.stores(split, source=source, target=target)
        with self.answering():
            return {
                label: self.score(store, options or self.options, partial(_tell, progress, label, len(store)))
                for label, store in stores.items()
            }

    def stores(self, split: str, *, source: Path | None = None, target: Path | None = None) -> dict[str, StoreT]:
        """Return the data of each corpus of a split, or of files of one's own, by label."""
        known = check_split(split)
        if target is not None and self.source_is:
            raise ConfigError(f"--target is for translation; {self.source_is}")
        if source is not None:
            return {(target or source).name: self.own_data(source, target)}
        if known == "val":
            self.task.corpora.refuse_learnt_val(self.run.facts.get("data"))
        stores: dict[str, StoreT] = self.task.open_split(known)
        return stores

    @abstractmethod
    def own_data(self, source: Path, target: Path | None = None) -> StoreT:
        """Return the data of files of one's own."""

    @abstractmethod
    def score(self, store: StoreT, options: DecodingConfig, progress: Advance) -> Scores:
        """Return the scores of one corpus."""

    @property
    def parameters(self) -> int:
        """How many parameters the model has."""
        return self.model.parameter_count

    def to_dict(self) -> dict[str, str | int]:
        """Return facts about the model for tables and pages."""
        name = self.run.recipe.model.name
        return {"run": str(self.run.folder), "model": name, "parameters": self.parameters}


class ModelPredictor(Predictor[TaskT, ModelT, StoreT]):
    """A predictor that calls its model itself."""

    def __init__(self, run: Run, task: TaskT, model: ModelT) -> None:
        super().__init__(run, task)
        self._model = model

    @classmethod
    def with_model(cls, run: Run, task: TaskT, model: ModelT) -> Self:
        """Return the predictor of a run whose model was loaded."""
        return cls(run, task, model)

    @property
    def model(self) -> ModelT:
        """The model."""
        return self._model


AnyPredictor = Predictor[Any, Any, Any]


def check_split(split: str) -> Split:
    """Return the split of a name, or refuse one that does not exist."""
    for known in SPLITS:
        if split == known:
            return known
    raise ConfigError(f"--split {split}: must be train, val or test")


def _tell(progress: ScoringProgress, label: str, total: int, done: int) -> None:
    progress(label, done, total)
