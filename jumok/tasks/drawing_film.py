"""What a drawer makes of the same few val captions: what is filmed at each evaluation.

val images, the first caption of each → one pass over text and codes under observe, one drawing of the caption → a Shot
of each: how much each cell of the val image looked at each word, and what the model drew itself
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from jumok.inspection.cells import END, START, cells_looking, word_places
from jumok.inspection.data_url import as_data_url
from jumok.inspection.film import Shot
from jumok.inspection.observe import observe
from jumok.inspection.record import AttentionMap
from jumok.nn.batch import DrawingBatch
from jumok.nn.model import DrawingDecoder
from jumok.nn.threads import one_thread_for
from jumok.tasks.caption_film import EXACT, SIDE, Probe
from jumok.tasks.drawing_batches import texts_of

if TYPE_CHECKING:
    from jumok.tasks.text_to_image import TextToImage

# H heads · W words · G cells of the grid


class DrawingCamera:
    """Show what a model draws of the probes' captions, and where their words are looked at from."""

    def __init__(self, task: TextToImage, probes: Sequence[Probe]) -> None:
        self.task = task
        firsts = [(store, store.numbers(number)[0]) for store, number in probes]
        self.names = [store.images.names[number] for store, number in probes]
        self.texts = [store.captions.text(first) for store, first in firsts]
        self.ids = [store.captions[first].astype(np.int64) for store, first in firsts]
        codes = np.stack([task.tokens_of(store)[number] for store, number in probes]).astype(np.int64)
        self.batch = DrawingBatch(*texts_of(self.ids), torch.from_numpy(codes))
        self.images = [self._kept(store.images.pixels[number]) for store, number in probes]
        # As `jumok draw` does, the same seed at every step.
        self.options = task.recipe.decoding.changed({"sample": True, "n_best": 1})

    @torch.inference_mode()
    def __call__(self, model: DrawingDecoder[Any]) -> tuple[Shot, ...]:
        """Return a shot of each probe."""
        task, tokenizer = self.task, self.task.tokenizer
        with one_thread_for(len(self.ids), model):
            with observe(model) as record:
                model.features(self.batch.to(model.device))
            seeds = [self.options.seed] * len(self.ids)
            drawings = [found[0] for found in task.draw(model, self.ids, options=self.options, seeds=seeds)]
        pixels = task.pixels(drawings)
        shots = []
        for row, ids in enumerate(self.ids):
            labels, words = tokenizer.labels(ids.tolist()), tokenizer.words(ids.tolist())
            looking = cells_looking(record, (START, *labels, END), model.grid, row)
            shot = Shot(
                self.names[row],
                self.texts[row],
                self.texts[row],  # what it answers is the drawing
                tuple(_by_word(found, model.grid) for found in looking.maps),
                tuple(range(model.limit)),
                tuple(words),
                sides=("words", "cells that look at them"),
                answer_is="drawing",
                image=self.images[row],
                drawing=self._kept(pixels[row]),
            )
            shots.append(shot)
        return tuple(shots)

    @staticmethod
    def _kept(pixels: np.ndarray[Any, Any]) -> str:
        return as_data_url(pixels, exact=EXACT, longest=SIDE)


def _by_word(found: AttentionMap, grid: tuple[int, int]) -> AttentionMap:
    """Return how much each cell looked at each word (H, W, G) of a map of what cells look at (H, G, K)."""
    places = word_places(found.keys[: len(found.keys) - len(found.queries)])
    weights = found.weights[:, :, places].transpose(1, 2).contiguous()
    return replace(
        found, weights=weights, queries=tuple(found.keys[place] for place in places), keys=found.queries, grid=grid
    )
