"""jumok (주목): train, run and look inside attention models."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

# Names are looked up when first used, so that `import jumok` (and the command line's --help) need no torch.
_HOMES = {
    "CaptionExplanation": "jumok.api",
    "CaptionWriter": "jumok.api",
    "CodePredictor": "jumok.api",
    "Drawer": "jumok.api",
    "Drawings": "jumok.api",
    "Drawn": "jumok.api",
    "EvaluationReport": "jumok.api",
    "Explanation": "jumok.api",
    "Filler": "jumok.api",
    "Filling": "jumok.api",
    "Forecast": "jumok.api",
    "ForecastExplanation": "jumok.api",
    "ImageClassifier": "jumok.api",
    "ImageExplanation": "jumok.api",
    "Predictor": "jumok.api",
    "RecodedImage": "jumok.api",
    "SeriesForecaster": "jumok.api",
    "StepReport": "jumok.api",
    "TextClassifier": "jumok.api",
    "Translator": "jumok.api",
    "Verdict": "jumok.api",
    "Writer": "jumok.api",
    "check": "jumok.api",
    "compare": "jumok.api",
    "evaluate": "jumok.api",
    "export_model": "jumok.api",
    "fetch": "jumok.api",
    "import_model": "jumok.api",
    "load": "jumok.api",
    "new_recipe": "jumok.api",
    "open_film": "jumok.api",
    "recipe_schema": "jumok.api",
    "sample_images": "jumok.api",
    "sample_texts": "jumok.api",
    "train": "jumok.api",
    "AttentionMap": "jumok.inspection.record",
    "AttentionRecord": "jumok.inspection.record",
    "observe": "jumok.inspection.observe",
    "watch": "jumok.inspection.watching",
    "load_record": "jumok.lens.storage",
    "save_record": "jumok.lens.storage",
    "show": "jumok.lens.showing",
    "JumokError": "jumok.errors",
}
__all__ = [
    "AttentionMap",
    "AttentionRecord",
    "CaptionExplanation",
    "CaptionWriter",
    "CodePredictor",
    "Drawer",
    "Drawings",
    "Drawn",
    "EvaluationReport",
    "Explanation",
    "Filler",
    "Filling",
    "Forecast",
    "ForecastExplanation",
    "ImageClassifier",
    "ImageExplanation",
    "JumokError",
    "Predictor",
    "RecodedImage",
    "SeriesForecaster",
    "StepReport",
    "TextClassifier",
    "Translator",
    "Verdict",
    "Writer",
    "check",
    "compare",
    "evaluate",
    "export_model",
    "fetch",
    "import_model",
    "load",
    "load_record",
    "new_recipe",
    "observe",
    "open_film",
    "recipe_schema",
    "sample_images",
    "sample_texts",
    "save_record",
    "show",
    "train",
    "watch",
]

if TYPE_CHECKING:
    from jumok.api import (
        CaptionExplanation,
        CaptionWriter,
        CodePredictor,
        Drawer,
        Drawings,
        Drawn,
        EvaluationReport,
        Explanation,
        Filler,
        Filling,
        Forecast,
        ForecastExplanation,
        ImageClassifier,
        ImageExplanation,
        Predictor,
        RecodedImage,
        SeriesForecaster,
        StepReport,
        TextClassifier,
        Translator,
        Verdict,
        Writer,
        check,
        compare,
        evaluate,
        export_model,
        fetch,
        import_model,
        load,
        new_recipe,
        open_film,
        recipe_schema,
        sample_images,
        sample_texts,
        train,
    )
    from jumok.errors import JumokError
    from jumok.inspection.observe import observe
    from jumok.inspection.record import AttentionMap, AttentionRecord
    from jumok.inspection.watching import watch
    from jumok.lens.showing import show
    from jumok.lens.storage import load_record, save_record


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'jumok' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
