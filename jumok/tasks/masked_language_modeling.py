"""Masked language modelling: find the hidden words of a text, looking both ways.

training   documents → chunks → masked → MaskedBatch → model.states at the masked tokens → vocabulary loss
answering  text with [MASK] → ids → model → likeliest tokens of each mask
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F

from jumok.config import MaskedTextData
from jumok.config.recipe import Recipe
from jumok.data.text.batching import largest_batch, padding_share
from jumok.data.text.documents import TextCorpora, TextStore
from jumok.errors import ConfigError
from jumok.inspection.film import Shot
from jumok.nn.batch import MaskedBatch
from jumok.nn.model import MaskedReader
from jumok.tasks.base import Direction, Scores
from jumok.tasks.held_out import passage_problems
from jumok.tasks.losses import Loss
from jumok.tasks.masking import MaskedBatches
from jumok.tasks.survey import Lengths, Survey, unknown_share, vocabulary_problems
from jumok.tasks.text import TextTask
from jumok.tasks.text_film import MaskedCamera, longest_probe
from jumok.tasks.writing import perplexity, token_loss

BATCH_TOKENS = 8192  # of an evaluation


class MaskedLanguageModeling(TextTask[MaskedReader, MaskedBatch, TextStore]):
    """The task of finding hidden words."""

    Data = MaskedTextData
    unit = "masked tokens"
    filmed = True
    Corpora = TextCorpora
    corpora: TextCorpora

    @property
    def data(self) -> MaskedTextData:
        """The recipe's [data]."""
        assert isinstance(self.corpora.data, MaskedTextData)
        return self.corpora.data

    @property
    def scores(self) -> Mapping[str, Direction]:
        """The val scores that are taken during training, and which values are better."""
        known: dict[str, Direction] = {"loss": "smaller", "perplexity": "smaller", "accuracy": "larger"}
        return known | {"next_sentence": "larger"} if self.data.next_sentence else known

    @property
    def size(self) -> str:
        """How much there is to learn from."""
        train = self.corpora.train
        return f"{train.documents:,} document{'s' * (train.documents != 1)}, {train.tokens:,} tokens"

    @property
    def mark(self) -> int:
        """The id of the mask token: it stands behind the tokenizer's own."""
        return len(self.tokenizer)

    @property
    def longest(self) -> int:
        """How many tokens a row may have."""
        return self.recipe.model.longest

    def complete(self, recipe: Recipe) -> Recipe:
        """Return the recipe with the vocabulary size of the tokenizer, the mask token included."""
        return recipe.with_sizes(vocabulary=len(self.tokenizer) + recipe.model.EXTRA_TOKENS)

    def check_fits(self, model: MaskedReader) -> None:
        """Refuse what cannot work before training starts."""
        super().check_fits(model)
        training = self.recipe.training
        if self.longest > training.batch_tokens:
            raise ConfigError(
                f"training.batch_tokens = {training.batch_tokens:,} has no room for one text of model.max_positions = "
                f"{self.longest:,} tokens; set it to {self.longest} or more"
            )

    def batches(self) -> MaskedBatches:
        """Return the stream of training batches."""
        training = self.recipe.training
        return self._batches(self.corpora.train, batch_tokens=training.batch_tokens, seed=training.seed)

    def _batches(self, store: TextStore, *, batch_tokens: int, seed: int) -> MaskedBatches:
        return MaskedBatches(
            store, self.tokenizer, self.data, longest=self.longest, batch_tokens=batch_tokens, seed=seed
        )

    def loss(self, model: MaskedReader, batch: MaskedBatch, step: int) -> Loss:
        """Return the summed loss over the batch's masked tokens; the mean loss of which text follows is added to their mean."""
        smoothing = self.recipe.training.label_smoothing if model.training else 0.0
        states = model.states(batch)
        features = model.token_features(states[batch.masked])
        found = token_loss(model, features, batch.answers, smoothing=smoothing)
        if batch.follows is not None:
            logits = model.next_sentence(model.pooled(states, batch.source_mask)).float()
            found = replace(found, total=found.total + F.cross_entropy(logits, batch.follows) * len(features))
        return found

    def evaluate(self, model: MaskedReader) -> Scores:
        """Return the val scores that are taken during training."""
        return self.metrics(model, *self.open_split("val").values())

    @torch.inference_mode()
    def metrics(self, model: MaskedReader, *stores: TextStore) -> Scores:
        """Return the scores of text whose masked tokens are always the same."""
        total, masked, right, rows, followed = 0.0, 0, 0, 0, 0
        device = model.device
        for store in stores:
            tokens = max(BATCH_TOKENS, self.longest)
            for batch in self._batches(store, batch_tokens=tokens, seed=0).in_order():
                asked = batch.to(device)
                states = model.states(asked)
                logits = model.project(model.token_features(states[asked.masked])).float()
                total += float(F.cross_entropy(logits, asked.answers, reduction="sum"))
                right += int((logits.argmax(dim=1) == asked.answers).sum())
                masked, rows = masked + len(asked.answers), rows + len(asked.source)
                if asked.follows is not None:
                    said = model.next_sentence(model.pooled(states, asked.source_mask)).argmax(dim=1)
                    followed += int((said == asked.follows).sum())
        scores = {
            "loss": total / masked,
            "perplexity": perplexity(total / masked),
            "accuracy": 100.0 * right / masked,
        }
        return scores | ({"next_sentence": 100.0 * followed / rows} if self.data.next_sentence else {})

    def survey(self) -> Survey[MaskedBatch]:
        """Return the data at a glance, for `check`."""
        store, held_out, batches = self.corpora.train, self.open_split("val"), self.batches()
        plan, lengths = batches.plan(0), batches.lengths(0)
        largest = largest_batch(lengths, plan)
        survey = Survey(
            unit="documents",
            largest_batch=batches.batch(largest, 0),
            largest=(len(largest), int(lengths[largest].max())),
            batches_per_epoch=len(plan),
            tokens_per_epoch=round(self.data.masked * int(batches.sizes.sum())),
            padding=padding_share(lengths, plan),
            counts={
                label: {"documents": found.documents, "tokens": found.tokens, "characters": found.characters}
                for label, found in {"train": store, **held_out}.items()
            },
            lengths={"text": Lengths.of(lengths[:, 0])},
            samples=[
                (self.tokenizer.labels(batches.chunk(number)[0][:40].tolist()),)
                for number in np.unique([0, len(batches.starts) // 2, len(batches.starts) - 1]).tolist()
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

    def camera(self, model: MaskedReader, *, count: int) -> Callable[[MaskedReader], tuple[Shot, ...]] | None:
        """Return what shows where a model attends in so many val texts, whose masks are always the same."""
        longest = longest_probe(model)
        for store in self.open_split("val").values():
            batches = self._batches(store, batch_tokens=max(BATCH_TOKENS, self.longest), seed=0)
            short = np.flatnonzero(batches.lengths(0)[:, 0] <= longest)[:count]
            if len(short):
                return MaskedCamera(batches.batch(short, 0), self.tokenizer)
        return None
