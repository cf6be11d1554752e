"""A run's folder, or a shipped model's name, becomes a Predictor.

name → folder → recipe, tokenizers, weights → model → the predictor of its task, or the export that another engine runs
"""

from pathlib import Path
from typing import TypeVar

from jumok.catalogue import predictor_class, task_class
from jumok.errors import ConfigError, RunError, did_you_mean
from jumok.predictors.base import Predictor
from jumok.runs.device import choose_device
from jumok.runs.job import build_model
from jumok.runs.run import Run
from jumok.runs.shipped import find_run
from jumok.training.average import load_tensors
from jumok.training.checkpoint import Checkpoints

ENGINES = ("jumok", "ctranslate2")
Kind = TypeVar("Kind", bound=Predictor)


def load(
    run: str | Path,
    *,
    to: str = "",
    checkpoint: str = "best",
    device: str = "auto",
    engine: str = "",
    int8: bool = False,
) -> Predictor:
    """Return the model of a run, or a shipped one by its name, with the best weights unless another checkpoint is named.

    to is the target language of a translator that has several, where a call names none. engine is 'jumok' or
    'ctranslate2', by default what the folder was made for; int8 takes numbers of 8 bits, for which it needs CTranslate2.
    A run is exported to it at the first use, into its own folder.
    """
    folder, to = find_run(run, to)
    predictor = _load(Run.open(folder), checkpoint=checkpoint, device=device, engine=engine, int8=int8)
    if to:
        from jumok.predictors.translator import Translator

        if not isinstance(predictor, Translator):
            raise ConfigError(f"--to {to} is for translation; {run} is a run of {predictor.run.recipe.task}")
        predictor.to = predictor.language(to)
    return predictor


def load_for(
    kind: type[Kind],
    run: str | Path,
    *,
    to: str = "",
    checkpoint: str = "best",
    device: str = "auto",
    engine: str = "",
    int8: bool = False,
) -> Kind:
    """Return a run's model as a predictor of a kind; a run of another task is refused before its weights are read."""
    task = Run.open(find_run(run, to).folder).recipe.task
    found = predictor_class(task)
    if not issubclass(found, kind):
        raise ConfigError(f"{run} is a run of {task}: use jumok {found.verb}, not jumok {kind.verb}")
    predictor = load(run, to=to, checkpoint=checkpoint, device=device, engine=engine, int8=int8)
    assert isinstance(predictor, kind)
    return predictor


def _load(opened: Run, *, checkpoint: str, device: str, engine: str, int8: bool) -> Predictor:
    if engine not in ("", *ENGINES):
        raise ConfigError(f"--engine {engine}: {did_you_mean(engine, ENGINES)}")
    exported = opened.facts.get("engine", "jumok")
    if engine == "jumok" and exported != engine:
        raise ConfigError(
            f"{opened.folder} was exported to {exported}; the run it was made of is {opened.facts['exported']}"
        )
    if exported == "jumok" and (engine == "ctranslate2" or int8):
        opened = Run.open(exported_folder(opened, Checkpoints(opened.folder).find(checkpoint)))
    if opened.facts.get("engine"):
        from jumok.predictors.exported import ExportedTranslator

        task = task_class(opened.recipe.task).open(opened.recipe, opened.data_folders, tokenizers=opened.tokenizers)
        return ExportedTranslator(opened, task, precision="int8" if int8 else "float32")
    weights = Checkpoints(opened.folder).load_weights(checkpoint)
    model = build_model(opened.recipe)
    try:
        load_tensors(model, weights)
    except ValueError as error:
        raise RunError(f"{opened.folder}: {error}; recipe.toml and the checkpoint do not belong together") from None
    task = task_class(opened.recipe.task).open(opened.recipe, opened.data_folders, tokenizers=opened.tokenizers)
    return predictor_class(opened.recipe.task)(opened, task, model.to(choose_device(device)).eval())


def exported_folder(run: Run, checkpoint: Path) -> Path:
    """Return the folder of a run's own export of a checkpoint, made if there is none."""
    from jumok.cache import cache_key, cached_folder
    from jumok.data.files import content_hash
    from jumok.workflows.export import export_run

    def make(folder: Path) -> None:
        export_run(load(run.folder, checkpoint=checkpoint.name), folder, kind="ctranslate2")

    if run.facts.get("shipped"):  # nothing is written where jumok is installed
        key = cache_key("ctranslate2", content_hash([checkpoint / "model.safetensors"]))
        return cached_folder(key, lambda place: make(place / "model")) / "model"
    folder = run.folder / "ctranslate2" / checkpoint.resolve().name
    if not Run.exists(folder):
        folder.parent.mkdir(exist_ok=True)
        make(folder)
    return folder
