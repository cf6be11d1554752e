"""A training run made ready: data, model and folder checked, so that what can go wrong goes wrong before the first step.

recipe → prepare (task, model) → Job → train → run folder; `jumok check` prepares in the same way
"""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic

import torch
from rich.console import Console

from jumok.catalogue import task_class
from jumok.config.recipe import (
    Overrides,
    Recipe,
    RecipeSource,
    as_options,
    differences,
    find_recipe,
    shipped_recipes,
)
from jumok.data.corpora import ProgressCallback, data_folders
from jumok.data.stream import Stream
from jumok.errors import ConfigError, RunError
from jumok.inspection.film import Frame
from jumok.lens.film import forget_frames, save_frame
from jumok.runs.components import load_components, with_components
from jumok.runs.device import choose_device
from jumok.runs.formats import FORMAT
from jumok.runs.run import Run, locked
from jumok.runs.starting import read_recipe
from jumok.runs.weights import build_model, start_from
from jumok.tasks.base import BatchT, ModelT, Pending, Task
from jumok.training.callbacks import OnEvaluation, OnStep
from jumok.training.checkpoint import Checkpoints
from jumok.training.compiling import compile_layers
from jumok.training.precision import choose_precision, multiplies_narrow
from jumok.training.progress import Reporter
from jumok.training.trainer import Trainer
from jumok.training.trial import choose_sharing
from jumok.training.workers import Sharing, settings_for
from jumok.writing import ANOTHER_OUT, RESUME, explained

TRAINED = 3  # times the memory of its weights that a model takes at least: gradients, and what an optimizer keeps


def silent(what: str, done: int) -> None:
    """Show no progress."""


@dataclass
class Prepared(Generic[ModelT, BatchT]):
    """A recipe with its task and freshly made model."""

    recipe: Recipe  # with what the model takes from the data
    task: Task[ModelT, BatchT, Any]
    model: ModelT
    folders: list[Path]  # where data files are looked for
    notes: list[str]  # what a user should know before the first step


@dataclass
class Job(Generic[ModelT, BatchT]):
    """Everything a training run needs, with nothing written yet."""

    folder: Path
    recipe: Recipe
    task: Task[ModelT, BatchT, Any]
    model: ModelT
    batches: Stream[Pending[BatchT]]
    folders: list[Path]
    notes: list[str]
    going_on: bool
    command: str  # what goes on with the run

    def train(
        self, console: Console, *, on_step: OnStep | None = None, on_evaluation: OnEvaluation | None = None
    ) -> bool:
        """Train to the end; return False where it was stopped before."""
        device = choose_device(self.recipe.training.device)
        with locked(self.folder):
            sharing = self._sharing(device)
            if not self.going_on:
                facts = {
                    "data": self.task.fingerprint,
                    "data_folders": [str(place) for place in self.folders],
                    "workers": sharing.workers,
                    "threads": sharing.threads,
                }
                with explained(self.folder, ANOTHER_OUT, name=f"the run folder {self.folder}"):
                    Run.create(self.folder, self.recipe, tokenizers=self.task.tokenizers, facts=facts)
            has_perplexity = "perplexity" in self.task.scores
            reporter = Reporter(console, self.folder, unit=self.task.unit, perplexity=has_perplexity)
            trainer = Trainer(
                self.task,
                self.model.to(device),
                batches=self.batches,
                config=self.recipe.training,
                run=self.folder,
                on_step=on_step,
                on_evaluation=on_evaluation,
                reporter=reporter,
                device=device,
                film=self._film(),
                sharing=sharing,
            )
            count = self.model.parameter_count
            reporter.note(
                f"{self.folder}: {self.recipe.model.name}, {count:,} parameters, {self.task.size}, on {device}"
            )
            for note in self.notes:
                reporter.note(note)
            if self.going_on:
                with explained(self.folder, RESUME, name=f"the run folder {self.folder}"):
                    self._resume(trainer, reporter)
            try:
                done = trainer.train()
            finally:
                reporter.close()
                self.batches.close()
        if trainer.stop_signal:
            reporter.note(f"step {done.step:,} is saved. Go on with:\n  {self.command}")
        return not trainer.stop_signal

    def _sharing(self, device: torch.device) -> Sharing:
        """Return how steps are shared: as the run has kept it, or as a trial finds it fastest now."""
        settings = settings_for(self.model, self.recipe.training, device)
        if self.going_on:
            facts = Run.open(self.folder).facts
            if "workers" not in facts:  # begun before there was a trial
                return settings[0]
            # One thread does the same everywhere; more are as many as there are, and another number is told.
            return Sharing(facts["workers"], 1 if facts["threads"] == 1 else torch.get_num_threads())
        chosen, trial = choose_sharing(
            self.task,
            self.model.to(device),
            batches=self.batches,
            config=self.recipe.training,
            device=device,
            settings=settings,
        )
        if trial is not None:
            self.notes.append(
                f"training in {chosen}, the fastest on this machine as busy as it is now: {trial.words}. The run keeps it; "
                "training.workers sets it"
            )
        return chosen

    def _film(self) -> Callable[[ModelT, int], None] | None:
        """Return what keeps a frame of the model at a step, or None where nothing is filmed."""
        probes = self.recipe.training.probes
        camera = self.task.camera(self.model, count=probes) if probes else None
        if camera is None:
            return None
        return lambda model, step: save_frame(Frame(step, camera(model)), self.folder)

    def _resume(self, trainer: Trainer[ModelT, BatchT], reporter: Reporter) -> None:
        if not Checkpoints(self.folder).steps():
            reporter.note("no checkpoint yet: starting from the beginning")
            trainer.metrics.forget_after(0)
            forget_frames(self.folder, after=0)
            self.recipe.save(self.folder / "recipe.toml")  # steps and intervals may have changed
            return
        threads = Run.open(self.folder).facts.get("threads")
        if threads != trainer.sharing.threads:
            reporter.note(
                f"begun with {threads} threads, now {trainer.sharing.threads}: the run goes on, but not to the last digit as "
                "it would have"
            )
        trainer.resume()
        forget_frames(self.folder, after=trainer.state.step)
        self.recipe.save(self.folder / "recipe.toml")  # steps and intervals may have changed
        reporter.note(f"going on from step {trainer.state.step:,}")


def prepare(
    given: Recipe,
    *,
    path: Path | None,
    data: str | Path | None = None,
    run: Run | None = None,
    progress: ProgressCallback = silent,
) -> Prepared[Any, Any]:
    """Return a recipe's task and model, ready for training; a run that goes on brings its tokenizers along."""
    if given.training.threads:
        torch.set_num_threads(given.training.threads)
    device = choose_device(given.training.device)
    given = with_precision(given, run)
    folders = folders_for(given, path, data)
    if run is not None:
        folders = list(dict.fromkeys([*folders, *run.data_folders]))
    earlier = Run.open(given.training.init) if given.training.init and run is None else None
    if earlier is not None:
        check_same_tokenizer(earlier, given)
    components = load_components(run.recipe if run else given, folders)
    given = with_components(given, components)
    owner = run or earlier
    task = task_class(given.task).open(
        given, folders, tokenizers=owner.tokenizers if owner else None, progress=progress
    )
    task.take_components(components)
    if run is not None and run.facts.get("data") not in (None, task.fingerprint):
        raise RunError(
            f"the training data is not what {run.folder} was begun with, so the run cannot go on exactly. "
            "Put the files back, or start another run with --out."
        )
    full = task.complete(given)
    model = build_model(full, copies=TRAINED if device.type == "cpu" else 1)
    begun = run is not None and bool(Checkpoints(run.folder).steps())
    notes = [] if begun else task.initialise(model)
    notes += precision_notes(given, device)
    if earlier is not None:
        notes += start_from(model, earlier)
    notes += task.notes()
    task.check_fits(model)
    settings_for(model, given.training, device)  # or a refusal
    return Prepared(full, task, model, folders, notes)


def prepare_job(
    recipe: RecipeSource,
    *,
    data: str | Path | None = None,
    out: str | Path | None = None,
    overrides: Overrides = (),
    resume: bool = False,
    progress: ProgressCallback = silent,
) -> Job[Any, Any]:
    """Return the training run of a recipe, ready to start or to go on."""
    path = path_of(recipe)
    if out is not None:
        folder = Path(out)
    elif path is not None:
        folder = Path("runs") / path.stem
    else:
        raise ConfigError("a recipe that is a dict has no name: say where its run is to be, such as out='runs/first'")
    run = Run.open(folder) if Run.exists(folder) else None
    given = with_precision(read_recipe(recipe, overrides, run=run), run)
    if run is not None:
        check_goes_on(run, given, resume=resume)
    ready = prepare(given, path=path, data=data, run=run, progress=progress)
    if ready.recipe.training.compile and not compile_layers(ready.model):
        raise ConfigError(f"training.compile: '{ready.recipe.model.name}' has no layers to compile; leave it out")
    batches = ready.task.batches()
    ready.task.open_split("val")  # a problem there should show now, not at the first evaluation
    named, changed = (str(recipe), as_options(overrides)) if path else (str(folder / "recipe.toml"), [])
    parts = ["jumok", "train", named, "--out", str(folder), "--resume", *(["--data", str(data)] if data else [])]
    command = shlex.join([*parts, *(part for override in changed for part in ("--set", override))])
    return Job(
        folder, ready.recipe, ready.task, ready.model, batches, ready.folders, ready.notes, run is not None, command
    )


def with_precision(given: Recipe, run: Run | None) -> Recipe:
    """Return a recipe that says in which precision products are made: a run goes on in its own."""
    training = given.training
    if run is not None and training.precision == "auto":
        chosen = run.recipe.training.precision
    else:
        chosen = choose_precision(training.precision, given.model.name, choose_device(training.device))
    return replace(given, training=training.model_copy(update={"precision": chosen}))


def precision_notes(recipe: Recipe, device: torch.device) -> list[str]:
    """Return what a user should know of the precision, one line each."""
    if recipe.training.precision != "bf16":
        return []
    if multiplies_narrow(device):
        return ["products in bf16, their sums in fp32 (training.precision)"]
    return [
        "products in bf16, which this processor does not have: it is slower than fp32, and a run that was begun where "
        "they are does not go on to the last digit (training.precision)"
    ]


def path_of(recipe: RecipeSource) -> Path | None:
    """Return the file of a recipe; None where it is given itself."""
    return None if isinstance(recipe, Mapping) else find_recipe(recipe)


def check_goes_on(run: Run, given: Recipe, *, resume: bool) -> None:
    """Refuse to train in a folder that holds another run, or one that cannot go on exactly."""
    if not resume:
        steps = Checkpoints(run.folder).steps()
        raise RunError(
            f"{run.folder} already holds a run ({f'saved at step {steps[-1]:,}' if steps else 'nothing saved yet'}). "
            "Go on with --resume, choose another folder with --out, or remove it."
        )
    if run.format != FORMAT:
        raise RunError(
            f"{run.folder} was begun with an earlier jumok (run format {run.format}): it can be used, but it cannot go on "
            f"exactly. Start another run from its weights: --out FOLDER --set training.init={run.folder}"
        )
    changed = differences(run.recipe, given)
    if changed:
        raise RunError(
            f"the recipe has changed since {run.folder} was begun:\n  "
            + "\n  ".join(changed)
            + "\nOnly steps may grow and intervals change. Put it back, or start another run with --out."
        )


def check_same_tokenizer(earlier: Run, recipe: Recipe) -> None:
    """Refuse to start from a run whose text was cut into other tokens."""
    here, there = (set(task_class(one.task).tokenizer_names) for one in (recipe, earlier.recipe))
    differing = []
    if here != there:
        differing.append(f"a run of {earlier.recipe.task} has other sides than {recipe.task}")
    elif here:
        before, now = earlier.recipe.tokenizer.model_dump(), recipe.tokenizer.model_dump()
        differing += [
            f"tokenizer.{key}: {before[key]!r} there, {now[key]!r} here"
            for key in now
            if before[key] != now[key] and key not in ("dropout", "target_dropout")
        ]
    if differing:
        raise ConfigError(
            f"training.init = '{earlier.folder}': its text was cut into other tokens:\n  "
            + "\n  ".join(differing)
            + "\nWeights belong to a tokenizer: leave out [tokenizer], and that run's own is taken."
        )


def folders_for(recipe: Recipe, path: Path | None, data: str | Path | None) -> list[Path]:
    """Return where the recipe's relative files are looked for."""
    if data is not None and not Path(data).is_dir():
        raise ConfigError(f"--data {data}: there is no such folder")
    own = None if path in shipped_recipes().values() else path
    return data_folders(Path(data) if data else None, recipe.data.folder, own)
