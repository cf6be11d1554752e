"""The one door: train(), evaluate(), compare(), load() → Predictor, check(). Command line, server and notebooks come through here.

recipe → task (data, tokenizers) → model → trainer → run folder → load → answers and scores
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from rich.console import Console

from jumok.catalogue import MODELS, TASKS, model_class, predictor_class, task_class
from jumok.config import DecodingConfig, TokenizerConfig, TrainingConfig
from jumok.config.recipe import build_recipe, find_recipe
from jumok.errors import ConfigError, RunError
from jumok.predictors.base import Predictor
from jumok.runs.device import choose_device
from jumok.runs.job import Job, build_model, check_same_tokenizer, folders_for, prepare_job, silent, start_from
from jumok.runs.loading import load, load_for
from jumok.runs.run import Run, load_recipe
from jumok.runs.shipped import find_run
from jumok.training.average import model_tensors
from jumok.training.checkpoint import Checkpoints

if TYPE_CHECKING:
    from jumok.data.corpora import ProgressCallback
    from jumok.export.parity import Parity
    from jumok.lens.film import Film
    from jumok.workflows.check import Report
    from jumok.workflows.compare import Comparison

__all__ = [
    "Job",
    "Predictor",
    "check",
    "compare",
    "evaluate",
    "export",
    "load",
    "load_for",
    "open_film",
    "predictor_class",
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


def open_film(run: str | Path) -> "Film":
    """Return how the attention of a run grew on the probes kept at its evaluations (training.probes)."""
    from jumok.workflows.film import open_film

    return open_film(find_run(run).folder)


def import_model(folder: str | Path, run: str | Path) -> tuple[Predictor, list[str]]:
    """Bring in a GPT-2, BERT, ViT or Swin from a local folder of Hugging Face's layout; return it and the parts it did not have."""
    from jumok.export.from_huggingface import read_folder

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
        tokenizers=found.tokenizers,
        facts={"data_folders": [], "imported": str(folder)},
    )
    Checkpoints(target).save(0, weights=own, training={}, facts={}, best=True)
    return load(target), found.missing


def export(
    run: str | Path,
    folder: str | Path,
    *,
    to: str = "ctranslate2",
    source: str | Path | None = None,
    data: str | Path | None = None,
    checkpoint: str = "best",
    progress: Callable[[int], None] = lambda done: None,
) -> "Parity":
    """Write a translator into folder for another engine, and return how alike the two answer held-out sentences."""
    from jumok.data.files import read_lines
    from jumok.workflows.export import export_run

    predictor = load(run, checkpoint=checkpoint)
    look_in(predictor, data)
    texts = [line for line in read_lines(Path(source)) if line.strip()] if source else []
    return export_run(predictor, Path(folder), kind=to, texts=texts, progress=progress)


def evaluate(
    run: str | Path | Predictor,
    *,
    split: str = "val",
    source: str | Path | None = None,
    target: str | Path | None = None,
    data: str | Path | None = None,
    to: str = "",
    checkpoint: str = "best",
    options: DecodingConfig | None = None,
    beam: int | None = None,
    progress: Callable[[str, int, int], None] = lambda label, done, total: None,
) -> dict[str, dict[str, Any]]:
    """Return the scores of each corpus of a split, or of files of one's own, by label; to chooses a target language."""
    predictor = run if isinstance(run, Predictor) else load(run, to=to, checkpoint=checkpoint)
    options = options or predictor.options
    if beam is not None:
        options = DecodingConfig.parse(options.model_dump() | {"beam": beam}, "decoding")
    look_in(predictor, data)
    return predictor.evaluate(
        split,
        source=Path(source) if source else None,
        target=Path(target) if target else None,
        options=options,
        progress=progress,
    )


def look_in(predictor: Predictor, data: str | Path | None) -> None:
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
    to: str = "",
    checkpoint: str = "best",
    beam: int | None = None,
    png: str | Path | None = None,
    progress: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> "dict[str, Comparison]":
    """Return runs side by side on each corpus of a split, or on two files, by label; the first run is the baseline.

    to is the target language of runs that have several. png draws BLEU against the length of the source. progress is told run, sentences done since the last call, and all.
    """
    from jumok.lens.figure import check_can_draw
    from jumok.predictors.translator import Translator
    from jumok.workflows.compare import compare_runs, draw_lengths, name_runs

    names = name_runs(runs)
    if png is not None:
        check_can_draw(Path(png))
    predictors: dict[str, Translator] = {}
    for name, run in zip(names, runs, strict=True):
        predictor = load(run, checkpoint=checkpoint)
        if not isinstance(predictor, Translator):
            raise ConfigError(f"{run} is a run of {predictor.run.recipe.task}; compare is for translation")
        look_in(predictor, data)
        if to and predictor.task.languages:
            predictor.to = predictor.language(to)
        predictors[name] = predictor
    files = {"source": Path(source) if source else None, "target": Path(target) if target else None}
    stores = [predictor.stores(split, **files) for predictor in predictors.values()]
    comparisons = compare_runs(predictors, stores, checkpoint=checkpoint, beam=beam, progress=progress)
    if png is not None:
        draw_lengths(comparisons, Path(png))
    return comparisons


def check(
    recipe: str | Path,
    *,
    data: str | Path | None = None,
    overrides: Sequence[str] = (),
    progress: "ProgressCallback" = silent,
) -> "Report":
    """Examine a recipe and its data before a run; writes nothing but the cache."""
    from jumok.workflows.check import examine

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
        "data": [task_class(name).Data for name in TASKS],
        "tokenizer": [TokenizerConfig],
        "model": [model_class(name).Config for name in MODELS],
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
