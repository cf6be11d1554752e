"""How a run is filmed: at each evaluation the model looks at the same few val sentences, and where it looked is kept.

val pairs → one pass over their references under observe, one greedy translation → Frame → RUN/film/ (lens/film.py)
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from jumok.config import DecodingConfig
from jumok.data.store import PairStore
from jumok.data.text.tokenizer import END
from jumok.decoding.workers import one_thread
from jumok.errors import RunError
from jumok.inspection.film import Frame, Shot
from jumok.inspection.observe import observe
from jumok.lens.film import Film, load_film, save_frame
from jumok.runs.run import Run
from jumok.tasks.pairs import collate
from jumok.tasks.translation import Translation

LONGEST = 60  # tokens of a probe, each side: longer ones are tedious to look at, and large on disk
KINDS = ("cross", "recurrent")  # attention over the source


class Camera:
    """Take a frame of a model at each evaluation."""

    def __init__(self, task: Translation, run: Path, *, probes: Sequence[tuple[PairStore, int]]) -> None:
        self.task, self.run = task, run
        self.texts = [store.text(number) for store, number in probes]
        self.ids = [
            (store.source[number].astype(np.int64), store.target[number].astype(np.int64)) for store, number in probes
        ]

    @torch.inference_mode()
    def __call__(self, model: nn.Module, step: int) -> None:
        """Keep where the model looks at this step."""
        task, device = self.task, next(model.parameters()).device
        with one_thread(len(self.ids), model):
            with observe(model) as record:
                model(collate(self.ids).to(device))
            answers = task.answer(model, [source for source, _ in self.ids], options=DecodingConfig(beam=1))
        looks = [found for found in record.maps if found.kind in KINDS]
        shots = []
        for row, ((source, target), texts) in enumerate(zip(self.ids, self.texts, strict=True)):
            read, written = [*source.tolist(), END], [*target.tolist(), END]
            labels = task.target_tokenizer.labels(written), task.source_tokenizer.labels(read)
            words = [*task.source_tokenizer.words(read[:-1])], [*task.target_tokenizer.words(written[:-1])]
            shots.append(
                Shot(
                    *texts,
                    answers[row][0].text,
                    tuple(found.cut(*labels, row) for found in looks),
                    *((*side, side[-1] + 1 if side else 0) for side in words),
                )
            )
        save_frame(Frame(step, tuple(shots)), self.run)


def camera_for(task: Any, model: nn.Module, run: Path, *, count: int) -> Camera | None:
    """Return the camera of a run, or None where nothing is to be filmed: no probes, or no attention over a source."""
    if not count or not isinstance(task, Translation) or not getattr(model, "attends_to_source", False):
        return None
    limit = min(LONGEST, int(getattr(model, "limit", 0)) or LONGEST)
    stores = list(task.open_split("val").values())
    short = [np.flatnonzero((store.lengths <= limit).all(axis=1))[:count] for store in stores]
    # Of several corpora each has its turn: a model of two directions is filmed in both.
    turns = [(store, int(own[turn])) for turn in range(count) for store, own in zip(stores, short, strict=True) if turn < len(own)]  # fmt: skip
    return Camera(task, run, probes=turns[:count]) if turns else None


def open_film(run: Path) -> Film:
    """Return the film of a run; a run without one says why, and how to get one."""
    opened = Run.open(run)
    film = load_film(run)
    if film is not None:
        return film
    recipe = opened.recipe
    if recipe.task != "translation":
        raise RunError(f"{run} is a run of {recipe.task}; films are of translation, of attention over a source")
    if recipe.model.name == "seq2seq" and getattr(recipe.model, "attention", "") == "none":
        raise RunError(
            f"{run} has no film: its decoder has no attention to be filmed; set model.attention = 'mlp' and train again"
        )
    why = "training.probes = 0" if not recipe.training.probes else "no frames were kept of it"
    raise RunError(
        f"{run} has no film ({why}): train with training.probes = 2 in the recipe, or --set training.probes=2; "
        "a frame is then kept at each evaluation"
    )
