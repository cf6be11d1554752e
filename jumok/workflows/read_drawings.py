"""Drawings scored by somebody who has not seen the prompts: which run reads, and the scores of every corpus.

drawer → the run that --read names, or the shipped captioner for scenes of `shapes` → reader → scores of each corpus
"""

from pathlib import Path

from jumok.catalogue import SHIPPED
from jumok.config import DecodingConfig
from jumok.errors import ConfigError
from jumok.predictors.base import AnyPredictor, Predictor
from jumok.predictors.drawer import Drawer
from jumok.predictors.drawing_evaluation import DRAWINGS, score_drawings, training_images
from jumok.predictors.drawing_readers import DrawingReader, reader_of
from jumok.runs.loading import load_run
from jumok.tasks.base import Scores
from jumok.workflows.compared_runs import Progress, advance_of

SCENE_READER = "shapes-captioner"  # reads scenes of the built-in set


def evaluate_drawer(
    drawer: Drawer,
    split: str,
    *,
    source: Path | None = None,
    target: Path | None = None,
    options: DecodingConfig | None = None,
    read: str | Path | AnyPredictor = "",
    drawings: int | None = None,
    progress: Progress = lambda label, done, total: None,
) -> dict[str, Scores]:
    """Return the scores of each corpus of a split, or of files of one's own, by label."""
    reader = find_reader(drawer, read)
    count = DRAWINGS if drawings is None else drawings
    stores = drawer.stores(split, source=source, target=target)
    train = training_images(drawer.task)
    return {
        label: score_drawings(
            drawer.task,
            drawer.model,
            store,
            options=options or drawer.options,
            reader=reader,
            train=train,
            drawings=count,
            progress=advance_of(progress, label, min(count, len(store))),
        )
        for label, store in stores.items()
    }


def find_reader(drawer: Drawer, read: str | Path | AnyPredictor = "") -> DrawingReader | None:
    """Return who reads a run's drawings: the run that is named, or for scenes of `shapes` the shipped captioner."""
    if isinstance(read, Predictor):
        return reader_of(read)
    if str(read):
        return reader_of(load_run(Predictor, read))
    data = drawer.task.data
    if data.set == "shapes" and data.captions == "relations" and SCENE_READER in SHIPPED:
        return reader_of(load_run(Predictor, SCENE_READER))
    return None


def refuse_reading(
    run: str | Path, kind: type[AnyPredictor], *, read: str | Path | AnyPredictor, drawings: int | None
) -> None:
    """Refuse options that are for runs that draw, where a run is of another kind."""
    if drawings is not None or isinstance(read, Predictor) or str(read):
        given = "--read" if drawings is None else f"--drawings {drawings}"
        use = f"jumok {kind.verb} uses {run}" if kind.verb else f"{run} is none"
        raise ConfigError(f"{given} is for runs that draw, and {use}; leave it out")
