"""Counting: how many bits of a row are set."""

import numpy as np
import torch
import torch.nn.functional as F

from jumok.data.stream import Stream, cut
from jumok.tasks.base import Task
from jumok.tasks.losses import Loss
from jumok.tasks.survey import Survey
from toy_task.data import BitsCorpora, BitsData, BitsStore
from toy_task.model import BitsBatch, Counter


def batch_of(bits):
    """Return the batch of bits (B, n)."""
    rows = torch.from_numpy(np.asarray(bits))
    return BitsBatch(rows.float(), rows.sum(dim=1))


class BitsBatches(Stream[BitsBatch]):
    """Rows in a new order every epoch."""

    def __init__(self, store: BitsStore, *, size: int, seed: int) -> None:
        super().__init__()
        self.store, self.size, self.seed = store, size, seed

    def plan(self, epoch):
        return cut(np.random.default_rng([self.seed, epoch]).permutation(len(self.store)), self.size)

    def batch_at(self, place):
        return batch_of(self.store.bits[self.indices(place)])

    def describe(self, place):
        return f"{len(self.indices(place))} rows"


class Counting(Task[Counter, BitsBatch, BitsStore]):
    """The task of counting bits."""

    Data = BitsData
    Corpora = BitsCorpora
    unit = "rows"
    scores = {"loss": "smaller", "error": "smaller"}  # the mean distance to the right count: a measure of its own

    @property
    def size(self):
        return f"{len(self.corpora.train):,} rows"

    def complete(self, recipe):
        return recipe.with_sizes(bits=self.corpora.train.bits.shape[1])

    def batches(self):
        return BitsBatches(self.corpora.train, size=16, seed=self.recipe.training.seed)

    def loss(self, model, batch, step):
        return Loss(F.cross_entropy(model(batch), batch.counts, reduction="sum"), len(batch))

    @torch.inference_mode()
    def metrics(self, model, store):
        batch = batch_of(store.bits).to(model.device)
        logits = model(batch)
        error = (logits.argmax(dim=1) - batch.counts).abs().float().mean()
        return {"loss": float(F.cross_entropy(logits, batch.counts)), "error": float(error)}

    def evaluate(self, model):
        return self.metrics(model, self.open_split("val")["drawn"])

    def survey(self):
        stream, train = self.batches(), self.corpora.train
        return Survey("rows", stream.take(), (16, train.bits.shape[1]), stream.batches_per_epoch, len(train),
                      counts={"train": {"kept": len(train)}})  # fmt: skip
