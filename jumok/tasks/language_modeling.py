"""Language modelling: what comes next, at every place of running text.

training   long line of ids → blocks → model.features → vocabulary loss at every place
answering  beginning of a text → ids → decoding engine → ids → text
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from jumok.config import TextData
from jumok.config.recipe import Recipe
from jumok.data.text.documents import TextCorpora, TextStore
from jumok.inspection.film import Shot
from jumok.nn.batch import TextBatch
from jumok.nn.model import Decoder
from jumok.tasks.base import Direction, Scores
from jumok.tasks.blocks import BlockBatches, blocks_in_order
from jumok.tasks.held_out import passage_problems
from jumok.tasks.losses import Loss
from jumok.tasks.survey import Lengths, Survey, unknown_share, vocabulary_problems
from jumok.tasks.text import TextTask
from jumok.tasks.text_film import LineCamera, lines_of, longest_probe
from jumok.tasks.writing import perplexity, token_loss

Writes = Decoder[TextBatch, Any]


class LanguageModeling(TextTask[Writes, TextBatch, TextStore]):
    """The task of saying what comes next."""

    Data = TextData
    unit = "tokens"
    filmed = True
    Corpora = TextCorpora
    corpora: TextCorpora
    sections = ("tokenizer", "decoding")
    scores: Mapping[str, Direction] = {
        "loss": "smaller",
        "perplexity": "smaller",
        "bits_per_byte": "smaller",
        "bits_per_character": "smaller",
    }

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
        return self.recipe.model.longest

    def notes(self) -> list[str]:
        """Return what a user should know of the data before a run, one line each."""
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

    def loss(self, model: Writes, batch: TextBatch, step: int) -> Loss:
        """Return the summed loss over the batch's tokens; smoothed in training only."""
        smoothing = self.recipe.training.label_smoothing if model.training else 0.0
        return token_loss(model, model.features(batch).flatten(0, 1), batch.targets.flatten(), smoothing=smoothing)

    def evaluate(self, model: Writes) -> Scores:
        """Return the val scores that are taken during training."""
        return self.metrics(model, *self.open_split("val").values())

    def metrics(self, model: Writes, *stores: TextStore) -> Scores:
        """Return the scores of text: each token once, given what stands before it in its block."""
        total, count = self.total_loss(model, self._in_order(stores))
        bits = total / math.log(2)
        return {
            "loss": total / count,
            "perplexity": perplexity(total / count),
            "bits_per_byte": bits / sum(store.bytes for store in stores),
            "bits_per_character": bits / sum(store.characters for store in stores),
        }

    def _in_order(self, stores: tuple[TextStore, ...]) -> Iterator[TextBatch]:
        for store in stores:
            yield from blocks_in_order(store, self.window, batch_tokens=8192, separate=self.data.separate)

    def survey(self) -> Survey[TextBatch]:
        """Return the data at a glance, for `check`."""
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
        if not self.data.set:
            survey.problems += passage_problems(store, held_out, self.tokenizer)
        survey.problems += vocabulary_problems(
            survey, kind=self.recipe.tokenizer.kind, wanted=self.recipe.tokenizer.vocabulary
        )
        return survey

    def camera(self, model: Writes, *, count: int) -> Callable[[Writes], tuple[Shot, ...]] | None:
        """Return what shows where a model attends in so many stretches of val."""
        longest = min(longest_probe(model), self.window)
        lines = lines_of(self.open_split("val").values(), count=count, longest=longest) if longest else []
        return LineCamera(lines, self.tokenizer) if lines else None
