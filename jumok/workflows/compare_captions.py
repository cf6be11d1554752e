"""Captioners side by side on the same images: scores with significance, by number of objects where scenes were drawn.

predictors and their stores → same images and references? → each run describes them, timed → CaptionComparison

A resample draws images; CIDEr-D keeps the weights of the whole corpus, and BLEU-4 is that of the resampled corpus.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from jumok.data.images.caption_store import CaptionStore
from jumok.errors import ConfigError, DataError
from jumok.evaluation.captions import CaptionScores, bleu_from_counts, score_captions
from jumok.evaluation.scenes import SceneScores, score_scenes
from jumok.evaluation.significance import Significance, resample
from jumok.predictors.captioner import CaptionWriter
from jumok.workflows.compare_figure import Panel, draw_panels
from jumok.workflows.compared_runs import ComparedRun, Progress, SideBySide, advance_of, differences, training_time


@dataclass(frozen=True)
class ObjectsRight:
    """Scenes of some number of objects whose objects are all described right; 0 stands for any number."""

    objects: int
    scenes: int
    all_right: float  # per cent
    significance: Significance


@dataclass(frozen=True)
class CaptionResult(ComparedRun):
    """One run's row of a comparison."""

    training_tokens_per_second: float | None
    cider_d: float
    cider_d_significance: Significance
    bleu4: float
    bleu4_significance: Significance
    rouge_l: float
    distinct: int
    vocabulary: int
    objects: list[ObjectsRight]  # of any number first; empty where captions are of no drawn scenes
    captioning_seconds: float  # what a frozen encoder sees is in the cache before
    images_per_second: float
    decoding: dict[str, Any]


@dataclass(frozen=True)
class CaptionComparison(SideBySide):
    """Captioners side by side on one corpus."""

    images: int
    runs: list[CaptionResult]
    signature: str
    threads: int

    @property
    def decoding_differences(self) -> dict[str, list[Any]]:
        """The decoding options in which the runs differ, with the value of each run."""
        return differences([run.decoding for run in self.runs])


def compare_captioners(
    predictors: Mapping[str, CaptionWriter],
    stores: Sequence[Mapping[str, CaptionStore]],
    *,
    checkpoint: str = "best",
    beam: int | None = None,
    progress: Progress = lambda name, done, total: None,
) -> dict[str, CaptionComparison]:
    """Return a comparison for each corpus of the first run; every run must have its images and captions."""
    same = same_images(list(predictors), stores)  # before the first of them spends its time on describing
    return {
        label: _compare(predictors, of_runs, checkpoint=checkpoint, beam=beam, progress=progress)
        for label, of_runs in same.items()
    }


def same_images(names: Sequence[str], stores: Sequence[Mapping[str, CaptionStore]]) -> dict[str, list[CaptionStore]]:
    """Return each run's store of each corpus of the first run; refuse a run that has other images or captions."""
    found: dict[str, list[CaptionStore]] = {}
    for label, wanted in stores[0].items():
        texts = all_texts(wanted)
        if not texts:
            raise DataError(f"{label} has no images; compare needs some")
        found[label] = [wanted]
        for name, of_run in zip(names[1:], stores[1:], strict=True):
            same = next((store for store in of_run.values() if _names(store) == _names(wanted)), None)
            if same is None or all_texts(same) != texts:
                what = "the images" if same is None else "the captions"
                raise DataError(
                    f"{name} does not have {what} of {names[0]} ({label}); compare needs the same images and captions, with the "
                    "same data.lowercase and data.punctuation: choose runs of the same data, or give --source"
                )
            found[label].append(same)
    return found


def all_texts(store: CaptionStore) -> list[list[str]]:
    """Return the captions of every image of a store."""
    return [store.texts(number) for number in range(len(store))]


def _names(store: CaptionStore) -> list[str]:
    return list(store.images.names)


def _compare(
    predictors: Mapping[str, CaptionWriter],
    stores: Sequence[CaptionStore],
    *,
    checkpoint: str,
    beam: int | None,
    progress: Progress,
) -> CaptionComparison:
    references = all_texts(stores[0])
    written, seconds, options = [], [], []
    for (name, predictor), store in zip(predictors.items(), stores, strict=True):
        chosen = predictor.options.changed({"beam": beam})
        predictor.task.seen(store)  # what a frozen encoder sees is computed before the clock starts
        started = time.perf_counter()
        written.append(predictor.write(store, chosen, advance_of(progress, name, len(store))))
        seconds.append(time.perf_counter() - started)
        options.append(chosen)
    scores = [score_captions(texts, references) for texts in written]
    cider = resample([np.array(found.cider_d_each)[:, None] for found in scores], lambda t: t[0] / len(references))
    bleu = resample([np.array(found.bleu_counts) for found in scores], lambda t: 100 * bleu_from_counts(t)[3])
    said = [predictor.task.said(texts) for predictor, texts in zip(predictors.values(), written, strict=True)]
    drawn = next(iter(predictors.values())).task.drawn(stores[0])
    objects = [[] for _ in said] if drawn is None else objects_right([score_scenes(of_run, drawn) for of_run in said])
    runs = []
    for number, (name, predictor) in enumerate(predictors.items()):
        trained, speed = training_time(predictor.run.folder, checkpoint)
        found: CaptionScores = scores[number]
        runs.append(
            CaptionResult(
                name=name,
                folder=str(predictor.run.folder),
                model=predictor.run.recipe.model.name,
                parameters=predictor.parameters,
                training_seconds=trained,
                training_tokens_per_second=speed,
                cider_d=found.cider_d,
                cider_d_significance=cider[number],
                bleu4=found.bleu4,
                bleu4_significance=bleu[number],
                rouge_l=found.rouge_l,
                distinct=found.distinct,
                vocabulary=found.vocabulary,
                objects=objects[number],
                captioning_seconds=seconds[number],
                images_per_second=len(references) / seconds[number],
                decoding=options[number].model_dump(),
            )
        )
    return CaptionComparison(len(references), runs, scores[0].signature, threads=torch.get_num_threads())


def objects_right(runs: Sequence[SceneScores]) -> list[list[ObjectsRight]]:
    """Return for each run how many scenes are all right, in all and by number of objects, with significance."""
    right = np.array([scores.all_right_each for scores in runs], dtype=float)  # (runs, scenes)
    numbers = np.array(runs[0].objects_each)
    rows: list[list[ObjectsRight]] = [[] for _ in runs]
    for number in [0, *np.unique(numbers).tolist()]:
        chosen = right[:, numbers == number] if number else right
        scenes = chosen.shape[1]
        significance = resample(list(chosen[..., None]), lambda total, scenes=scenes: 100 * total[0] / scenes)  # type: ignore[misc]
        for of_run, values, each in zip(rows, chosen, significance, strict=True):
            of_run.append(ObjectsRight(number, scenes, 100 * float(values.mean()), each))
    return rows


def draw_objects(comparisons: Mapping[str, CaptionComparison], path: Path) -> None:
    """Draw the share of scenes that are all right against their number of objects as a PNG, one line per run."""
    panels = [
        Panel(
            title=f"{label}, {comparison.images:,} images",
            across="objects of the image",
            upwards="all objects right, %",
            points=[str(each.objects) for each in comparison.runs[0].objects[1:]],
            lines={run.name: [each.all_right for each in run.objects[1:]] for run in comparison.runs},
        )
        for label, comparison in comparisons.items()
        if comparison.runs[0].objects
    ]
    if not panels:
        raise ConfigError(
            "--png draws captions by number of objects, which is known of the set `shapes` alone; leave it out"
        )
    draw_panels(panels, path)
