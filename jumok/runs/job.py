"""A training run made ready: data, model and folder checked, so that what can go wrong goes wrong before the first step.

recipe → task → model → Job → train → run folder
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from torch import nn

from jumok.catalogue import model_class, task_class
from jumok.config.recipe import Recipe, differences, find_recipe, shipped_recipes
from jumok.data.corpora import ProgressCallback, data_folders
from jumok.errors import ConfigError, RunError
from jumok.lens.film import forget_frames
from jumok.runs.device import choose_device
from jumok.runs.run import Run, load_recipe, locked
from jumok.training.average import model_tensors
from jumok.training.checkpoint import Checkpoints
from jumok.training.compiling import compile_layers
from jumok.training.progress import Reporter
from jumok.training.trainer import Trainer
from jumok.training.workers import workers_for
from jumok.workflows.film import camera_for


def silent(what: str, done: int) -> None:
    """Show no progress."""


@dataclass
class Job:
    """Everything a training run needs, with nothing written yet."""

    folder: Path
    recipe: Recipe
    task: Any
    model: nn.Module
    batches: Any
    folders: list[Path]
    notes: list[str]
    going_on: bool
    command: str  # what goes on with the run

    def train(self, console: Console) -> bool:
        """Train to the end; return False where it was stopped before."""
        device = choose_device(self.recipe.training.device)
        with locked(self.folder):
            if not self.going_on:
                facts = {
                    "data": self.task.fingerprint,
                    "data_folders": [str(place) for place in self.folders],
                    "threads": torch.get_num_threads(),
                }
                Run.create(self.folder, self.recipe, tokenizers=self.task.tokenizers, facts=facts)
            reporter = Reporter(console, self.folder, unit=self.task.unit)
            trainer = Trainer(
                self.model.to(device),
                loss=self.task.loss,
                batches=self.batches,
                evaluate=self.task.evaluate,
                config=self.recipe.training,
                run=self.folder,
                reporter=reporter,
                device=device,
                film=camera_for(self.task, self.model, self.folder, count=self.recipe.training.probes),
            )
            count = sum(parameter.numel() for parameter in self.model.parameters())
            reporter.note(
                f"{self.folder}: {self.recipe.model.name}, {count:,} parameters, {self.task.size}, on {device}"
            )
            for note in self.notes:
                reporter.note(note)
            if self.going_on:
                self._resume(trainer, reporter)
            try:
                done = trainer.train()
            finally:
                reporter.close()
                self.batches.close()
        if trainer.stop_signal:
            reporter.note(f"step {done.step:,} is saved. Go on with:\n  {self.command}")
        return not trainer.stop_signal

    def _resume(self, trainer: Trainer, reporter: Reporter) -> None:
        if not Checkpoints(self.folder).steps():
            reporter.note("no checkpoint yet: starting from the beginning")
            (self.folder / "metrics.jsonl").write_text("", encoding="utf-8")
            forget_frames(self.folder, after=0)
            self.recipe.save(self.folder / "recipe.toml")  # steps and intervals may have changed
            return
        threads = Run.open(self.folder).facts.get("threads")
        if threads != torch.get_num_threads():
            reporter.note(
                f"begun with {threads} threads, now {torch.get_num_threads()}: the run goes on, but not to the last digit as "
                "it would have"
            )
        trainer.resume()
        forget_frames(self.folder, after=trainer.progress.step)
        self.recipe.save(self.folder / "recipe.toml")  # steps and intervals may have changed
        reporter.note(f"going on from step {trainer.progress.step:,}")


def prepare_job(
    recipe: str | Path,
    *,
    data: str | Path | None = None,
    out: str | Path | None = None,
    overrides: Sequence[str] = (),
    resume: bool = False,
    progress: ProgressCallback = silent,
) -> Job:
    """Return the training run of a recipe, ready to start or to go on."""
    given, path = load_recipe(recipe, tuple(overrides)), find_recipe(recipe)
    folder = Path(out) if out is not None else Path("runs") / path.stem
    run = Run.open(folder) if Run.exists(folder) else None
    if run is not None and not resume:
        steps = Checkpoints(folder).steps()
        raise RunError(
            f"{folder} already holds a run ({f'saved at step {steps[-1]:,}' if steps else 'nothing saved yet'}). "
            "Go on with --resume, choose another folder with --out, or remove it."
        )
    changed = differences(run.recipe, given) if run is not None else []
    if changed:
        raise RunError(
            f"the recipe has changed since {folder} was begun:\n  "
            + "\n  ".join(changed)
            + "\nOnly steps may grow and intervals change. Put it back, or start another run with --out."
        )
    if given.training.threads:
        torch.set_num_threads(given.training.threads)
    choose_device(given.training.device)
    folders = folders_for(given, path, data)
    if run is not None:
        folders = list(dict.fromkeys([*folders, *run.data_folders]))
    earlier = Run.open(given.training.init) if given.training.init and run is None else None
    if earlier is not None:
        check_same_tokenizer(earlier, given)
    owner = run or earlier
    task = task_class(given.task).open(
        given, folders, tokenizers=owner.tokenizers if owner else None, progress=progress
    )
    if run is not None and run.facts.get("data") not in (None, task.fingerprint):
        raise RunError(
            f"the training data is not what {folder} was begun with, so the run cannot go on exactly. "
            "Put the files back, or start another run with --out."
        )
    full = task.complete(given)
    model = build_model(full)
    if full.training.compile and not compile_layers(model):
        raise ConfigError(f"training.compile: '{full.model.name}' has no layers to compile; leave it out")
    begun = run is not None and bool(Checkpoints(folder).steps())
    notes = [] if begun else task.initialise(model)
    if earlier is not None:
        notes += start_from(model, earlier)
    notes += task.notes()
    task.check_fits(model)
    workers_for(model, wanted=given.training.workers, device=choose_device(given.training.device))  # or a refusal
    batches = task.batches()
    task.open_split("val")  # a problem there should show now, not at the first evaluation
    parts = ["jumok", "train", str(recipe), "--out", str(folder), "--resume", *(["--data", str(data)] if data else [])]
    command = shlex.join([*parts, *(part for override in overrides for part in ("--set", override))])
    return Job(folder, full, task, model, batches, folders, notes, run is not None, command)


def check_same_tokenizer(earlier: Run, recipe: Recipe) -> None:
    """Refuse to start from a run whose text was cut into other tokens."""
    before, now = earlier.recipe.tokenizer.model_dump(), recipe.tokenizer.model_dump()
    differing = [
        f"tokenizer.{key}: {before[key]!r} there, {now[key]!r} here"
        for key in now
        if before[key] != now[key] and key not in ("dropout", "target_dropout")
    ]
    names = set(earlier.facts.get("tokenizers", ["source", "target"]))
    wanted = {"source", "target"} if recipe.task == "translation" else {"text"}
    names |= {"target"} if names == {"source"} else set()  # a shipped model keeps a vocabulary that both share once
    if names != wanted:
        differing.append(f"a run of {earlier.recipe.task} has other sides than {recipe.task}")
    if differing:
        raise ConfigError(
            f"training.init = '{earlier.folder}': its text was cut into other tokens:\n  "
            + "\n  ".join(differing)
            + "\nWeights belong to a tokenizer: copy its [tokenizer] into the recipe."
        )


def start_from(model: nn.Module, earlier: Run) -> list[str]:
    """Copy the best weights of an earlier run where names and shapes agree; return what was taken and what is new."""
    weights = Checkpoints(earlier.folder).load_weights("best")
    own = model_tensors(model)
    taken = {name: value for name, value in weights.items() if name in own and own[name].shape == value.shape}
    if not taken:
        raise ConfigError(
            f"training.init = '{earlier.folder}': none of its {len(weights)} tensors fits this model; "
            "are model.name, layers and width the same?"
        )
    with torch.no_grad():
        for name, value in taken.items():
            own[name].copy_(value)
    fresh = [name for name in own if name not in taken]
    left = [name for name in weights if name not in taken]
    notes = [f"{len(taken)} of {len(own)} tensors start from {earlier.folder}"]
    notes += [f"new: {', '.join(fresh)}"] if fresh else []
    notes += [f"not used: {', '.join(left)}"] if left else []
    return notes


def build_model(recipe: Recipe) -> nn.Module:
    """Return the recipe's model with fresh weights, a pure function of recipe and seed."""
    torch.manual_seed(recipe.training.seed)
    model: nn.Module = model_class(recipe.model.name)(recipe.model)
    return model


def folders_for(recipe: Recipe, path: Path | None, data: str | Path | None) -> list[Path]:
    """Return where the recipe's relative files are looked for."""
    if data is not None and not Path(data).is_dir():
        raise ConfigError(f"--data {data}: there is no such folder")
    own = None if path in shipped_recipes().values() else path
    return data_folders(Path(data) if data else None, getattr(recipe.data, "folder", ""), own)
