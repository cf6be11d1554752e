"""Language modelling: what comes next, at every place of running text.

training   long line of ids → blocks → model.features → vocabulary loss at every place
answering  beginning of a text → ids → decoding engine → ids → text
"""

import math
from typing import Any

import torch
from torch import nn

from jumok.config import TextData
from jumok.config.recipe import Recipe
from jumok.data.text.documents import TextCorpora, TextStore
from jumok.nn.batch import TextBatch
from jumok.tasks.blocks import BlockBatches, blocks_in_order
from jumok.tasks.losses import Loss, vocabulary_loss
from jumok.tasks.survey import Lengths, Survey, unknown_share, vocabulary_problems
from jumok.tasks.text import TextTask


class LanguageModeling(TextTask):
    """The task of saying what comes next."""

    Data = TextData
    unit = "tokens"
    Corpora = TextCorpora
    corpora: TextCorpora
    scores = ("loss", "perplexity", "bits_per_byte", "bits_per_character")

    @property
    def data(self) -> TextData:
        """The recipe's [data]."""
        return self.corpora.data

    @property
    def size(self) -> str:
        """How much there is to learn from."""
        return f"{self.corpora.train.tokens:,} tokens"

    @property
    def window(self) -> int:
        """How many tokens the model is trained on at once."""
        return int(self.recipe.model.window)  # type: ignore[attr-defined]

    def notes(self) -> list[str]:
        """Return what a user should know of the data before a run, a line each."""
        if self.corpora.train.tokens >= self.window:
            return []
        return [f"the text has {self.corpora.train.tokens:,} tokens, less than model.window = {self.window:,}"]

    def complete(self, recipe: Recipe) -> Recipe:
        """Return the recipe with the vocabulary size of the tokenizer."""
        return recipe.with_sizes(vocabulary=len(self.tokenizer))

    def batches(self) -> BlockBatches:
        """Return the stream of training batches."""
        training = self.recipe.training
        return BlockBatches(
            self.corpora.train,
            self.tokenizer,
            window=self.window,
            batch_tokens=training.batch_tokens,
            seed=training.seed,
            separate=self.data.separate,
        )

    def loss(self, model: nn.Module, batch: TextBatch, step: int) -> Loss:
        """Return the summed loss over the batch's tokens; smoothed in training only."""
        smoothing = self.recipe.training.label_smoothing if model.training else 0.0
        features = model.features(batch).flatten(0, 1)  # type: ignore[operator]  # (N, D)
        total, plain = vocabulary_loss(features, model.project, batch.targets.flatten(), smoothing=smoothing)  # type: ignore[arg-type]
        return Loss(total, len(features), {"nll": float(plain)})

    def evaluate(self, model: nn.Module) -> dict[str, Any]:
        """Return the val scores that are taken during training."""
        return self.metrics(model, *self.open_split("val").values())

    @torch.inference_mode()
    def metrics(self, model: nn.Module, *stores: TextStore) -> dict[str, Any]:
        """Return the scores of text: each token once, given what stands before it in its block."""
        total, count = 0.0, 0
        device = next(model.parameters()).device
        for store in stores:
            for batch in blocks_in_order(store, self.window, batch_tokens=8192, separate=self.data.separate):
                loss = self.loss(model, batch.to(device), 0)
                total, count = total + float(loss.total), count + loss.count
        bits = total / math.log(2)
        return {
            "loss": total / count,
            "perplexity": math.exp(min(total / count, 50.0)),
            "bits_per_byte": bits / sum(store.bytes for store in stores),
            "bits_per_character": bits / sum(store.characters for store in stores),
        }

    def survey(self) -> Survey:
        """Return the data at a glance, for the doctor."""
        store, held_out, batches = self.corpora.train, self.open_split("val"), self.batches()
        ends = [*store.starts[1:].tolist(), len(store.ids)]
        chosen = sorted({0, store.documents // 2, store.documents - 1})
        survey = Survey(
            unit="documents",
            largest_batch=batches.take(),
            largest=(batches.rows, batches.length),
            batches_per_epoch=batches.batches_per_epoch,
            tokens_per_epoch=store.tokens,
            counts={
                label: {"documents": found.documents, "tokens": found.tokens, "characters": found.characters}
                for label, found in {"train": store, **held_out}.items()
            },
            lengths={"text": Lengths.of(torch.tensor(ends).numpy() - store.starts)},
            samples=[
                (self.tokenizer.labels(store.ids[store.starts[i] : store.starts[i] + 40].tolist()),) for i in chosen
            ],
            vocabularies={"text": len(self.tokenizer)},
            unknown={"text": unknown_share(*(found.ids for found in held_out.values()))},
        )
        survey.problems += vocabulary_problems(
            survey, kind=self.recipe.tokenizer.kind, wanted=self.recipe.tokenizer.vocabulary
        )
        return survey
