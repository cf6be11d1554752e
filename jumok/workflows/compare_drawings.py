"""Drawers side by side: the same prompts drawn by the same seeds and read by the same reader, with significance.

predictors and their stores → same images and prompts? → each run draws them, timed → read → DrawingComparison
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from jumok.data.images.caption_store import CaptionStore
from jumok.errors import ConfigError
from jumok.evaluation.significance import Significance, resample
from jumok.predictors.drawer import Drawer
from jumok.predictors.drawing_evaluation import NO_READER, Prompts, draw_prompts
from jumok.predictors.drawing_readers import DrawingReader
from jumok.workflows.compare_captions import same_images
from jumok.workflows.compared_runs import ComparedRun, Progress, SideBySide, advance_of, differences, training_time


@dataclass(frozen=True)
class DrawingResult(ComparedRun):
    """One run's row of a comparison."""

    training_tokens_per_second: float | None
    right: float  # per cent of traits that were read as the prompts have them, or of classes; the mean over drawings
    right_significance: Significance
    all_right: float  # per cent of drawings in which everything was
    all_right_significance: Significance
    drawing_seconds: float
    drawings_per_second: float
    decoding: dict[str, Any]


@dataclass(frozen=True)
class DrawingComparison(SideBySide):
    """Drawers side by side on one corpus."""

    drawings: int
    reader: str
    runs: list[DrawingResult]
    threads: int

    @property
    def decoding_differences(self) -> dict[str, list[Any]]:
        """The decoding options in which the runs differ, with the value of each run."""
        return differences([run.decoding for run in self.runs])


def compare_drawers(
    predictors: Mapping[str, Drawer],
    stores: Sequence[Mapping[str, CaptionStore]],
    *,
    reader: DrawingReader | None,
    drawings: int,
    checkpoint: str = "best",
    progress: Progress = lambda name, done, total: None,
) -> dict[str, DrawingComparison]:
    """Return a comparison for each corpus of the first run; every run must have its images and captions."""
    if reader is None:
        raise ConfigError(NO_READER)
    longest = min(predictor.task.model_config.longest_text for predictor in predictors.values())
    same = same_images(list(predictors), stores)
    prompts = {label: Prompts.spread(of_runs[0], drawings, longest) for label, of_runs in same.items()}
    for chosen in prompts.values():
        reader.refuse(chosen.texts)  # before the first of them spends its time on drawing
    return {
        label: _compare(predictors, chosen.texts, reader=reader, checkpoint=checkpoint, progress=progress)
        for label, chosen in prompts.items()
    }


def _compare(
    predictors: Mapping[str, Drawer],
    texts: list[str],
    *,
    reader: DrawingReader,
    checkpoint: str,
    progress: Progress,
) -> DrawingComparison:
    each, seconds, options = [], [], []
    for name, predictor in predictors.items():
        chosen = predictor.options
        started = time.perf_counter()
        drawn = draw_prompts(
            predictor.task,
            predictor.model,
            texts,
            options=chosen,
            progress=advance_of(progress, name, len(texts)),
        )
        seconds.append(time.perf_counter() - started)
        options.append(chosen)
        each.append(reader.each(reader.read(drawn), texts))
    right = resample([of_run[:, None] for of_run in each], lambda total: total[0] / len(texts))
    all_right = resample([100.0 * (of_run == 100.0)[:, None] for of_run in each], lambda total: total[0] / len(texts))
    runs = []
    for number, (name, predictor) in enumerate(predictors.items()):
        trained, speed = training_time(predictor.run.folder, checkpoint)
        runs.append(
            DrawingResult(
                name=name,
                folder=str(predictor.run.folder),
                model=predictor.run.recipe.model.name,
                parameters=predictor.parameters,
                training_seconds=trained,
                training_tokens_per_second=speed,
                right=float(each[number].mean()),
                right_significance=right[number],
                all_right=100.0 * float((each[number] == 100.0).mean()),
                all_right_significance=all_right[number],
                drawing_seconds=seconds[number],
                drawings_per_second=len(texts) / seconds[number],
                decoding=options[number].model_dump(),
            )
        )
    return DrawingComparison(len(texts), reader.name, runs, threads=torch.get_num_threads())
