"""Train jumok for some steps, timed: python train_jumok.py JOB.json"""

import io
from pathlib import Path
from typing import Any

from rich.console import Console
from stopwatch import EnoughError, Stopwatch, read_job, write_result

import jumok
from jumok.job import prepare_job
from jumok.nn.batch import PairBatch, TextBatch


class TimedBatches:
    """A task's batches, timed; all else they are asked goes to the task's."""

    def __init__(self, batches: Any, stopwatch: Stopwatch) -> None:
        self._batches, self._stopwatch = batches, stopwatch

    def take(self) -> PairBatch | TextBatch:
        """Return the next batch."""
        return self._stopwatch.take(self._batches.take)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batches, name)


def measure(batch: PairBatch | TextBatch) -> tuple[int, int, int]:
    """Return a batch's pairs (or blocks of text), target tokens and target cells."""
    if isinstance(batch, TextBatch):
        return len(batch.targets), batch.targets.numel(), batch.targets.numel()
    return len(batch.targets), int(batch.target_mask.sum()), batch.targets.numel()


def main() -> None:
    """Do the job."""
    job = read_job()
    training = prepare_job(job["recipe"], data=job["data"], out=Path(job["own"]) / "jumok", overrides=job["overrides"])
    stopwatch = Stopwatch(job, measure)
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
