"""The one door: train, evaluate, compare, load → Predictor, check. Command line, server and notebooks come through here.

recipe → task (data, tokenizers) → model → trainer → run folder → load → answers and scores

Importing this module costs nothing: what a function needs, torch above all, is imported when it is called, and what
only passes through here when it is first used.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

if TYPE_CHECKING:
    from jumok.config import DecodingConfig
    from jumok.lens.caption_page import make_caption_page
    from jumok.lens.codes_figure import save_codes
    from jumok.lens.codes_page import make_codes_page
    from jumok.lens.drawing_blocks import ImageBlocks
    from jumok.lens.drawing_page import make_drawing_page
    from jumok.lens.figure import check_can_draw
    from jumok.lens.film import Film
    from jumok.lens.film_page import make_film_page
    from jumok.lens.forecast_look import ForecastLook
    from jumok.lens.forecast_page import make_forecast_page
    from jumok.lens.html import Page, make_page
    from jumok.lens.image_page import make_image_page
    from jumok.predictors.alignment import Alignment, alignment_of
    from jumok.predictors.base import AnyPredictor, Notice, Predictor, ScoringProgress
    from jumok.predictors.caption_explanation import CaptionExplanation, WordHeat, word_heat_of
    from jumok.predictors.captioner import CaptionWriter
    from jumok.predictors.classifier import Classifier, Verdict
    from jumok.predictors.drawer import Drawer
    from jumok.predictors.drawing_explanation import DrawingExplanation
    from jumok.predictors.drawing_readers import reader_of
    from jumok.predictors.drawn import Drawings, Drawn
    from jumok.predictors.explaining import Look
    from jumok.predictors.explanation import Explanation, HeadWorth, TokenChoice, TokenWorth
    from jumok.predictors.filler import Filler, Filling
    from jumok.predictors.forecast import Forecast, Forecasts
    from jumok.predictors.forecast_explanation import ForecastExplanation, Looked
    from jumok.predictors.forecaster import SeriesForecaster
    from jumok.predictors.image_classifier import ImageClassifier
    from jumok.predictors.image_coder import CodePredictor
    from jumok.predictors.image_explanation import ImageExplanation
    from jumok.predictors.inputs import read_lines
    from jumok.predictors.recoded_image import RecodedImage
    from jumok.predictors.text_classifier import TextClassifier
    from jumok.predictors.translator import Translator
    from jumok.predictors.writer import Writer
    from jumok.runs.job import Job, prepare_job
    from jumok.runs.loading import LoadOptions, predictor_class_of
    from jumok.runs.run import Run
    from jumok.runs.shipped import known_runs
    from jumok.tasks.writing import Answer
    from jumok.training.callbacks import EvaluationReport, StepReport
    from jumok.workflows.check import CheckReport, check
    from jumok.workflows.compare import Comparison, RunResult, compare, name_runs
    from jumok.workflows.compare_captions import CaptionComparison, CaptionResult
    from jumok.workflows.compare_drawings import DrawingComparison, DrawingResult
    from jumok.workflows.compare_forecasts import ForecastComparison, ForecastResult
    from jumok.workflows.export import export_model
    from jumok.workflows.fetch import fetch
    from jumok.workflows.import_ import import_model
    from jumok.workflows.new import new_recipe
    from jumok.workflows.sample import sample_aligned, sample_images, sample_texts
    from jumok.workflows.schema import recipe_schema

    PredictorT = TypeVar("PredictorT", bound=AnyPredictor)

# The names in catalogue.SHIPPED, for type checkers.
ShippedTranslator = Literal["ko-en", "en-ko", "fr-en", "en-fr"]
ShippedCaptioner = Literal["shapes-captioner", "shapes"]
ShippedDrawer = Literal["shapes-drawer"]

__all__ = [
    "Alignment",
    "Answer",
    "AnyPredictor",
    "CaptionComparison",
    "CaptionExplanation",
    "CaptionResult",
    "CaptionWriter",
    "CheckReport",
    "Classifier",
    "CodePredictor",
    "Comparison",
    "Drawer",
    "DrawingComparison",
    "DrawingExplanation",
    "DrawingResult",
    "Drawings",
    "Drawn",
    "EvaluationReport",
    "Explanation",
    "Filler",
    "Filling",
    "Film",
    "Forecast",
    "ForecastComparison",
    "ForecastExplanation",
    "ForecastLook",
    "ForecastResult",
    "Forecasts",
    "HeadWorth",
    "ImageBlocks",
    "ImageClassifier",
    "ImageExplanation",
    "Job",
    "LoadOptions",
    "Look",
    "Looked",
    "Notice",
    "Page",
    "Predictor",
    "RecodedImage",
    "RunResult",
    "SeriesForecaster",
    "StepReport",
    "TextClassifier",
    "TokenChoice",
    "TokenWorth",
    "Translator",
    "Verdict",
    "WordHeat",
    "Writer",
    "alignment_of",
    "check",
    "check_can_draw",
    "compare",
    "evaluate",
    "export_model",
    "fetch",
    "import_model",
    "known_runs",
    "load",
    "load_for",
    "make_caption_page",
    "make_codes_page",
    "make_drawing_page",
    "make_film_page",
    "make_forecast_page",
    "make_image_page",
    "make_page",
    "name_runs",
    "new_recipe",
    "open_film",
    "predictor_class_of",
    "prepare_job",
    "read_lines",
    "reader_of",
    "recipe_schema",
    "sample_aligned",
    "sample_images",
    "sample_texts",
    "save_codes",
    "train",
    "word_heat_of",
]

# Where a name is at home that only passes through here.
_HOMES = {
    "jumok.lens.caption_page": ("make_caption_page",),
    "jumok.lens.codes_figure": ("save_codes",),
    "jumok.lens.codes_page": ("make_codes_page",),
    "jumok.lens.drawing_blocks": ("ImageBlocks",),
    "jumok.lens.drawing_page": ("make_drawing_page",),
    "jumok.lens.figure": ("check_can_draw",),
    "jumok.lens.film": ("Film",),
    "jumok.lens.film_page": ("make_film_page",),
    "jumok.lens.forecast_look": ("ForecastLook",),
    "jumok.lens.forecast_page": ("make_forecast_page",),
    "jumok.lens.html": ("Page", "make_page"),
    "jumok.lens.image_page": ("make_image_page",),
    "jumok.predictors.alignment": ("Alignment", "alignment_of"),
    "jumok.predictors.base": ("AnyPredictor", "Notice", "Predictor"),
    "jumok.predictors.caption_explanation": ("CaptionExplanation", "WordHeat", "word_heat_of"),
    "jumok.predictors.captioner": ("CaptionWriter",),
    "jumok.predictors.classifier": ("Classifier", "Verdict"),
    "jumok.predictors.drawer": ("Drawer",),
    "jumok.predictors.drawing_explanation": ("DrawingExplanation",),
    "jumok.predictors.drawing_readers": ("reader_of",),
    "jumok.predictors.drawn": ("Drawings", "Drawn"),
    "jumok.predictors.explaining": ("Look",),
    "jumok.predictors.explanation": ("Explanation", "HeadWorth", "TokenChoice", "TokenWorth"),
    "jumok.predictors.filler": ("Filler", "Filling"),
    "jumok.predictors.forecast": ("Forecast", "Forecasts"),
    "jumok.predictors.forecast_explanation": ("ForecastExplanation", "Looked"),
    "jumok.predictors.forecaster": ("SeriesForecaster",),
    "jumok.predictors.image_classifier": ("ImageClassifier",),
    "jumok.predictors.image_coder": ("CodePredictor",),
    "jumok.predictors.image_explanation": ("ImageExplanation",),
    "jumok.predictors.inputs": ("read_lines",),
    "jumok.predictors.recoded_image": ("RecodedImage",),
    "jumok.predictors.text_classifier": ("TextClassifier",),
    "jumok.predictors.translator": ("Translator",),
    "jumok.predictors.writer": ("Writer",),
    "jumok.runs.job": ("Job", "prepare_job"),
    "jumok.runs.loading": ("LoadOptions", "predictor_class_of"),
    "jumok.runs.shipped": ("known_runs",),
    "jumok.tasks.writing": ("Answer",),
    "jumok.training.callbacks": ("EvaluationReport", "StepReport"),
    "jumok.workflows.check": ("CheckReport", "check"),
    "jumok.workflows.compare": ("Comparison", "RunResult", "compare", "name_runs"),
    "jumok.workflows.compare_captions": ("CaptionComparison", "CaptionResult"),
    "jumok.workflows.compare_drawings": ("DrawingComparison", "DrawingResult"),
    "jumok.workflows.compare_forecasts": ("ForecastComparison", "ForecastResult"),
    "jumok.workflows.export": ("export_model",),
    "jumok.workflows.fetch": ("fetch",),
    "jumok.workflows.import_": ("import_model",),
    "jumok.workflows.new": ("new_recipe",),
    "jumok.workflows.sample": ("sample_aligned", "sample_images", "sample_texts"),
    "jumok.workflows.schema": ("recipe_schema",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'jumok.api' has no attribute '{name}'")


def train(
    recipe: str | Path | Mapping[str, Any],
    *,
    data: str | Path | None = None,
    out: str | Path | None = None,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    resume: bool = False,
    on_step: "Callable[[StepReport], bool | None] | None" = None,
    on_evaluation: "Callable[[EvaluationReport], bool | None] | None" = None,
    quiet: bool = False,
) -> Path:
    """Train a recipe (a file, the name of a shipped one, or a dict) and return the run's folder.

    overrides are {"model.width": 256}, {"model": {"width": 256}} or ["model.width=256"]. A folder that holds a run is
    refused unless resume, which goes on exactly. on_step and on_evaluation are told what happens; one that returns False
    stops the run after a checkpoint, and resume goes on. A terminal and a notebook show a bar, unless quiet.
    """
    from rich.console import Console

    from jumok.runs.job import prepare_job

    console, said = Console(stderr=True, emoji=False, quiet=quiet), set()

    def tell(what: str, done: int) -> None:
        if what not in said:
            said.add(what)
            console.print(f"{what} …", highlight=False)

    job = prepare_job(recipe, data=data, out=out, overrides=overrides, resume=resume, progress=tell)
    job.train(console, on_step=on_step, on_evaluation=on_evaluation)
    return job.folder


@overload
def load(
    run: ShippedTranslator,
    *,
    to: str = "",
    checkpoint: str = "best",
    device: str = "auto",
    engine: str = "",
    int8: bool = False,
    precision: str = "auto",
) -> "Translator": ...


@overload
def load(
    run: ShippedCaptioner,
    *,
    to: str = "",
    checkpoint: str = "best",
    device: str = "auto",
    engine: str = "",
    int8: bool = False,
    precision: str = "auto",
) -> "CaptionWriter": ...


@overload
def load(
    run: ShippedDrawer,
    *,
    to: str = "",
    checkpoint: str = "best",
    device: str = "auto",
    engine: str = "",
    int8: bool = False,
    precision: str = "auto",
) -> "Drawer": ...


@overload
def load(
    run: str | Path,
    kind: "type[PredictorT]",
    *,
    to: str = "",
    checkpoint: str = "best",
    device: str = "auto",
    engine: str = "",
    int8: bool = False,
    precision: str = "auto",
) -> "PredictorT": ...


@overload
def load(
    run: str | Path,
    *,
    to: str = "",
    checkpoint: str = "best",
    device: str = "auto",
    engine: str = "",
    int8: bool = False,
    precision: str = "auto",
) -> "AnyPredictor": ...


def load(
    run: str | Path,
    kind: "type[AnyPredictor] | None" = None,
    *,
    to: str = "",
    checkpoint: str = "best",
    device: str = "auto",
    engine: str = "",
    int8: bool = False,
    precision: str = "auto",
) -> "AnyPredictor":
    """Return the model of a run, or a shipped one by its name, with the best weights unless another checkpoint is named.

    kind says what the run is to be (jumok.Translator, Writer, Filler, TextClassifier, …), for editors and
    type checkers; a run of another kind is refused. to is the target language of a translator that has several, where a
    call names none. engine is 'jumok' or 'ctranslate2', by default what the folder was made for; int8 takes weights of
    8 bits, for which it needs CTranslate2. A run is exported to it at the first use, into its own folder. precision is
    that of jumok's own products: 'fp32', 'bf16', or by default what the model and the processor do well. Nothing global is
    changed: no seed, no thread count.
    """
    from jumok.predictors.base import Predictor
    from jumok.runs.loading import LoadOptions

    options = LoadOptions(to, checkpoint, device, engine, int8, precision)
    return load_for(kind or Predictor, run, options, otherwise="load it as {kind}, or without a kind")


def load_for(
    kind: "type[PredictorT]", run: str | Path, options: "LoadOptions | None" = None, *, otherwise: str = ""
) -> "PredictorT":
    """Return a run's model as a predictor of a kind; a run of another kind is refused before its weights are read.

    otherwise ends the sentence of the refusal, where it is not to name the command that such a run is for; {kind} in it
    is the class of the run's predictor.
    """
    from jumok.runs.loading import BEST, load_run

    return load_run(kind, run, options or BEST, otherwise=otherwise, export=_own_export)


def _own_export(run: "Run", checkpoint: Path) -> Path:
    from jumok.workflows.export import own_export

    return own_export(run, checkpoint)


def evaluate(
    run: "str | Path | AnyPredictor",
    *,
    split: str = "val",
    source: str | Path | None = None,
    target: str | Path | None = None,
    data: str | Path | None = None,
    to: str = "",
    checkpoint: str = "best",
    options: "DecodingConfig | None" = None,
    beam: int | None = None,
    read: "str | Path | AnyPredictor" = "",
    drawings: int | None = None,
    progress: "ScoringProgress" = lambda label, done, total: None,
) -> dict[str, dict[str, Any]]:
    """Return the scores of each corpus of a split, or of files of one's own, by label; to chooses a target language.

    read and drawings are for a run that draws: the captioner or image classifier that says what it sees in so many
    drawings of each corpus.
    """
    from jumok.predictors.drawer import Drawer
    from jumok.runs.loading import add_data_folder
    from jumok.workflows.read_drawings import evaluate_drawer, refuse_reading

    predictor = load(run, to=to, checkpoint=checkpoint) if isinstance(run, str | Path) else run
    add_data_folder(predictor, data)
    files = {"source": Path(source) if source else None, "target": Path(target) if target else None}
    options = (options or predictor.options).changed({"beam": beam})
    if isinstance(predictor, Drawer):
        return evaluate_drawer(
            predictor, split, **files, options=options, read=read, drawings=drawings, progress=progress
        )
    refuse_reading(predictor.run.folder, type(predictor), read=read, drawings=drawings)
    return predictor.evaluate(split, **files, options=options, progress=progress)


def open_film(run: str | Path) -> "Film":
    """Return how the attention of a run grew on the probes kept at its evaluations (training.probes)."""
    from jumok.runs.shipped import find_run
    from jumok.workflows.film import open_film

    return open_film(find_run(run).folder)
