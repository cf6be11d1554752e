"""Train jumok for some steps, timed: python train_jumok.py JOB.json"""

import io
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from stopwatch import EnoughError, Stopwatch, read_job, write_result

import jumok
from jumok.nn.batch import PairBatch, TextBatch
from jumok.runs.job import prepare_job
from jumok.tasks.caption_batches import CaptionBatches


class TimedBatches:
    """A task's batches, timed; all else they are asked goes to the task's."""

    def __init__(self, batches: Any, stopwatch: Stopwatch) -> None:
        self._batches, self._stopwatch = batches, stopwatch

    def take(self) -> Any:
        """Return the next batch."""
        return self._stopwatch.take(self._batches.take)

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


def main() -> None:
    """Do the job."""
    job = read_job()
    shared = [f"training.workers={job['threads']}"] if job.get("share") else []  # a process for each thread, no trial
    training = prepare_job(
        job["recipe"], data=job["data"], out=Path(job["own"]) / "jumok", overrides=[*job["overrides"], *shared]
    )
    stopwatch = Stopwatch(job, measure)
    if job.get("one_batch"):
        training.batches = OneBatch(training.batches)
    training.batches = TimedBatches(training.batches, stopwatch)
    scores = {}
    try:
        training.train(Console(file=io.StringIO()))
        scores = {"loss": float(training.task.evaluate(training.model)["loss"])}
    except EnoughError:
        pass
    write_result(job, stopwatch, model=training.model, version=jumok.__version__, **scores)


if __name__ == "__main__":
    main()
