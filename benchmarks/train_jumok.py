"""Train jumok for some steps, timed: python train_jumok.py JOB.json"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from products import Listener
from rich.console import Console
from stopwatch import EnoughError, Stopwatch, read_job, write_result

import jumok
from jumok.nn.batch import PairBatch, TextBatch
from jumok.runs import job as job_module
from jumok.runs.job import prepare_job
from jumok.tasks.caption_batches import CaptionBatches
from jumok.training.workers import Sharing


class TimedBatches:
    """A task's batches, timed; all else they are asked goes to the task's."""

    def __init__(self, batches: Any, stopwatch: Stopwatch, listener: Listener | None) -> None:
        self._batches, self._stopwatch, self._listener = batches, stopwatch, listener

    def take(self) -> Any:
        """Return the next batch; who listens to products begins with the first step that is timed."""
        batch = self._stopwatch.take(self._batches.take)
        if self._listener is not None and self._stopwatch.number == self._stopwatch.warm_up + 1:
            self._listener.begin()
        return batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batches, name)


class OneBatch:
    """The first batch of a task, again and again, lying ready: what preparing data costs is the difference."""

    def __init__(self, batches: Any) -> None:
        self._batches, self._batch = batches, batches.take().to(torch.device("cpu"))

    def take(self) -> Any:
        """Return the batch."""
        return self._batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batches, name)


def measure(batch: Any) -> tuple[int, int, int]:
    """Return a batch's examples, target tokens and target cells; of images, their number."""
    if isinstance(getattr(batch, "stream", None), CaptionBatches):  # which prepares it within the step
        lengths = batch.stream.sides.epoch(batch.place[0])[0].lengths[batch.stream.indices(batch.place)] + 1
        return len(lengths), int(lengths.sum()), len(lengths) * int(lengths.max())
    if isinstance(batch, TextBatch):
        return len(batch.targets), batch.targets.numel(), batch.targets.numel()
    if not isinstance(batch, PairBatch):
        return len(batch), len(batch), len(batch)
    return len(batch.targets), int(batch.target_mask.sum()), batch.targets.numel()


def without_trial(*_: Any, settings: Sequence[Sharing], **__: Any) -> tuple[Sharing, None]:
    """Share steps as is fastest on a quiet machine: the steps of a trial would be timed as if they were the run's."""
    return settings[0], None


def main() -> None:
    """Do the job."""
    job = read_job()
    job_module.choose_sharing = without_trial
    fixed = [f"training.precision={job['precision']}"] if job["precision"] else []
    training = prepare_job(
        job["recipe"], data=job["data"], out=Path(job["own"]) / "jumok", overrides=[*job["overrides"], *fixed]
    )
    listener = Listener(Path(job["own"]) / "products") if job.get("products") else None
    stopwatch = Stopwatch(job, measure)
    if job.get("one_batch"):
        training.batches = OneBatch(training.batches)
    training.batches = TimedBatches(training.batches, stopwatch, listener)
    found: dict[str, Any] = {"precision": training.recipe.training.precision}
    try:
        training.train(Console(file=io.StringIO()))
        found["loss"] = float(training.task.evaluate(training.model)["loss"])
    except EnoughError:
        pass
    if listener is not None:
        found |= listener.end()
    write_result(job, stopwatch, model=training.model, version=jumok.__version__, **found)


if __name__ == "__main__":
    main()
