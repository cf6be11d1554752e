"""Time a toolkit's training steps from outside, the same way for all.

A toolkit asks for a batch, computes, asks for the next. What lies between handing out a batch and being asked for the
next is a step: forward, backward, clipping, update, the toolkit's own bookkeeping. What lies between being asked and
handing out is its data preparation. So no toolkit's loop needs to be written again here: only its batches pass
through. This file runs in the peers' environment too and imports torch only.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch


class EnoughError(Exception):
    """All steps have been timed: leave the toolkit's loop."""


class Stopwatch:
    """Hand out a toolkit's batches; time steps, count target tokens, and leave the first steps out."""

    def __init__(self, job: dict[str, Any], measure: Callable[[Any], tuple[int, int, int]]) -> None:
        """Take how many steps to time from job; measure returns a batch's pairs, target tokens and target cells.

        After the last of them the toolkit's loop is left, or goes on untimed where the job has `go_on`.
        """
        self.warm_up, self.steps, self.measure = int(job["warm_up"]), int(job["steps"]), measure
        self.go_on = bool(job.get("go_on"))
        self.number = self.pairs = self.tokens = self.cells = 0
        self.computing = self.handed_out = self.began = self.ended = 0.0

    def take(self, source: Callable[[], Any]) -> Any:
        """Return the next batch of source; the step on the batch before is over."""
        now = time.perf_counter()
        if self.ended:
            return source()
        if self.number > self.warm_up and self.handed_out:
            self.computing += now - self.handed_out
        self.handed_out = 0.0
        if self.number == self.warm_up + self.steps:
            self.ended = now
            if self.go_on:
                return source()
            raise EnoughError
        if self.number == self.warm_up:
            self.began = now
        batch = source()
        self.number += 1
        if self.number > self.warm_up:
            pairs, tokens, cells = self.measure(batch)
            self.pairs, self.tokens, self.cells = self.pairs + pairs, self.tokens + tokens, self.cells + cells
        self.handed_out = time.perf_counter()
        return batch

    def through(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield an epoch's batches, timed."""
        iterator = iter(batches)
        while True:
            try:
                batch = self.take(iterator.__next__)
            except StopIteration:
                return
            yield batch


class TimedLoader:
    """A toolkit's loader of batches whose batches are timed; all else it is asked goes to the loader."""

    def __init__(self, loader: Any, stopwatch: Stopwatch) -> None:
        self._loader, self._stopwatch = loader, stopwatch

    def __iter__(self) -> Iterator[Any]:
        return self._stopwatch.through(self._loader)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def peak_memory() -> int:
    """Return the most bytes this process has held."""
    try:  # getrusage would count what the process held that started this one
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def read_job() -> dict[str, Any]:
    """Return what this process has been asked to do."""
    job: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    assert torch.get_num_threads() == job["threads"], f"{torch.get_num_threads()} threads, not {job['threads']}"
    return job


def products(job: dict[str, Any]) -> torch.autocast:
    """Return a block in which a plain loop's products are made as the job says: as they are, or in torch's autocast."""
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=job["precision"] == "bf16")


def write_result(
    job: dict[str, Any], stopwatch: Stopwatch, *, model: torch.nn.Module, version: str, **more: float | str
) -> None:
    """Leave what was measured where the contest looks for it."""
    result = {
        "version": version,
        "torch": torch.__version__,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "steps": stopwatch.steps,
        "pairs": stopwatch.pairs,
        "target_tokens": stopwatch.tokens,
        "target_cells": stopwatch.cells,
        "step_seconds": stopwatch.computing,
        "whole_seconds": stopwatch.ended - stopwatch.began,
        "peak_memory": peak_memory(),
        **more,
    }
    fresh = Path(job["result"] + ".new")
    fresh.write_text(json.dumps(result), encoding="utf-8")
    os.replace(fresh, job["result"])
