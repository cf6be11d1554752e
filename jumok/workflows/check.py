"""The doctor: look at a recipe, its data and its model before a run, and say what is wrong and how to cure it.

task → survey of the data; model → parameters; the largest batch → memory; a few steps → time an epoch
"""

import resource
import time
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from jumok.config.recipe import Recipe
from jumok.tasks.survey import Lengths, Problem, Survey
from jumok.training.memory import peak_memory
from jumok.training.optimizer import make_optimizer
from jumok.training.progress import duration
from jumok.training.workers import Sums, Workers, workers_for

WARM_UP, TIMED, LONGEST_TRIAL = 1, 8, 10.0  # steps, steps, seconds


@dataclass
class Report:
    """What the doctor found."""

    unit: str = ""  # what examples are called
    counted: str = ""  # what the loss is counted over
    counts: dict[str, dict[str, int]] = field(default_factory=dict)  # split → read, kept and why others were dropped
    lengths: dict[str, Lengths] = field(default_factory=dict)  # side → lengths of the training split
    samples: list[tuple[list[str], ...]] = field(default_factory=list)
    vocabularies: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, float] = field(default_factory=dict)  # side → share of val tokens that are unknown
    parameters: int = 0
    largest: tuple[int, ...] = ()  # rows of the largest batch, then its longest source and target, or its only length
    memory: int = 0  # bytes that the largest batch needed at its peak
    padding: float = 0.0
    steps_an_epoch: int = 0
    tokens_a_second: float = 0.0
    seconds_an_epoch: float = 0.0
    seconds_in_all: float = 0.0
    problems: list[Problem] = field(default_factory=list)

    @property
    def times(self) -> tuple[str, str]:
        """How long an epoch and the whole run take, as people say it."""
        return duration(self.seconds_an_epoch), duration(self.seconds_in_all)

    def to_dict(self) -> dict[str, Any]:
        """Return the report for programs."""
        return asdict(self)


def examine(recipe: Recipe, task: Any, model: nn.Module) -> Report:
    """Return the report of a recipe with its task and freshly made model."""
    task.check_fits(model)
    survey: Survey = task.survey()
    report = Report(
        unit=survey.unit,
        counted=task.unit,
        counts=survey.counts,
        lengths=survey.lengths,
        samples=survey.samples,
        vocabularies=survey.vocabularies,
        unknown=survey.unknown,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        largest=survey.largest,
        padding=survey.padding,
        steps_an_epoch=max(survey.batches_an_epoch // recipe.training.accumulate, 1),
        problems=list(survey.problems),
    )
    _try_out(report, recipe, task, model, survey)
    report.problems += _problems_of_training(report, recipe)
    return report


def _try_out(report: Report, recipe: Recipe, task: Any, model: nn.Module, survey: Survey) -> None:
    """Take real steps on the largest batch (memory) and on the first ones of an epoch (time)."""
    training, batches = recipe.training, task.batches()
    optimizer = make_optimizer(model, training)
    device = next(model.parameters()).device
    model.train()

    def add_gradients(batch: Any) -> Sums:
        loss = task.loss(model, batch.to(device), training.steps)  # the slowest step, where teacher forcing fades
        loss.total.backward()
        return float(loss.total.detach()), loss.count, loss.parts

    def compute(step: int, rank: int, workers: int) -> list[Sums]:
        batch = batches.take()
        own = batch if workers == 1 else batch.part(rank, workers)
        return [add_gradients(own) if len(own) else (0.0, 0, {})]

    def update(count: int) -> None:
        torch._foreach_div_([p.grad for p in model.parameters() if p.grad is not None], count)
        optimizer.step()
        optimizer.zero_grad()

    with torch.random.fork_rng(devices=[]):
        before = _resident()
        _forget_peak()
        update(add_gradients(survey.largest_batch)[1])
        report.memory = max(peak_memory() - before, 0)
        tokens, seconds = 0, 0.0
        count = workers_for(model, wanted=training.workers, device=device)
        workers = Workers(count, model, compute, seed=training.seed) if count > 1 else None
        with workers or nullcontext():
            for number in range(WARM_UP + TIMED):
                started = time.perf_counter()
                [(_, done, _)] = compute(number, 0, 1) if workers is None else workers.step(number)
                update(done)
                if number >= WARM_UP:
                    tokens, seconds = tokens + done, seconds + time.perf_counter() - started
                if seconds > LONGEST_TRIAL:
                    break
    report.tokens_a_second = tokens / max(seconds, 1e-9) if tokens else 0.0
    report.seconds_an_epoch = survey.tokens_an_epoch / report.tokens_a_second if tokens else 0.0
    report.seconds_in_all = report.seconds_an_epoch * training.steps / report.steps_an_epoch


def _problems_of_training(report: Report, recipe: Recipe) -> list[Problem]:
    training, problems = recipe.training, []
    if training.warmup >= training.steps:
        what = f"training.warmup ({training.warmup:,}) is not below training.steps ({training.steps:,}): the peak learning rate is never reached"
        problems.append((what, f"set training.warmup = {max(training.steps // 10, 1)}"))
    if training.evaluate_every > training.steps:
        what = f"training.evaluate_every ({training.evaluate_every:,}) is above training.steps: there is one evaluation, at the end"
        problems.append((what, f"set training.evaluate_every = {max(training.steps // 10, 1)}"))
    if report.steps_an_epoch < 10:
        cure = f"lower training.batch_tokens (now {training.batch_tokens:,})"
        problems.append((f"an epoch has only {report.steps_an_epoch} steps", cure))
    return problems


def _resident() -> int:
    """Return the bytes this process holds now, or the peak where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return peak_memory()


def _forget_peak() -> None:
    """Let the peak be measured from here on, not from an earlier moment such as training the tokenizer (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
