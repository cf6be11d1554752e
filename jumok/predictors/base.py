"""What every trained model in use shares: its run, its task, its weights, and how it is scored.

api.load(RUN) → the predictor of the run's task → answers, scores, explanations
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from torch import nn

from jumok.config import DecodingConfig
from jumok.errors import ConfigError
from jumok.evaluation.labels import score_labels
from jumok.runs.run import Run

SPLITS = ("train", "val", "test")
Tell = Callable[[str, int, int], None]  # label of a corpus, items done since the last call, items in all


class Predictor(ABC):
    """Answer new inputs with a run's weights."""

    verb: ClassVar[str] = ""  # the command that uses it
    source_is: ClassVar[str] = ""  # what --source of an evaluation is, where it stands alone

    def __init__(self, run: Run, task: Any, model: nn.Module) -> None:
        self.run, self.task, self.model = run, task, model

    @property
    def options(self) -> DecodingConfig:
        """The recipe's own way to decode."""
        return self.run.recipe.decoding

    def evaluate(
        self,
        split: str,
        *,
        source: Path | None = None,
        target: Path | None = None,
        options: DecodingConfig | None = None,
        progress: Tell = lambda label, done, total: None,
    ) -> dict[str, dict[str, Any]]:
        """Return the scores of each corpus of a split, or of files of one's own, by label."""
        stores = self.stores(split, source=source, target=target)
        return {
            label: self.score(store, options or self.options, partial(_tell, progress, label, len(store)))
            for label, store in stores.items()
        }

    def stores(self, split: str, *, source: Path | None = None, target: Path | None = None) -> dict[str, Any]:
        """Return the data of each corpus of a split, or of files of one's own, by label."""
        check_split(split)
        if target is not None and self.source_is:
            raise ConfigError(f"--target is for translation; {self.source_is}")
        if source is not None:
            return {(target or source).name: self.own(source, target)}
        if split == "val":
            self.task.corpora.refuse_learnt_val(self.run.facts.get("data"))
        stores: dict[str, Any] = self.task.open_split(split)
        return stores

    @abstractmethod
    def own(self, source: Path, target: Path | None = None) -> Any:
        """Return the data of files of one's own."""

    @abstractmethod
    def score(self, store: Any, options: DecodingConfig, progress: Callable[[int], None]) -> dict[str, Any]:
        """Return the scores of one corpus."""

    def to_dict(self) -> dict[str, Any]:
        """Return facts about the model for tables and pages."""
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        return {"run": str(self.run.folder), "model": self.run.recipe.model.name, "parameters": parameters}


class Classifier(Predictor):
    """Name the classes of texts or of images."""

    verb = "classify"

    def score(self, store: Any, options: DecodingConfig, progress: Callable[[int], None]) -> dict[str, Any]:
        """Return accuracy and others of labelled data, and what stands beside them."""
        logits, wanted = self.task.logits(self.model, store, progress)
        named, labels = logits.argmax(dim=1).tolist(), self.task.labels
        scores = asdict(score_labels(named, wanted.tolist(), len(labels)))
        return {**scores, **self.task.metrics(logits, wanted), "labels": labels, **self.beside(store)}

    @abstractmethod
    def beside(self, store: Any) -> dict[str, Any]:
        """Return what helps to read a score: `baselines` at least."""


@dataclass(frozen=True)
class Verdict:
    """What something was taken for."""

    label: str
    probability: float
    probabilities: dict[str, float]  # of every class, the likeliest first


def ranked_verdict(labels: Sequence[str], probabilities: Sequence[float]) -> Verdict:
    """Return the verdict that probabilities of labels amount to."""
    ranked = sorted(zip(labels, probabilities, strict=True), key=lambda item: -item[1])
    return Verdict(*ranked[0], dict(ranked))


def check_split(split: str) -> None:
    """Refuse a split that does not exist."""
    if split not in SPLITS:
        raise ConfigError(f"--split {split}: must be train, val or test")


def _tell(progress: Tell, label: str, total: int, done: int) -> None:
    progress(label, done, total)
