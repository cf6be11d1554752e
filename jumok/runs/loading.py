"""A run's folder, or a shipped model's name, becomes a Predictor; nothing global of the caller's is touched.

name → folder → recipe, tokenizers, weights → model → the predictor of its task, or the export that another engine runs
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from jumok.catalogue import predictor_class, task_class
from jumok.errors import ConfigError, RunError, did_you_mean
from jumok.predictors.base import AnyPredictor
from jumok.runs.components import load_components
from jumok.runs.device import choose_device
from jumok.runs.job import folders_for
from jumok.runs.run import Run
from jumok.runs.shipped import find_run
from jumok.runs.weights import build_empty_model, load_weights
from jumok.tasks.base import Task
from jumok.training.average import load_tensors
from jumok.training.checkpoint import Checkpoints
from jumok.training.precision import choose_answering

ENGINES = ("jumok", "ctranslate2")
PredictorT = TypeVar("PredictorT", bound=AnyPredictor)
Export = Callable[[Run, Path], Path]  # a run and the folder of a checkpoint → the folder of its export


@dataclass(frozen=True)
class LoadOptions:
    """How a run is loaded."""

    to: str = ""  # the target language of a translator that has several, where a call names none
    checkpoint: str = "best"  # or last, or step-N
    device: str = "auto"  # or cpu, cuda, cuda:N, mps
    engine: str = ""  # jumok or ctranslate2; "": what the folder was made for
    int8: bool = False  # weights of 8 bits, for which it needs CTranslate2
    precision: str = "auto"  # of products: fp32, bf16, or what the model and the processor do well


BEST = LoadOptions()


def load_run(
    kind: type[PredictorT],
    run: str | Path,
    options: LoadOptions = BEST,
    *,
    otherwise: str = "",
    export: Export | None = None,
) -> PredictorT:
    """Return a run's model as a predictor of a kind; a run of another kind is refused before its weights are read.

    otherwise is what the refusal says of those that are needed, where no command of theirs is to be named; {kind} in it
    is the run's own class. export makes
    a run's export where another engine is asked for and there is none; without it such an engine is refused.
    """
    folder, to = find_run(run, options.to, lambda folder: issubclass(_predictor_of(folder), kind))
    opened = Run.open(folder)
    found = predictor_class(opened.recipe.task)
    if not issubclass(found, kind):
        begin = f"{run} is a run of {opened.recipe.task}"
        if otherwise:
            raise ConfigError(f"{begin}; {otherwise.replace('{kind}', found.__name__)}")
        if found.verb:
            raise ConfigError(f"{begin}: use jumok {found.verb}, not jumok {kind.verb}")
        raise ConfigError(
            f"{begin}, which jumok {kind.verb} cannot use; jumok.load can, in Python"
        )  # a user's own task
    predictor = _load(found, _in_its_engine(opened, options, export), options)
    if to:
        predictor.choose_language(to)
    again = replace(options, to=to, engine="")  # the folder is that of the engine already
    predictor.load_again = partial(load_run, found, predictor.run.folder.absolute(), again)
    assert isinstance(predictor, kind)
    return predictor


def predictor_class_of(run: str | Path) -> type[AnyPredictor]:
    """Return the class of predictors that a run will be loaded as, without loading it."""
    return _predictor_of(find_run(run).folder)


def _predictor_of(folder: Path) -> type[AnyPredictor]:
    return predictor_class(Run.open(folder).recipe.task)


def _in_its_engine(run: Run, options: LoadOptions, export: Export | None) -> Run:
    """Return the run itself, or the run that is its export, as the options say."""
    if options.engine not in ("", *ENGINES):
        raise ConfigError(f"--engine {options.engine}: {did_you_mean(options.engine, ENGINES)}")
    exported_to = run.facts.get("engine", "jumok")
    if options.engine == "jumok" and exported_to != options.engine:
        raise ConfigError(
            f"{run.folder} was exported to {exported_to}; the run it was made of is {run.facts['exported']}"
        )
    if exported_to == "jumok" and (options.engine == "ctranslate2" or options.int8):
        if export is None:
            raise ConfigError(f"{run.folder} is not exported: jumok export {run.folder} FOLDER --to ctranslate2")
        return Run.open(export(run, Checkpoints(run.folder).find(options.checkpoint)))
    return run


def _load(kind: type[AnyPredictor], run: Run, options: LoadOptions) -> AnyPredictor:
    def open_task() -> Task[Any, Any, Any]:
        task = task_class(run.recipe.task).open(run.recipe, run.data_folders, tokenizers=run.tokenizers)
        task.take_components(load_components(run.recipe, [run.folder, *run.data_folders], in_use=True))
        return task

    if run.facts.get("engine"):
        if options.precision == "bf16" or (options.precision != "auto" and options.int8):
            raise ConfigError(
                f"--precision {options.precision} is for jumok's own products, and {run.facts['engine']} has its own; "
                "leave it out"
            )
        return kind.with_export(run, open_task(), int8=options.int8)
    weights = load_weights(run, options.checkpoint)
    model = build_empty_model(run.recipe.model)
    try:
        load_tensors(model, weights)
    except ValueError as error:
        raise RunError(f"{run.folder}: {error}; recipe.toml and the checkpoint do not belong together") from None
    device = choose_device(options.device, option="device")
    precision = choose_answering(options.precision, run.recipe.model.name, device)
    predictor = kind.with_model(run, open_task(), model.to(device).eval())
    predictor.choose_precision(precision)
    return predictor


def add_data_folder(predictor: AnyPredictor, data: str | Path | None) -> None:
    """Let a predictor's files be found in a folder to which they have moved."""
    if data is not None:
        corpora = predictor.task.corpora
        corpora.folders = [*folders_for(predictor.run.recipe, None, data), *corpora.folders]
