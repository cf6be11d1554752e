"""What the classifiers of texts and of images share: verdicts, and scores beside simple baselines.

input → model → logits → probability of each class → Verdict
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, TypeVar

from jumok.config import DecodingConfig
from jumok.evaluation.labels import score_labels
from jumok.predictors.base import Advance, ModelPredictor, ModelT, StoreT, Warn, ignore_notice, ignore_progress
from jumok.tasks.base import Scores
from jumok.tasks.classification import Classification

ClassificationT = TypeVar("ClassificationT", bound=Classification[Any, Any, Any])


@dataclass(frozen=True)
class Verdict:
    """What something was taken for."""

    label: str
    probability: float
    probabilities: dict[str, float]  # of every class, the likeliest first

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        return f"{self.label} {self.probability:.1%}"

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON has it."""
        ranked = {label: round(probability, 6) for label, probability in self.probabilities.items()}
        return {"label": self.label, "probability": round(self.probability, 6), "probabilities": ranked}


class Classifier(ModelPredictor[ClassificationT, ModelT, StoreT]):
    """Name the classes of texts or of images."""

    verb = "classify"
    classified: ClassVar[Literal["text", "image"]]  # what it names the class of

    @abstractmethod
    def verdicts(
        self, given: Sequence[str], *, progress: Advance = ignore_progress, warn: Warn = ignore_notice
    ) -> Iterator[tuple[str, Verdict | None]]:
        """Yield each text or image that is given by a line or a file's name, and the verdict on it.

        None, with a warning, where it cannot be read.
        """

    def score(self, store: StoreT, options: DecodingConfig, progress: Advance) -> Scores:
        """Return accuracy and others of labelled data, and what stands beside them."""
        logits, wanted = self.task.logits(self.model, store, progress)
        named, labels = logits.argmax(dim=1).tolist(), self.task.labels
        scores = asdict(score_labels(named, wanted.tolist(), len(labels)))
        return {**scores, **self.task.metrics(logits, wanted), "labels": labels, **self.baselines_beside(store)}

    @abstractmethod
    def baselines_beside(self, store: StoreT) -> Scores:
        """Return what helps to read a score: `baselines` at least."""


def ranked_verdict(labels: Sequence[str], probabilities: Sequence[float]) -> Verdict:
    """Return the verdict that probabilities of labels amount to."""
    ranked = sorted(zip(labels, probabilities, strict=True), key=lambda item: -item[1])
    return Verdict(*ranked[0], dict(ranked))
