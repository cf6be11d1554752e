"""What tasks that name a class share, be it of a text or of an image: the loss, the scores, who belongs where.

batch → model → logits (B, classes) → cross-entropy; a store's logits → loss, accuracy, macro-F1, among the first five
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from jumok.errors import counted
from jumok.evaluation.labels import score_labels
from jumok.tasks.base import ModelT, Scores, Task
from jumok.tasks.losses import Loss
from jumok.tasks.survey import Problem

# B batch · N examples

FEW = 10  # training examples of a class, below which it can hardly be learnt


class ClassifiedBatch(Protocol):
    """A batch of examples and their classes."""

    @property
    def labels(self) -> Tensor:
        """(B,)."""


class ClassifiedStore(Protocol):
    """A store of examples and their classes."""

    @property
    def classes(self) -> NDArray[np.int32]:
        """(N,)."""

    def __len__(self) -> int:
        """Return how many examples there are."""


ClassifiedT = TypeVar("ClassifiedT", bound=ClassifiedBatch)
ClassifiedStoreT = TypeVar("ClassifiedStoreT", bound=ClassifiedStore)


class Classification(Task[ModelT, ClassifiedT, ClassifiedStoreT], Generic[ModelT, ClassifiedT, ClassifiedStoreT]):
    """The task of naming the class of something."""

    @property
    @abstractmethod
    def labels(self) -> list[str]:
        """The classes in order."""

    def loss(self, model: ModelT, batch: ClassifiedT, step: int) -> Loss:
        """Return the summed loss over the batch's examples; smoothed in training only."""
        smoothing = self.recipe.training.label_smoothing if model.training else 0.0
        logits, wanted = model(batch).float(), self.wanted(batch)
        total = F.cross_entropy(logits, wanted, reduction="sum", label_smoothing=smoothing)
        plain = F.cross_entropy(logits.detach(), wanted, reduction="sum")
        return Loss(total, len(wanted), {"nll": plain})

    def wanted(self, batch: ClassifiedT) -> Tensor:
        """Return the classes (B,) of a batch, or how much of each class (B, classes) is in an example."""
        return batch.labels

    @abstractmethod
    def logits(
        self, model: ModelT, store: ClassifiedStoreT, progress: Callable[[int], None] = lambda done: None
    ) -> tuple[Tensor, Tensor]:
        """Return logits (N, classes) and the true classes (N,) of a store, in its order."""

    def evaluate(self, model: ModelT) -> Scores:
        """Return the val scores that are taken during training."""
        logits, wanted = zip(*(self.logits(model, store) for store in self.open_split("val").values()), strict=True)
        return self.metrics(torch.cat(logits), torch.cat(wanted))

    def metrics(self, logits: Tensor, wanted: Tensor) -> Scores:
        """Return the scores of logits (N, classes) against the true classes (N,)."""
        labels = score_labels(logits.argmax(dim=1).tolist(), wanted.tolist(), len(self.labels))
        five = logits.topk(min(5, logits.shape[1]), dim=1).indices
        found = {
            "loss": float(F.cross_entropy(logits, wanted)),
            "accuracy": labels.accuracy,
            "macro_f1": labels.macro_f1,
            "top5": 100.0 * float((five == wanted[:, None]).any(dim=1).float().mean()),
        }
        return {name: found[name] for name in self.scores}

    def counts(self, store: ClassifiedStoreT) -> dict[str, int]:
        """Return how many examples of a store each class has."""
        return {f"class {label}": int((store.classes == number).sum()) for number, label in enumerate(self.labels)}

    def rare_classes(self, store: ClassifiedStoreT) -> list[Problem]:
        """Return a problem for every class that has too few training examples."""
        counts = np.bincount(store.classes, minlength=len(self.labels))
        return [
            (
                f"the class {self.labels[number]!r} has only {counted(int(counts[number]), f'training {self.unit[:-1]}')}",
                "leave it out, or join it with another",
            )
            for number in np.flatnonzero(counts < FEW)
        ]
