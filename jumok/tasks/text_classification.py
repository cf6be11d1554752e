"""Text classification: from texts, alone or in pairs, to a class.

training   text → ids → row → LabelBatch → model → cross-entropy
answering  text → ids → row → model → probability of each class
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from jumok.config import LabelledData
from jumok.config.recipe import Recipe
from jumok.data.text.batching import largest_batch, padding_share, plan_batches
from jumok.data.text.labelled import LabelledCorpora, LabelStore
from jumok.data.text.sources import tidy
from jumok.errors import ConfigError
from jumok.inspection.film import Shot
from jumok.nn.batch import LabelBatch
from jumok.nn.model import Model
from jumok.tasks.base import Direction
from jumok.tasks.classification import Classification
from jumok.tasks.examples import Ids
from jumok.tasks.held_out import label_problems
from jumok.tasks.label_batches import LabelBatches, Sides, label_batch, label_lengths
from jumok.tasks.survey import Lengths, Survey, unknown_share, vocabulary_problems
from jumok.tasks.text import TextTask
from jumok.tasks.text_film import ClassCamera, longest_probe, short_examples

# B batch · S tokens

BATCH_TOKENS = 8192  # of an evaluation


class TextClassification(
    Classification[Model[LabelBatch], LabelBatch, LabelStore], TextTask[Model[LabelBatch], LabelBatch, LabelStore]
):
    """The task of naming a text's class."""

    Data = LabelledData
    unit = "texts"
    filmed = True
    Corpora = LabelledCorpora
    subword_dropout = True
    corpora: LabelledCorpora
    scores: Mapping[str, Direction] = {"loss": "smaller", "accuracy": "larger", "macro_f1": "larger"}

    @property
    def data(self) -> LabelledData:
        """The recipe's [data]."""
        return self.corpora.data

    @property
    def labels(self) -> list[str]:
        """The classes in order."""
        return self.corpora.labels

    @property
    def size(self) -> str:
        """How much there is to learn from."""
        return f"{len(self.corpora.train):,} texts, {len(self.labels)} classes"

    def notes(self) -> list[str]:
        """Return what a user should know of the data before a run, one line each."""
        skipped = self.corpora.train.skipped
        return [f"training examples without text, left out: {skipped:,}"] if skipped else []

    def complete(self, recipe: Recipe) -> Recipe:
        """Return the recipe with the vocabulary size, the number of classes and their names."""
        vocabulary = len(self.tokenizer) + recipe.model.EXTRA_TOKENS
        full = recipe.with_sizes(vocabulary=vocabulary, classes=len(self.labels))
        return replace(full, data=self.data.model_copy(update={"labels": self.labels}))

    def check_fits(self, model: Model[LabelBatch]) -> None:
        """Refuse what cannot work before training starts."""
        super().check_fits(model)
        limit = model.limit
        if limit and self.data.max_length > limit:
            raise ConfigError(
                f"data.max_length = {self.data.max_length} is more than the model's {limit} positions; "
                f"set data.max_length = {limit}, or model.max_positions = {self.data.max_length}"
            )

    def lengths(self, sides: Sides) -> Ids:
        """Return the (N, 2) lengths of rows, twice the same: both texts stand in one row."""
        return label_lengths(sides, longest=self.data.max_length)

    def batch(self, store: LabelStore, indices: Sequence[int] | Ids, sides: Sides | None = None) -> LabelBatch:
        """Return the batch of some examples, their texts as an epoch sees them or as they are stored."""
        return label_batch(sides or store.sides, store.classes, indices, longest=self.data.max_length)

    def batches(self) -> LabelBatches:
        """Return the stream of training batches."""
        training, progress = self.recipe.training, self.corpora.progress
        return LabelBatches(
            self.corpora.train,
            self.tokenizer,
            self.labels,
            batch_tokens=training.batch_tokens,
            seed=training.seed,
            max_length=self.data.max_length,
            subword_dropout=self.recipe.tokenizer.dropout,
            progress=lambda done, total: progress(f"cutting {total:,} words into other subwords", done),
        )

    @torch.inference_mode()
    def logits(
        self, model: Model[LabelBatch], store: LabelStore, progress: Callable[[int], None] = lambda done: None
    ) -> tuple[Tensor, Tensor]:
        """Return logits (N, classes) and the true classes (N,) of a store, in its order."""
        lengths, device = self.lengths(store.sides), model.device
        found = torch.zeros(len(store), len(self.labels))
        for indices in plan_batches(lengths, batch_tokens=max(BATCH_TOKENS, int(lengths.max())), seed=0, epoch=0):
            found[torch.from_numpy(indices)] = model(self.batch(store, indices).to(device)).float().cpu()
            progress(len(indices))
        return found, torch.from_numpy(store.classes.astype(np.int64))

    def read(self, texts: Sequence[tuple[str, str]]) -> list[tuple[Ids, Ids]]:
        """Return the ids of texts and their second texts."""
        sides = []
        for side in (0, 1):
            tidied = [tidy(text[side], self.data.lowercase) for text in texts]
            sides.append([np.asarray(ids, dtype=np.int64) for ids in self.tokenizer.encode(tidied)])
        return list(zip(*sides, strict=True))

    def survey(self) -> Survey[LabelBatch]:
        """Return the data at a glance, for `check`."""
        store, held_out, training = self.corpora.train, self.open_split("val"), self.recipe.training
        lengths = self.lengths(store.sides)
        plan = plan_batches(lengths, batch_tokens=training.batch_tokens, seed=training.seed, epoch=0)
        largest = largest_batch(lengths, plan)
        survey = Survey(
            unit="texts",
            largest_batch=self.batch(store, largest),
            largest=(len(largest), int(lengths[largest].max())),
            batches_per_epoch=len(plan),
            tokens_per_epoch=len(store),
            padding=padding_share(lengths, plan),
            counts={
                name: {"kept": len(found), "without text": found.skipped} | self.counts(found)
                for name, found in {"train": store, **held_out}.items()
            },
            lengths={"text": Lengths.of(lengths[:, 0])},
            samples=[
                (self.tokenizer.labels(list(store.first[i])), [self.labels[int(store.classes[i])]])
                for i in (0, len(store) // 2, len(store) - 1)
            ],
            vocabularies={"text": len(self.tokenizer)},
            unknown={"text": unknown_share(*(found.first.ids for found in held_out.values()))},
        )
        cut = int((store.first.lengths + store.second.lengths + 3 > self.data.max_length).sum())
        if cut > 0.05 * len(store):
            what = f"{cut:,} of {len(store):,} training texts are longer than data.max_length = {self.data.max_length} and are cut"
            survey.problems.append((what, f"set data.max_length = {survey.lengths['text'].nearly_all} or more"))
        survey.problems += self.rare_classes(store)
        survey.problems += label_problems(store, held_out)
        survey.problems += vocabulary_problems(
            survey, kind=self.recipe.tokenizer.kind, wanted=self.recipe.tokenizer.vocabulary
        )
        return survey

    def camera(self, model: Model[LabelBatch], *, count: int) -> Callable[[Model[LabelBatch]], tuple[Shot, ...]] | None:
        """Return what shows where a model attends in so many val texts; None where it does not attend."""
        for store in self.open_split("val").values():
            lengths = self.lengths(store.sides)[:, 0]
            chosen = short_examples(store.classes, lengths, count=count, longest=longest_probe(model))
            if chosen:
                texts = [" · ".join(filter(None, store.text(number))) for number in chosen]
                return ClassCamera(self.batch(store, chosen), texts, self.labels, self.tokenizer)
        return None
