"""Image classification: from an image to a class.

training   images → decoded store → varied, mixed → ImageBatch → model → cross-entropy
answering  file → pixels → normalised → model → probability of each class
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from jumok.config import ImageData
from jumok.config.recipe import Recipe
from jumok.data.images.decode import Pixels
from jumok.data.images.image_corpora import ImageCorpora
from jumok.data.images.image_store import LabelledImageStore
from jumok.errors import ConfigError
from jumok.nn.batch import ImageBatch
from jumok.nn.model import ImageReader
from jumok.tasks.base import Direction
from jumok.tasks.classification import Classification
from jumok.tasks.held_out import image_problems
from jumok.tasks.image_batches import ImageBatches, PendingImages, normalise
from jumok.tasks.survey import Survey

BATCH_SIZE = 128  # where the recipe does not say
ROWS = 256  # images read side by side in an evaluation


class ImageClassification(Classification[ImageReader, ImageBatch, LabelledImageStore]):
    """The task of naming an image's class."""

    Data = ImageData
    Corpora = ImageCorpora
    unit = "images"
    scores: Mapping[str, Direction] = {
        "loss": "smaller",
        "accuracy": "larger",
        "macro_f1": "larger",
        "top5": "larger",
    }
    corpora: ImageCorpora

    @property
    def data(self) -> ImageData:
        """The recipe's [data]."""
        return self.corpora.data

    @property
    def labels(self) -> list[str]:
        """The classes in order."""
        return self.corpora.labels

    @property
    def size(self) -> str:
        """How much there is to learn from."""
        side, channels = self.corpora.image_shape
        colour = "colour" if channels == 3 else "grey"
        return f"{len(self.corpora.train):,} images of {side} × {side} pixels, {colour}, {len(self.labels)} classes"

    def notes(self) -> list[str]:
        """Return what a user should know of the data before a run, one line each."""
        train = self.corpora.train
        return self.corpora.notes + train.images.notes

    def complete(self, recipe: Recipe) -> Recipe:
        """Return the recipe with the size, channels and classes of the data, and how its pixels are normalised."""
        size, channels = self.corpora.image_shape
        full = recipe.with_sizes(image_size=size, channels=channels, classes=len(self.labels))
        train = self.corpora.train  # decoded now: what does not fit has been told
        mean, deviation = self.data.mean or train.mean, self.data.deviation or train.deviation
        for name, values in (("mean", mean), ("deviation", deviation)):
            if len(values) != channels:
                raise ConfigError(f"data.{name} has {len(values)} numbers for {channels} channels")
        known = {"labels": self.labels, "size": size, "channels": channels, "mean": mean, "deviation": deviation}
        self.corpora.data = self.data.model_copy(update=known)
        self.recipe = replace(full, data=self.corpora.data)
        return self.recipe

    def batches(self) -> ImageBatches:
        """Return the stream of training batches."""
        training = self.recipe.training
        return ImageBatches(
            self.corpora.train,
            self.data,
            classes=len(self.labels),
            batch_size=training.batch_size or BATCH_SIZE,
            seed=training.seed,
        )

    def wanted(self, batch: ImageBatch) -> Tensor:
        """Return the classes of a batch, or how much of each is in an image where images were mixed."""
        return batch.labels if batch.shares is None else batch.shares

    @torch.inference_mode()
    def logits(
        self, model: ImageReader, store: LabelledImageStore, progress: Callable[[int], None] = lambda done: None
    ) -> tuple[Tensor, Tensor]:
        """Return logits (N, classes) and the true classes (N,) of a store, in its order."""
        found = []
        for first in range(0, len(store), ROWS):
            pixels = store.pixels[first : first + ROWS]
            found.append(self.read(model, pixels))
            progress(len(pixels))
        return torch.cat(found), torch.from_numpy(store.classes.astype(np.int64))

    def read(self, model: ImageReader, pixels: Pixels) -> Tensor:
        """Return logits (B, classes) of pixels (B, S, S, C)."""
        logits: Tensor = model(self.batch(pixels).to(model.device))
        return logits.float().cpu()

    def batch(self, pixels: Pixels) -> ImageBatch:
        """Return a batch of pixels (B, S, S, C) without classes."""
        images = torch.from_numpy(normalise(pixels, self.data.mean, self.data.deviation))
        return ImageBatch(images, torch.zeros(len(images), dtype=torch.int64))

    def survey(self) -> Survey[PendingImages]:
        """Return the data at a glance, for `check`."""
        store, held_out, batches = self.corpora.train, self.open_split("val"), self.batches()
        side = self.corpora.image_shape[0]
        survey = Survey(
            unit="images",
            largest_batch=batches.take(),
            largest=(batches.batch_size, side, side),
            batches_per_epoch=batches.batches_per_epoch,
            tokens_per_epoch=batches.batches_per_epoch * batches.batch_size,
            counts={
                name: {"kept": len(found), "broken": found.broken} | self.counts(found)
                for name, found in {"train": store, **held_out}.items()
            },
            lengths={},
            samples=[],
            vocabularies={},
            unknown={},
        )
        survey.problems += self.rare_classes(store)
        survey.problems += image_problems(store.images, {label: found.images for label, found in held_out.items()})
        return survey
