"""Where a captioner looks in the same few val images: what is filmed at each evaluation.

val images, the first caption of each → one pass over it under observe, one greedy caption → a Shot of each
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from jumok.config import DecodingConfig
from jumok.data.images.caption_store import CaptionStore
from jumok.data.text.tokenizer import END
from jumok.inspection.data_url import as_data_url
from jumok.inspection.film import Shot
from jumok.inspection.labels import cell_labels
from jumok.inspection.observe import observe
from jumok.nn.batch import CaptionBatch
from jumok.nn.model import CaptionDecoder
from jumok.nn.threads import one_thread_for
from jumok.tasks.pairs import shifted

if TYPE_CHECKING:
    from jumok.tasks.image_captioning import ImageCaptioning

LONGEST = 30  # tokens of a probe's caption: more words than that are tedious to look at
SIDE, EXACT = 192, 12_000  # pixels and characters of the image that every frame keeps
KINDS = ("cross", "recurrent")  # attention over the image

Probe = tuple[CaptionStore, int]  # a store, and the number of an image in it


def caption_probes(stores: Mapping[str, CaptionStore], *, count: int, limit: int) -> list[Probe]:
    """Return so many images of val whose first caption is short; of several corpora each has its turn."""
    longest = min(LONGEST, limit or LONGEST)
    short = [
        (store, np.flatnonzero(np.asarray(store.captions.lengths)[store.first[:-1]] < longest)[:count])
        for store in stores.values()
    ]
    turns = [(store, int(own[turn])) for turn in range(count) for store, own in short if turn < len(own)]
    return turns[:count]


class CaptionCamera:
    """Show where a model looks in the probes."""

    def __init__(self, task: ImageCaptioning, probes: Sequence[Probe]) -> None:
        self.task = task
        firsts = [store.numbers(number)[0] for store, number in probes]
        self.names = [store.images.names[number] for store, number in probes]
        self.texts = [store.captions.text(first) for (store, _), first in zip(probes, firsts, strict=True)]
        self.ids = [store.captions[first].astype(np.int64) for (store, _), first in zip(probes, firsts, strict=True)]
        self.seen = [task.seen(store, [number])[0] for store, number in probes]
        self.images = [as_data_url(store.images.pixels[number], exact=EXACT, longest=SIDE) for store, number in probes]

    @torch.inference_mode()
    def __call__(self, model: CaptionDecoder[Any]) -> tuple[Shot, ...]:
        """Return a shot of each probe."""
        task = self.task
        batch = CaptionBatch(*shifted(self.ids), **task.inputs(self.seen)).to(model.device)
        with one_thread_for(len(self.ids), model):
            grid = model.encode(batch).grid
            with observe(model) as record:
                model(batch)
            answers = task.answer(model, self.seen, options=DecodingConfig(beam=1))
        assert grid is not None, "a captioner's memory has the grid of its cells"
        cells, places = cell_labels(grid, 0), tuple(range(grid[0] * grid[1]))
        attention = [replace(found, grid=grid) for found in record.maps if found.kind in KINDS]
        shots = []
        for row, ids in enumerate(self.ids):
            labels, words = task.target_tokenizer.labels([*ids, END]), task.target_tokenizer.words(ids.tolist())
            maps = tuple(found.cut(labels, cells, row) for found in attention)
            shot = Shot(
                self.names[row],
                self.texts[row],
                answers[row][0].text,
                maps,
                places,
                (*words, words[-1] + 1 if words else 0),
                sides=("reference", "image"),
                answer_is="caption",
                image=self.images[row],
            )
            shots.append(shot)
        return tuple(shots)
