"""`jumok check`: look at a recipe, its data and its model before a run, and say what is wrong and how to cure it.

task → survey of the data; model → parameters; the largest batch → memory; a few steps → time per epoch
"""

import resource
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from jumok.config.recipe import Overrides, Recipe, RecipeSource
from jumok.data.corpora import ProgressCallback
from jumok.errors import counted
from jumok.inspection.labels import readable_labels
from jumok.native import build
from jumok.nn.precision import Precision
from jumok.runs.device import choose_device
from jumok.runs.job import Prepared, path_of, prepare, silent
from jumok.runs.starting import read_recipe
from jumok.tasks.base import BatchT, ModelT, Pending
from jumok.tasks.survey import Lengths, Problem, Survey
from jumok.training.memory import peak_memory
from jumok.training.precision import multiplies_narrow
from jumok.training.progress import duration
from jumok.training.step import TrainingStep
from jumok.training.trial import LONGEST, Trial, time_settings
from jumok.training.workers import Sharing, settings_for


@dataclass
class CheckReport:
    """What a check found."""

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
    steps_per_epoch: int = 0
    kernels: str = ""  # whether kernels in C are in use, or why not
    precision: Precision = "fp32"  # of products
    precisions: dict[str, float] = field(default_factory=dict)  # of products → batches per second, the run's own first
    workers: int = 1  # processes that share a step: the fastest setting at the moment
    settings: dict[str, float] = field(default_factory=dict)  # how steps may be shared → batches per second
    tokens_per_second: float = 0.0
    seconds_per_epoch: float = 0.0
    seconds_in_all: float = 0.0
    problems: list[Problem] = field(default_factory=list)

    @property
    def times(self) -> tuple[str, str]:
        """How long an epoch and the whole run take, as people say it."""
        return duration(self.seconds_per_epoch), duration(self.seconds_in_all)

    def to_dict(self) -> dict[str, Any]:
        """Return the report for programs."""
        return asdict(self)


def check(
    recipe: RecipeSource,
    *,
    data: str | Path | None = None,
    overrides: Overrides = (),
    progress: ProgressCallback = silent,
) -> CheckReport:
    """Examine a recipe and its data before a run; writes nothing but the cache."""
    ready = prepare(read_recipe(recipe, overrides), path=path_of(recipe), data=data, progress=progress)
    return examine(ready)


def examine(ready: Prepared[ModelT, BatchT]) -> CheckReport:
    """Return the report of a recipe with its task and freshly made model."""
    recipe, task, model = ready.recipe, ready.task, ready.model
    survey = task.survey()
    report = CheckReport(
        unit=survey.unit,
        counted=task.unit,
        counts=survey.counts,
        lengths=survey.lengths,
        samples=[tuple(map(readable_labels, sample)) for sample in survey.samples],
        vocabularies=survey.vocabularies,
        unknown=survey.unknown,
        parameters=model.parameter_count,
        largest=survey.largest,
        padding=survey.padding,
        steps_per_epoch=max(survey.batches_per_epoch // recipe.training.accumulate, 1),
        kernels=_kernels(),
        problems=list(survey.problems),
    )
    _try_out(report, ready, survey)
    report.problems += _problems_of_training(report, recipe)
    return report


def _try_out(report: CheckReport, ready: Prepared[ModelT, BatchT], survey: Survey[Pending[BatchT]]) -> None:
    """Take real steps on the largest batch (memory) and on the first ones of an epoch (time)."""
    training, device = ready.recipe.training, choose_device(ready.recipe.training.device)
    model, batches = ready.model.to(device), ready.task.batches()
    with torch.random.fork_rng(devices=[]):
        step = TrainingStep(ready.task, model, batches=batches, config=training, device=device)
        report.precision = step.precision
        before = _resident()
        _forget_peak()
        step.normalise(step.add_gradients(survey.largest_batch, training.steps).count)
        step.update(training.learning_rate)
        report.memory = max(peak_memory() - before, 0)
        del step  # its optimizer: the trial has its own
        first = batches.position

        def time_steps(precision: Precision, settings: Sequence[Sharing]) -> Trial:
            config = training.model_copy(update={"precision": precision})
            batches.seek(*first)  # the same batches each time
            return time_settings(
                ready.task, model, batches=batches, config=config, device=device, settings=settings, shortest=LONGEST
            )

        trial = time_steps(report.precision, settings_for(model, training, device))
        report.precisions = {report.precision: 1 / trial.seconds[trial.fastest]}
        if multiplies_narrow(device):
            other: Precision = "fp32" if report.precision == "bf16" else "bf16"
            report.precisions[other] = 1 / time_steps(other, [trial.fastest]).seconds[trial.fastest]
    batches.close()
    report.workers = trial.fastest.workers
    report.settings = {str(setting): 1 / seconds for setting, seconds in trial.seconds.items()}
    report.seconds_per_epoch = trial.seconds[trial.fastest] * survey.batches_per_epoch
    report.tokens_per_second = survey.tokens_per_epoch / report.seconds_per_epoch
    report.seconds_in_all = report.seconds_per_epoch * training.steps / report.steps_per_epoch


def _kernels() -> str:
    native = build.state()
    return f"not in use: {native.told}" if native.library is None else f"in use: {native.told}"


def _problems_of_training(report: CheckReport, recipe: Recipe) -> list[Problem]:
    training, problems = recipe.training, []
    if training.warmup >= training.steps:
        what = f"training.warmup ({training.warmup:,}) is not below training.steps ({training.steps:,}): the peak learning rate is never reached"
        problems.append((what, f"set training.warmup = {max(training.steps // 10, 1)}"))
    if training.evaluate_every > training.steps:
        what = f"training.evaluate_every ({training.evaluate_every:,}) is above training.steps: there is one evaluation, at the end"
        problems.append((what, f"set training.evaluate_every = {max(training.steps // 10, 1)}"))
    if report.steps_per_epoch < 10:
        cure = (
            f"lower training.batch_tokens (now {training.batch_tokens:,})"
            if report.lengths
            else f"lower training.batch_size (now {report.largest[0]:,})"
        )
        problems.append((f"an epoch has only {counted(report.steps_per_epoch, 'step')}", cure))
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
