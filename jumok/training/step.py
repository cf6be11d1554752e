"""One training step, the same for the trainer and for `check`.

batches → our part of each → loss (a module's forward) → gradients, summed → ÷ count → clip → optimizer

The loss of a batch is the forward of a module, so that DDP and FSDP can wrap it.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from jumok.config import TrainingConfig
from jumok.data.stream import Place, Stream
from jumok.native.freed_memory import FreedMemory
from jumok.nn.precision import Precision, products
from jumok.tasks.base import BatchT, ModelT, Pending, Task
from jumok.tasks.losses import Loss
from jumok.training.optimizer import make_optimizer, parts_apart


@dataclass(frozen=True)
class Sums:
    """What a batch adds up to: its loss, the count that it is summed over, and other sums for the log."""

    total: float
    count: int
    parts: dict[str, float]


NOTHING = Sums(0.0, 0, {})


class BatchLoss(nn.Module, Generic[ModelT, BatchT]):
    """A model and what its task makes of its outputs: batch → loss."""

    def __init__(self, task: Task[ModelT, BatchT, Any], model: ModelT) -> None:
        super().__init__()
        self.task, self.model = task, model

    def forward(self, batch: BatchT, step: int) -> Loss:
        """Return the summed loss of a batch at a step."""
        return self.task.loss(self.model, batch, step)


class TrainingStep(Generic[ModelT, BatchT]):
    """Gradients of a step's batches, and the update that they make."""

    def __init__(
        self,
        task: Task[ModelT, BatchT, Any],
        model: ModelT,
        *,
        batches: Stream[Pending[BatchT]],
        config: TrainingConfig,
        device: torch.device,
    ) -> None:
        self.model, self.batches, self.config, self.device = model, batches, config, device
        self.loss = BatchLoss(task, model)
        self.optimizer = make_optimizer(model, config)
        self.apart = parts_apart(model)
        # What auto means is settled when a run is made ready (runs/job.py).
        self.precision: Precision = "bf16" if config.precision == "bf16" else "fp32"
        self.freed = FreedMemory()
        self.places: list[Place] = []  # where the batches of this step stand
        self.waited = 0.0  # seconds that taking them took

    def compute(self, step: int, rank: int = 0, workers: int = 1) -> list[Sums]:
        """Take a step's batches and add up the gradients of every workers-th example, from rank on."""
        self.freed.tidy()
        started = time.perf_counter()
        taken, self.places = [], []
        for _ in range(self.config.accumulate):
            taken.append(self.batches.take())
            self.places.append(self.batches.last)
        self.waited = time.perf_counter() - started
        own = taken if workers == 1 else [batch.part(rank, workers) for batch in taken]
        return [self.add_gradients(batch, step) if len(batch) else NOTHING for batch in own]

    def add_gradients(self, batch: Pending[BatchT], step: int) -> Sums:
        """Add a batch's gradients to those of the parameters."""
        self.model.train()
        with self._resting(step), products(self.precision):
            loss: Loss = self.loss(batch.to(self.device), step)
            loss.total.backward()  # type: ignore[no-untyped-call]
        return Sums(float(loss.total.detach()), loss.count, {name: float(part) for name, part in loss.parts.items()})

    @contextmanager
    def _resting(self, step: int) -> Iterator[None]:
        """Compute no gradients for the parts of the model that do not learn yet: without one, nothing moves them."""
        resting = [p for own, parameters in self.apart if step <= own.after for p in parameters]
        for parameter in resting:
            parameter.requires_grad_(False)
        try:
            yield
        finally:
            for parameter in resting:
                parameter.requires_grad_()

    def normalise(self, count: int) -> float:
        """Divide the gradients by the count of all batches and clip them; return their norm before."""
        torch._foreach_div_([p.grad for p in self.model.parameters() if p.grad is not None], count)
        return float(clip_grad_norm_(self.model.parameters(), self.config.clip or math.inf))

    def update(self, rate: float) -> None:
        """Move the weights by the gradients, at a learning rate, and forget the gradients."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["share"]
        self.optimizer.step()
        self.optimizer.zero_grad()
