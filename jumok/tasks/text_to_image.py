"""Text to image: from a sentence to the codes of an image, and to the image.

training   caption, codes of its image → DrawingBatch → features of text and image → loss of both, weighted
answering  text → ids → decoding engine, guided → codes (G,) → image codes decode → pixels
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from jumok.config import CaptionData, DecodingConfig, DrawerModelConfig, Split
from jumok.config.recipe import Recipe
from jumok.data.corpora import ProgressCallback
from jumok.data.images.caption_corpora import CaptionCorpora
from jumok.data.images.caption_store import CaptionStore
from jumok.data.images.decode import Pixels
from jumok.data.text.tokenizer import Tokenizer
from jumok.decoding.guidance import Guided
from jumok.decoding.hypotheses import Hypotheses
from jumok.decoding.requests import Marks, Request
from jumok.decoding.sampling import Sampler
from jumok.decoding.search import Search
from jumok.errors import ConfigError
from jumok.inspection.film import Shot
from jumok.nn.batch import DrawingBatch
from jumok.nn.component import Component
from jumok.nn.model import DrawingDecoder
from jumok.tasks.base import Direction, Scores, Task
from jumok.tasks.caption_film import caption_probes
from jumok.tasks.drawing_batches import NOTHING, DrawingBatches, texts_of
from jumok.tasks.drawing_film import DrawingCamera
from jumok.tasks.image_tokens import coder_of, decode, image_tokens
from jumok.tasks.losses import Loss, vocabulary_loss
from jumok.tasks.survey import Lengths, Survey, unknown_share, vocabulary_problems

# B batch · S text with its start and end · G cells of the grid · D width

BATCH_SIZE = 64  # captions, where the recipe does not say
ROWS = 128  # captions scored side by side

Draws = DrawingDecoder[Any]
Ids = NDArray[Any]  # of a text, without start and end
RowsDone = Callable[[int], None]  # how many rows of codes were drawn since the last call, of all drawings together
Watch = Callable[[int, NDArray[np.int64]], None]  # the number of a text, and its drawings so far (n, rows, w)


@dataclass(frozen=True)
class Drawing:
    """An image as it was drawn."""

    codes: NDArray[np.int64]  # (h, w)
    log_probability: float  # of its codes, given rows left out; guided, where drawing was


class SeededSampler(Sampler):
    """Draw each sample by a seed of its own, wherever its text stands: that seed alone draws it again."""

    def __init__(self, options: DecodingConfig, *, end: int, seeds: Sequence[int] | None) -> None:
        """Take the seed of each text's first sample; None: each text goes on where the one before ended."""
        super().__init__(options, end=end)
        self.seeds = seeds

    def key(self, sentence: int, copy: int) -> list[int]:
        """Return the seed of a sample."""
        first = self.options.seed + sentence * self.width if self.seeds is None else self.seeds[sentence]
        return [first + copy]


class TextToImage(Task[Draws, DrawingBatch, CaptionStore]):
    """The task of drawing what a text says."""

    Data = CaptionData
    sections = ("tokenizer", "decoding")
    tokenizer_names = ("text",)
    unit = "codes"
    filmed = True
    scores: Mapping[str, Direction] = {"loss": "smaller", "bits": "smaller", "text_loss": "smaller"}
    corpora: CaptionCorpora

    @classmethod
    def open(
        cls,
        recipe: Recipe,
        folders: Sequence[Path],
        *,
        tokenizers: Mapping[str, Tokenizer] | None = None,
        progress: ProgressCallback = lambda what, done: None,
    ) -> Self:
        """Return the task of a recipe; its tokenizer is trained where none is given, its data read when needed."""
        assert isinstance(recipe.data, CaptionData)
        if "batch_tokens" in recipe.training.model_fields_set and not recipe.training.batch_size:
            raise ConfigError("training.batch_tokens is for text alone; set training.batch_size, in captions")
        given = tokenizers["text"] if tokenizers is not None else None
        return cls(recipe, CaptionCorpora(recipe.data, recipe.tokenizer, folders, progress, given))

    @property
    def data(self) -> CaptionData:
        """The recipe's [data]."""
        return self.corpora.data

    @property
    def model_config(self) -> DrawerModelConfig:
        """The recipe's [model]."""
        assert isinstance(self.recipe.model, DrawerModelConfig)
        return self.recipe.model

    @property
    def tokenizer(self) -> Tokenizer:
        """What cuts texts into tokens."""
        return self.corpora.tokenizer

    @property
    def tokenizers(self) -> dict[str, Tokenizer]:
        """The tokenizer by its name, as a run keeps it."""
        return {"text": self.tokenizer}

    @property
    def codes(self) -> Component:
        """The image codes that are drawn in."""
        return self.components["codes"]

    @property
    def size(self) -> str:
        """How much there is to learn from."""
        rows, columns = coder_of(self.codes).grid
        train = self.corpora.train
        return f"{len(train):,} images of {rows} × {columns} codes with {len(train.captions):,} captions"

    def take_components(self, components: Mapping[str, Component]) -> None:
        """Take the image codes; images are as large as they want them."""
        super().take_components(components)
        self.corpora.images.wanted_size, self.corpora.images.wanted_channels = self.codes.size, self.codes.channels

    def notes(self) -> list[str]:
        """Return what a user should know of the data before a run, one line each."""
        return list(self.corpora.notes)

    def complete(self, recipe: Recipe) -> Recipe:
        """Return the recipe with vocabularies, grid and the images' shape, which is that of the image codes."""
        codes = self.codes
        size, channels = self.corpora.image_shape
        coder = coder_of(codes)
        rows, columns = coder.grid
        full = recipe.with_sizes(
            vocabulary=len(self.tokenizer),
            code_count=coder.codes,
            rows=rows,
            columns=columns,
            longest_text=self.data.max_length,
        )
        shape = {"size": size, "channels": channels, "mean": list(codes.mean), "deviation": list(codes.deviation)}
        self.corpora.data = self.data.model_copy(update=shape)
        self.recipe = replace(full, data=self.corpora.data)
        return self.recipe

    def open_split(self, split: Split) -> dict[str, CaptionStore]:
        """Return the stores of a split by label, their images said in codes: now, and not in the middle of a run."""
        stores = super().open_split(split)
        for store in stores.values():
            self.tokens_of(store)
        return stores

    def tokens_of(self, store: CaptionStore) -> NDArray[np.uint16]:
        """Return the codes (N, G) of a store's images: computed once, kept in the cache."""
        return image_tokens(
            self.codes, store.images, progress=lambda done: self.corpora.progress("saying images in codes", done)
        )

    # --- training

    def batches(self) -> DrawingBatches:
        """Return the stream of training batches."""
        training, train = self.recipe.training, self.corpora.train
        return DrawingBatches(
            train,
            self.tokens_of(train),
            batch_size=training.batch_size or BATCH_SIZE,
            seed=training.seed,
            text_dropout=self.model_config.text_dropout,
        )

    def loss(self, model: Draws, batch: DrawingBatch, step: int) -> Loss:
        """Return the loss summed over a batch's codes; each image's text has its share, spread over its tokens."""
        smoothing = self.recipe.training.label_smoothing if model.training else 0.0
        share, cells = self.model_config.text_share, batch.codes.shape[1]
        of_text, of_image = model.text_and_image(batch)
        total, image = vocabulary_loss(
            of_image.flatten(0, 1), model.project, batch.codes.flatten(), smoothing=smoothing
        )
        told = batch.text_mask[:, 1:].clone()  # (B, S − 1): tokens that are to be foretold
        if batch.without_text is not None:
            told &= ~batch.without_text[:, None]
        if not share or not bool(told.any()):
            return Loss((1 - share) * total, batch.codes.numel(), {"image": image, "text": torch.zeros_like(image)})
        weights = (cells / told.sum(dim=1).clamp(min=1))[:, None].expand_as(told)[told]
        targets = batch.text[:, 1:][told]
        text, plain = vocabulary_loss(of_text[told], model.project_text, targets, weights=weights)
        return Loss((1 - share) * total + share * text, batch.codes.numel(), {"image": image, "text": plain})

    # --- drawing

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """Return the token ids of texts, tidied as those of the training data."""
        return [np.asarray(row) for row in self.tokenizer.encode([self.corpora.tidied(text) for text in texts])]

    def draw(
        self,
        model: Draws,
        texts: Sequence[Ids],
        *,
        options: DecodingConfig,
        given: Sequence[Sequence[int]] | None = None,
        seeds: Sequence[int] | None = None,
        progress: RowsDone = lambda rows: None,
        watch: Watch | None = None,
    ) -> list[list[Drawing]]:
        """Return options.n_best drawings of each text; each begins with its given codes where there are any.

        seeds are those of each text's first drawing, and every further one has one more; None: options.seed, counted on
        over all drawings. watch is shown drawings whenever a row of them is done; rows that are given count as drawn.
        """
        search = self.search(model, options, seeds=seeds)
        begun = given if given is not None else [[]] * len(texts)
        numbers = search.add([Request(text, 0, codes) for text, codes in zip(texts, begun, strict=True)])
        (rows, columns), told, finished = model.grid, 0, 0
        while search.busy:
            finished += rows * options.n_best * len(search.step())
            growing = None if search.batch is None else search.batch.hypotheses
            done = finished + (0 if growing is None else int((growing.length // columns).sum()))
            if done != told:
                progress(done - told)
                told = done
                if watch is not None and growing is not None:
                    for number, codes in _rows_of(growing, columns):
                        watch(number, codes)
        return [
            [
                Drawing(
                    np.array(found.tokens, dtype=np.int64).reshape(rows, columns),
                    sum(found.token_log_probabilities[len(codes) :]),
                )
                for found in search.take(number)
            ]
            for number, codes in zip(numbers, begun, strict=True)
        ]

    def search(
        self, model: Draws, options: DecodingConfig, *, seeds: Sequence[int] | None = None
    ) -> Search[Ids, DrawingBatch, Any]:
        """Return a search that draws; guided where the options say so. seeds as in draw."""
        guided = options.guidance != 1.0
        side_by_side = max(options.batch_size // options.n_best, 1)  # texts
        changed = options.model_copy(update={"max_length": model.limit, "batch_size": side_by_side})
        marks = Marks(start=model.begin, end=-1, pad=-1, writes_start=True)  # a drawing ends when it is full
        decoder = Guided(model, options.guidance) if guided else model

        def collate(items: Sequence[Ids]) -> DrawingBatch:
            text, mask = texts_of([*items, NOTHING] if guided else items)
            return DrawingBatch(text, mask, text.new_zeros(len(text), 0)).to(model.device)

        search = Search(decoder, collate=collate, options=changed, marks=marks)
        if options.sample:
            search.strategy, search.ranked = SeededSampler(changed, end=marks.end, seeds=seeds), False
        return search

    def pixels(self, drawings: Sequence[Drawing]) -> Pixels:
        """Return the images (B, S, S, C) of drawings."""
        return decode(self.codes, np.stack([drawing.codes.ravel() for drawing in drawings]))

    # --- scores

    def metrics(self, model: Draws, *stores: CaptionStore) -> Scores:
        """Return the mean loss of a code in nats and bits, and of a text's token, of stores' captions and images."""
        image = text = 0.0
        codes = tokens = 0
        for batch in self._in_order(stores):
            found = self._plain(model, batch)
            image, text = image + float(found.parts["image"]), text + float(found.parts["text"])
            codes, tokens = codes + batch.codes.numel(), tokens + int(batch.text_mask[:, 1:].sum())
        loss = image / max(codes, 1)
        return {"loss": loss, "bits": loss / math.log(2), "text_loss": text / max(tokens, 1)}

    @torch.inference_mode()
    def _plain(self, model: Draws, batch: DrawingBatch) -> Loss:
        return self.loss(model, batch.to(model.device), 0)

    def too_long(self, store: CaptionStore) -> int:
        """Return how many captions of a store are longer than the model has places for; scores leave them out."""
        return int((store.captions.lengths > self.model_config.longest_text).sum())

    def _in_order(self, stores: Sequence[CaptionStore]) -> Iterator[DrawingBatch]:
        """Yield captions of stores once with their images' codes, those of like length together, none that is too long."""
        for store in stores:
            batches = DrawingBatches(store, self.tokens_of(store), batch_size=ROWS, seed=0, text_dropout=0.0)
            order = np.argsort(store.captions.lengths, kind="stable")[: len(store.captions) - self.too_long(store)]
            for first in range(0, len(order), ROWS):
                yield batches.drawing(order[first : first + ROWS])

    def evaluate(self, model: Draws) -> Scores:
        """Return the val scores that are taken during training."""
        return self.metrics(model, *self.monitored())

    def survey(self) -> Survey[DrawingBatch]:
        """Return the data at a glance, for `check`."""
        store, held_out, batches = self.corpora.train, self.open_split("val"), self.batches()
        lengths = store.captions.lengths + 2
        plan = batches.planned(0)
        largest = max(range(len(plan)), key=lambda number: int(lengths[plan[number]].max()))
        cells = batches.codes.shape[1]
        survey = Survey(
            unit="captions",
            largest_batch=batches.batch_at((0, largest)),
            largest=(batches.batch_size, int(lengths[plan[largest]].max()) + cells),
            batches_per_epoch=batches.batches_per_epoch,
            tokens_per_epoch=len(store.captions) * cells,
            counts={
                name: {"images": len(found), "captions": len(found.captions)} | found.counts
                for name, found in {"train": store, **held_out}.items()
            },
            lengths={"captions": Lengths.of(lengths)},
            samples=[
                (self.tokenizer.labels(store.captions[number].tolist()),)
                for number in (0, len(lengths) // 2, len(lengths) - 1)
            ],
            vocabularies={"captions": len(self.tokenizer)},
            unknown={"captions": unknown_share(*(found.captions.ids for found in held_out.values()))},
        )
        survey.problems += vocabulary_problems(
            survey, kind=self.recipe.tokenizer.kind, wanted=self.recipe.tokenizer.vocabulary
        )
        return survey

    def camera(self, model: Draws, *, count: int) -> Callable[[Draws], tuple[Shot, ...]] | None:
        """Return what shows what a model draws of so many val captions; None where there are no short ones."""
        probes = caption_probes(self.open_split("val"), count=count, limit=0)
        return DrawingCamera(self, probes) if probes else None


def _rows_of(growing: Hypotheses, columns: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield the number of each text that is being drawn, and the whole rows (n, rows, w) of its drawings."""
    for number in sorted(set(growing.sentence.tolist())):
        own = growing.sentence == number
        rows = int(growing.length[own].min()) // columns
        codes = growing.tokens[own, : rows * columns]
        yield number, codes.numpy().reshape(len(codes), rows, columns)
