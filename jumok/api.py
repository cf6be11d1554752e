"""The one door: train(), evaluate(), compare(), load() → Predictor, check(). Command line, server and notebooks come through here.

recipe → task (data, tokenizers) → model → trainer → run folder → load → answers and scores
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from rich.console import Console

from jumok.catalogue import MODELS, TASKS, model_class, task_class
from jumok.comparison import Comparison, compare_runs, draw_lengths, name_runs
from jumok.config import DecodingConfig, TokenizerConfig, TrainingConfig
from jumok.data.corpora import Progress
from jumok.doctor import Report, examine
from jumok.errors import ConfigError, RunError
from jumok.export.huggingface import read_folder
from jumok.job import Job, build_model, check_same_tokenizer, folders_for, prepare_job, silent, start_from
from jumok.lens.picture import check_can_draw
from jumok.nn.device import choose_device
from jumok.predictors.base import Predictor
from jumok.predictors.classifier import TextClassifier
from jumok.predictors.filler import Filler
from jumok.predictors.picture_classifier import PictureClassifier
from jumok.predictors.translator import Translator
from jumok.predictors.writer import Writer
from jumok.recipe import build_recipe, find_recipe
from jumok.run import Run, load_recipe
from jumok.scaffold import new_recipe
from jumok.training.average import load_tensors, model_tensors
from jumok.training.checkpoint import Checkpoints

Kind = TypeVar("Kind", bound=Predictor)
PREDICTORS: dict[str, type[Predictor]] = {
    "language": Writer,
    "masked-language": Filler,
    "picture-classification": PictureClassifier,
    "text-classification": TextClassifier,
    "translation": Translator,
}

__all__ = [
    "Comparison",
    "Job",
    "Predictor",
    "check",
    "compare",
    "evaluate",
    "load",
    "new_recipe",
    "prepare_job",
    "recipe_schema",
    "train",
]


def train(
    recipe: str | Path,
    *,
    data: str | Path | None = None,
    out: str | Path | None = None,
    overrides: Sequence[str] = (),
    resume: bool = False,
    console: Console | None = None,
) -> Path:
    """Train a recipe (a file, or the name of a shipped one) and return the run's folder.

    overrides are like 'model.width=256'. A folder that holds a run is refused unless resume, which goes on exactly.
    """
    console = console or Console(stderr=True, quiet=True)
    job = prepare_job(recipe, data=data, out=out, overrides=overrides, resume=resume)
    job.train(console)
    return job.folder


def load(run: str | Path, *, checkpoint: str = "best", device: str = "auto") -> Predictor:
    """Return a run's model ready for use, with its best weights unless another checkpoint is named."""
    opened = Run.open(run)
    weights = Checkpoints(opened.folder).load_weights(checkpoint)
    model = build_model(opened.recipe)
    try:
        load_tensors(model, weights)
    except ValueError as error:
        raise RunError(f"{opened.folder}: {error}; recipe.toml and the checkpoint do not belong together") from None
    task = task_class(opened.recipe.task).open(opened.recipe, opened.data_folders, tokenizers=opened.tokenizers)
    return PREDICTORS[opened.recipe.task](opened, task, model.to(choose_device(device)).eval())


def import_model(folder: str | Path, run: str | Path) -> tuple[Predictor, list[str]]:
    """Bring in a GPT-2, BERT, ViT or Swin from a local folder of Hugging Face's layout; return it and the parts it did not have."""
    target = Path(run)
    if Run.exists(target):
        raise RunError(f"{target} already holds a run; choose another folder")
    found = read_folder(Path(folder))
    recipe = build_recipe(
        {"data": {}, **found.raw},
        data_class=lambda name: task_class(name).Data,
        model_class=lambda name: model_class(name).Config,
    )
    model = build_model(recipe)
    own = model_tensors(model)
    with torch.no_grad():
        for name, value in found.weights.items():
            if own[name].shape != value.shape:
                raise RunError(f"{folder}: {name} has shape {tuple(value.shape)}, not {tuple(own[name].shape)}")
            own[name].copy_(value)
    Run.create(
        target,
        recipe,
        tokenizers={"text": found.tokenizer} if found.tokenizer else {},
        facts={"data_folders": [], "imported": str(folder)},
    )
    Checkpoints(target).save(0, weights=own, training={}, facts={}, best=True)
    return load(target), found.missing


def load_for(kind: type[Kind], run: str | Path, *, checkpoint: str = "best", device: str = "auto") -> Kind:
    """Return a run's model as a predictor of a kind; a run of another task is refused before its weights are read."""
    task = Run.open(run).recipe.task
    if not issubclass(PREDICTORS[task], kind):
        raise ConfigError(f"{run} is a run of {task}: use jumok {PREDICTORS[task].verb}, not jumok {kind.verb}")
    predictor = load(run, checkpoint=checkpoint, device=device)
    assert isinstance(predictor, kind)
    return predictor


def evaluate(
    run: str | Path | Predictor,
    *,
    split: str = "val",
    source: str | Path | None = None,
    target: str | Path | None = None,
    data: str | Path | None = None,
    checkpoint: str = "best",
    options: DecodingConfig | None = None,
    beam: int | None = None,
    progress: Callable[[str, int, int], None] = lambda label, done, total: None,
) -> dict[str, dict[str, Any]]:
    """Return the scores of each corpus of a split, or of files of one's own, by label."""
    predictor = run if isinstance(run, Predictor) else load(run, checkpoint=checkpoint)
    options = options or predictor.options
    if beam is not None:
        options = DecodingConfig.parse(options.model_dump() | {"beam": beam}, "decoding")
    _look_in(predictor, data)
    return predictor.evaluate(
        split,
        source=Path(source) if source else None,
        target=Path(target) if target else None,
        options=options,
        progress=progress,
    )


def _look_in(predictor: Predictor, data: str | Path | None) -> None:
    """Let a predictor's files be found in a folder to which they have moved."""
    if data is not None:
        corpora = predictor.task.corpora
        corpora.folders = [*folders_for(predictor.run.recipe, None, data), *corpora.folders]


def compare(
    runs: Sequence[str | Path],
    *,
    split: str = "val",
    source: str | Path | None = None,
    target: str | Path | None = None,
    data: str | Path | None = None,
    checkpoint: str = "best",
    beam: int | None = None,
    png: str | Path | None = None,
    progress: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> dict[str, Comparison]:
    """Return runs side by side on each corpus of a split, or on two files, by label; the first run is the baseline.

    png draws BLEU against the length of the source. progress is told run, sentences done since the last call, and all.
    """
    names = name_runs(runs)
    if png is not None:
        check_can_draw(Path(png))
    predictors: dict[str, Translator] = {}
    for name, run in zip(names, runs, strict=True):
        predictor = load(run, checkpoint=checkpoint)
        if not isinstance(predictor, Translator):
            raise ConfigError(f"{run} is a run of {predictor.run.recipe.task}; compare is for translation")
        _look_in(predictor, data)
        predictors[name] = predictor
    files = {"source": Path(source) if source else None, "target": Path(target) if target else None}
    stores = [predictor.stores(split, **files) for predictor in predictors.values()]
    comparisons = compare_runs(predictors, stores, checkpoint=checkpoint, beam=beam, progress=progress)
    if png is not None:
        draw_lengths(comparisons, Path(png))
    return comparisons


def check(
    recipe: str | Path, *, data: str | Path | None = None, overrides: Sequence[str] = (), progress: Progress = silent
) -> Report:
    """Examine a recipe and its data before a run; writes nothing but the cache."""
    given = load_recipe(recipe, tuple(overrides))
    folders = folders_for(given, find_recipe(recipe), data)
    if given.training.threads:
        torch.set_num_threads(given.training.threads)
    earlier = Run.open(given.training.init) if given.training.init else None
    if earlier is not None:
        check_same_tokenizer(earlier, given)
    task = task_class(given.task).open(
        given, folders, tokenizers=earlier.tokenizers if earlier else None, progress=progress
    )
    full = task.complete(given)
    model = build_model(full)
    if earlier is not None:
        start_from(model, earlier)
    return examine(full, task, model.to(choose_device(full.training.device)))


def recipe_schema() -> dict[str, Any]:
    """Return the JSON schema of recipes, for editors."""
    sections = {
        "data": [entry.load().Data for entry in TASKS.values()],
        "tokenizer": [TokenizerConfig],
        "model": [entry.load().Config for entry in MODELS.values()],
        "training": [TrainingConfig],
        "decoding": [DecodingConfig],
    }
    definitions: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    for name, classes in sections.items():
        for found in classes:
            schema = found.model_json_schema(ref_template="#/$defs/{model}")
            definitions |= schema.pop("$defs", {}) | {found.__name__: schema}
        properties[name] = {"anyOf": [{"$ref": f"#/$defs/{found.__name__}"} for found in classes]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "jumok recipe",
        "type": "object",
        "properties": {"task": {"enum": list(TASKS)}, **properties},
        "required": ["data"],
        "additionalProperties": False,
        "$defs": definitions,
    }
