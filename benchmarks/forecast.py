"""Read a table, train on it, or forecast its series, measured: python forecast.py JOB.json

what = read    a table becomes a store in the cache
       train   some steps on a table whose store lies in the cache
       panel   all series of a table forecast in one call, from its file and from its store
"""

import io
import json
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch
from rich.console import Console
from stopwatch import read_job

import jumok
from jumok.predictors.forecaster import SeriesForecaster
from jumok.predictors.given_table import read_given
from jumok.runs.job import prepare_job

WATCHED = 0.005  # seconds between two looks at the memory


class PeakMemory:
    """The most anonymous memory of this process inside a block: pages of a mapped table are the system's to take back."""

    def __init__(self) -> None:
        self.bytes, self._done = 0, threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._watcher.join()

    def _watch(self) -> None:
        while True:
            lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
            self.bytes = max(
                self.bytes, 1024 * int(next(line for line in lines if line.startswith("RssAnon")).split()[1])
            )
            if self._done.wait(WATCHED):
                return


def prepare_or_train(job: dict[str, Any]) -> dict[str, Any]:
    """Return the seconds and the peak memory of preparing a run, and of its steps where it is to be trained."""
    started = time.perf_counter()
    with PeakMemory() as memory:
        training = prepare_job(
            job["recipe"], data=job["data"], out=Path(job["own"]) / "run", overrides=job["overrides"]
        )
        if job["what"] == "train":
            training.train(Console(file=io.StringIO()))
    return {"seconds": time.perf_counter() - started, "peak_memory": memory.bytes, "size": training.task.size}


def forecast_panel(job: dict[str, Any]) -> dict[str, Any]:
    """Return the seconds of each call."""
    forecaster = jumok.load(job["run"], SeriesForecaster)
    table = Path(job["table"])
    store = read_given(table, forecaster.data).store
    found: dict[str, Any] = {"parameters": sum(parameter.numel() for parameter in forecaster.model.parameters())}
    for name, given in (("file", table), ("store", store)):
        seconds = []
        for _ in range(1 + job["times"]):
            started = time.perf_counter()
            answers = forecaster.forecast(given)
            seconds.append(time.perf_counter() - started)
        found |= {name: seconds[1:], "series": len(answers), "steps": len(answers[0])}
    return found


def main() -> None:
    """Do the job."""
    job = read_job()
    found = forecast_panel(job) if job["what"] == "panel" else prepare_or_train(job)
    facts = {"version": jumok.__version__, "torch": torch.__version__}
    Path(job["result"]).write_text(json.dumps({**facts, **found}), encoding="utf-8")


if __name__ == "__main__":
    main()
