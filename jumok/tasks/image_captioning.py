"""Image captioning: from an image to a sentence.

training   image, or what a frozen encoder saw in it, and one of its captions → CaptionBatch → WritingTask.loss
answering  image → pixels → (frozen encoder → feature map) → WritingTask.answer → caption
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from jumok.config import CaptionData, DecodingConfig, Split
from jumok.config.recipe import Recipe
from jumok.data.builtin.relations import Described, parse
from jumok.data.corpora import ProgressCallback
from jumok.data.images.caption_corpora import CaptionCorpora
from jumok.data.images.caption_store import CaptionStore
from jumok.data.images.decode import Pixels
from jumok.data.text.batching import padding_share
from jumok.data.text.tokenizer import UNKNOWN, Tokenizer
from jumok.errors import ConfigError
from jumok.evaluation.captions import score_captions
from jumok.inspection.film import Shot
from jumok.nn.batch import CaptionBatch
from jumok.nn.component import Component
from jumok.nn.model import CaptionDecoder
from jumok.tasks.base import Direction, Scores
from jumok.tasks.caption_batches import CaptionBatches
from jumok.tasks.caption_film import CaptionCamera, caption_probes
from jumok.tasks.caption_problems import caption_problems
from jumok.tasks.feature_maps import feature_maps, see
from jumok.tasks.image_batches import normalise
from jumok.tasks.losses import Loss
from jumok.tasks.pairs import shifted
from jumok.tasks.prepared import PendingBatch
from jumok.tasks.survey import Lengths, Survey, unknown_share, vocabulary_problems
from jumok.tasks.writing import MARKS, WritingTask, perplexity, token_loss

# B batch · T target · S cells of a map, or the side of an image · C channels

BATCH_SIZE = 64  # captions, where the recipe does not say
ROWS = 256  # captions scored side by side
THUMBNAIL = 8  # pixels per side of images that are compared by their looks

Captions = CaptionDecoder[Any]
Seen = NDArray[Any]  # pixels (S, S, C) of 0 to 255, or the map (h, w, E) of a frozen encoder


class ImageCaptioning(WritingTask[Captions, CaptionBatch, CaptionStore, Seen]):
    """The task of describing an image in a sentence."""

    Data = CaptionData
    Corpora = CaptionCorpora
    tokenizer_names = ("text",)
    filmed = True
    marks = replace(MARKS, unknown=UNKNOWN)  # a caption that says [UNK] says nothing
    scores: Mapping[str, Direction] = {
        "loss": "smaller",
        "perplexity": "smaller",
        "cider_d": "larger",
        "bleu4": "larger",
        "rouge_l": "larger",
    }
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
        if recipe.tokenizer.dropout:
            raise ConfigError(
                "tokenizer.dropout is of a text that is read, and captions are written; set target_dropout"
            )
        given = tokenizers["text"] if tokenizers is not None else None
        return cls(recipe, CaptionCorpora(recipe.data, recipe.tokenizer, folders, progress, given))

    @property
    def data(self) -> CaptionData:
        """The recipe's [data]."""
        return self.corpora.data

    @property
    def target_tokenizer(self) -> Tokenizer:
        """What cuts captions into tokens."""
        return self.corpora.tokenizer

    @property
    def tokenizers(self) -> dict[str, Tokenizer]:
        """The tokenizer by its name, as a run keeps it."""
        return {"text": self.target_tokenizer}

    @property
    def size(self) -> str:
        """How much there is to learn from."""
        train, side = self.corpora.train, self.corpora.image_shape[0]
        return f"{len(train):,} images of {side} × {side} pixels with {len(train.captions):,} captions"

    def notes(self) -> list[str]:
        """Return what a user should know of the data before a run, one line each."""
        return list(self.corpora.notes)

    # --- the encoder

    @property
    def encoder(self) -> Component | None:
        """The pretrained encoder that the recipe's model is made of."""
        return self.components.get("encoder")

    @property
    def frozen(self) -> Component | None:
        """The encoder, where it stays as it is: then its maps are what the model is fed."""
        config = self.recipe.model.components.get("encoder")
        return self.encoder if config is not None and config.frozen else None

    def take_components(self, components: Mapping[str, Component]) -> None:
        """Take the encoder; images are as large as it sees them, where the recipe does not say."""
        super().take_components(components)
        if self.encoder is not None:
            self.corpora.images.wanted_size = self.encoder.size
            self.corpora.images.wanted_channels = self.encoder.channels

    def complete(self, recipe: Recipe) -> Recipe:
        """Return the recipe with vocabulary, image size and normalisation, and what is to be known of its encoder."""
        encoder = self.encoder
        size, channels = self.corpora.image_shape
        train = self.corpora.train
        mean, deviation = self.data.mean or train.images.mean, self.data.deviation or train.images.deviation
        known: dict[str, Any] = {"vocabulary": len(self.target_tokenizer), "image_size": size, "channels": channels}
        if encoder is not None:
            mean, deviation = list(encoder.mean), list(encoder.deviation)
            frozen = recipe.model.components["encoder"].frozen
            known["map_width"] = encoder.model.map_width if frozen else 0
        for name, values in (("mean", mean), ("deviation", deviation)):
            if len(values) != channels:
                raise ConfigError(f"data.{name} has {len(values)} numbers for {channels} channels")
        full = recipe.with_sizes(**known)
        shape = {"size": size, "channels": channels, "mean": mean, "deviation": deviation}
        self.corpora.data = self.data.model_copy(update=shape)
        self.recipe = replace(full, data=self.corpora.data)
        return self.recipe

    def open_split(self, split: Split) -> dict[str, CaptionStore]:
        """Return the stores of a split by label, looked at by a frozen encoder: now, and not in the middle of a run."""
        stores = super().open_split(split)
        for store in stores.values():
            self.maps_of(store)
        return stores

    def maps_of(self, store: CaptionStore) -> NDArray[np.float16] | None:
        """Return what the frozen encoder sees in a store's images (N, h, w, E): computed once, kept in the cache."""
        if self.frozen is None:
            return None
        return feature_maps(
            self.frozen,
            store.images,
            progress=lambda done: self.corpora.progress("looking at images", done),
        ).maps

    def seen(self, store: CaptionStore, numbers: Sequence[int] | None = None) -> list[Seen]:
        """Return what the model is fed of some images of a store, or of all: pixels, or a frozen encoder's maps."""
        maps = self.maps_of(store)
        source = store.images.pixels if maps is None else maps
        return [source[number] for number in (range(len(store)) if numbers is None else numbers)]

    def look_at(self, pixels: Pixels) -> list[Seen]:
        """Return what the model is fed of new images, pixels (B, S, S, C)."""
        if self.frozen is None:
            return list(pixels)
        return list(see(self.frozen, pixels).cpu().numpy())

    def inputs(self, seen: Sequence[Seen]) -> dict[str, torch.Tensor]:
        """Return the fields of a batch that hold images or their maps."""
        stacked = np.stack(seen)
        if self.frozen is None:
            return {"images": torch.from_numpy(normalise(stacked, self.data.mean, self.data.deviation))}
        return {"feature_map": torch.from_numpy(stacked)}

    # --- training

    def batches(self) -> CaptionBatches:
        """Return the stream of training batches."""
        training, corpora = self.recipe.training, self.corpora
        return CaptionBatches(
            corpora.train,
            self.target_tokenizer,
            self.data,
            maps=self.maps_of(corpora.train),
            batch_size=training.batch_size or BATCH_SIZE,
            seed=training.seed,
            subword_dropout=self.recipe.tokenizer.target_dropout,
            progress=lambda done, total: corpora.progress(f"cutting {total:,} words into other subwords", done),
        )

    def loss(self, model: Captions, batch: CaptionBatch, step: int) -> Loss:
        """Return the summed loss over the captions' tokens, with the doubly stochastic term where it is wanted."""
        if not (model.training and model.doubly_stochastic) or self.recipe.training.self_critical != "none":
            return super().loss(model, batch, step)
        mask, smoothing = batch.target_mask, self.recipe.training.label_smoothing
        features, weights = model.features_and_weights(batch)
        assert weights is not None, "a model with this term has attention"
        loss = token_loss(model, features[mask], batch.targets[mask], smoothing=smoothing)
        looked = (weights * mask[..., None]).sum(dim=1)  # (B, S): how much each cell got of all words
        term = ((1.0 - looked) ** 2).sum()
        return replace(loss, total=loss.total + model.doubly_stochastic * term)

    def training_references(self) -> Iterable[list[list[int]]]:
        """Yield all captions of each training image, as token ids."""
        train = self.corpora.train
        return ([train.captions[n].tolist() for n in train.numbers(image)] for image in range(len(train)))

    def references(self, batch: CaptionBatch) -> list[list[list[int]]]:
        """Return all captions of each row's image, as token ids: what a caption is rewarded by."""
        assert batch.numbers is not None, "training batches know their images"
        train = self.corpora.train
        return [[train.captions[n].tolist() for n in train.numbers(image)] for image in batch.numbers.tolist()]

    # --- answering

    def input_length(self, item: Seen) -> int:
        """Return a length whose bound, twice that and 10 more, is the longest caption of the training data."""
        return max((self.data.max_length - 10) // 2, 1)

    def collate_inputs(self, model: Captions) -> Callable[[Sequence[Seen]], CaptionBatch]:
        """Return the function that makes an encoder's batch of images or maps."""
        nothing = torch.zeros((0, 1), dtype=torch.int64)

        def collate(items: Sequence[Seen]) -> CaptionBatch:
            empty = nothing.expand(-1, 1).new_zeros((len(items), 1))
            return CaptionBatch(empty, empty, empty.bool(), **self.inputs(items)).to(model.device)

        return collate

    def captioned(self, store: CaptionStore, captions: Sequence[int]) -> CaptionBatch:
        """Return the batch of some captions of a store, with their images."""
        images = store.image_of[list(captions)].tolist()
        texts = shifted([store.captions[number] for number in captions])
        return CaptionBatch(*texts, **self.inputs(self.seen(store, images)))

    # --- scores

    def mean_loss(self, model: Captions, *stores: CaptionStore) -> float:
        """Return the mean −log p of all tokens of the stores' captions."""
        total, count = self.total_loss(model, self._in_order(stores))
        return total / max(count, 1)

    def _in_order(self, stores: Sequence[CaptionStore]) -> Iterator[CaptionBatch]:
        """Yield all captions of stores once, those of like length together."""
        for store in stores:
            order = np.argsort(store.captions.lengths, kind="stable")
            for first in range(0, len(order), ROWS):
                yield self.captioned(store, order[first : first + ROWS].tolist())

    def vectors(self, store: CaptionStore, numbers: NDArray[Any]) -> NDArray[np.float32]:
        """Return a vector of some images, by which the nearest are found: the mean of its map, or its image made small."""
        maps = self.maps_of(store)
        if maps is not None:
            return np.stack([maps[number].mean(axis=(0, 1), dtype=np.float32) for number in numbers.tolist()])
        found = []
        for first in range(0, len(numbers), ROWS):  # a few at a time: as floats they take four times the room
            pixels = torch.from_numpy(store.images.pixels[numbers[first : first + ROWS]]).permute(0, 3, 1, 2).float()
            found.append(F.adaptive_avg_pool2d(pixels, THUMBNAIL).flatten(1))
        small = torch.cat(found)
        return (small - small.mean(dim=1, keepdim=True)).numpy()

    def drawn(self, store: CaptionStore) -> list[list[Described]] | None:
        """Return the objects of each image, where captions describe scenes as those of `shapes` do; None elsewhere."""
        found = []
        for number in range(len(store)):
            objects = parse(store.texts(number)[0])
            if objects is None:
                return None
            found.append(objects)
        return found

    def said(self, captions: Sequence[str]) -> list[list[Described] | None]:
        """Return the objects that captions describe; None for one that is no sentence of the grammar."""
        return [parse(caption) for caption in captions]

    def evaluate(self, model: Captions) -> Scores:
        """Return the val scores that are taken during training: loss over all, greedy captions of some, two samples."""
        stores = self.monitored()
        loss = self.mean_loss(model, *stores)
        everyone = [(store, number) for store in stores for number in range(len(store))]
        count = min(self.recipe.training.evaluate_sentences, len(everyone))
        chosen = [everyone[number * len(everyone) // count] for number in range(count)]  # evenly spread
        seen = [item for store, number in chosen for item in self.seen(store, [number])]
        written = [answer[0].text for answer in self.answer(model, seen, options=DecodingConfig(beam=1))]
        references = [store.texts(number) for store, number in chosen]
        found = score_captions(written, references)
        samples = [
            {"source": chosen[i][0].images.names[chosen[i][1]], "reference": references[i][0], "jumok": written[i]}
            for i in sorted({count // 3, 2 * count // 3})
        ]
        scores = {name: getattr(found, name) for name in ("cider_d", "bleu4", "rouge_l", "distinct")}
        return {"loss": loss, "perplexity": perplexity(loss), **scores, "samples": samples}

    def survey(self) -> Survey[PendingBatch[CaptionBatch]]:
        """Return the data at a glance, for `check`."""
        store, held_out, batches = self.corpora.train, self.open_split("val"), self.batches()
        lengths = store.captions.lengths + 1
        plan = batches.planned(0)
        largest = max(range(len(plan)), key=lambda number: int(lengths[plan[number]].max()))
        survey = Survey(
            unit="captions",
            largest_batch=batches.batch_at((0, largest)),
            largest=(batches.batch_size, int(lengths[plan[largest]].max())),
            batches_per_epoch=batches.batches_per_epoch,
            tokens_per_epoch=int(lengths.sum()),
            padding=padding_share(np.stack([lengths, lengths], axis=1), list(plan)),
            counts={
                name: {"images": len(found), "captions": len(found.captions)} | found.counts
                for name, found in {"train": store, **held_out}.items()
            },
            lengths={"captions": Lengths.of(lengths)},
            samples=[
                (self.target_tokenizer.labels(store.captions[number].tolist()),)
                for number in (0, len(lengths) // 2, len(lengths) - 1)
            ],
            vocabularies={"captions": len(self.target_tokenizer)},
            unknown={"captions": unknown_share(*(found.captions.ids for found in held_out.values()))},
        )
        survey.problems += vocabulary_problems(
            survey, kind=self.recipe.tokenizer.kind, wanted=self.recipe.tokenizer.vocabulary
        )
        survey.problems += caption_problems(store, held_out)
        return survey

    def camera(self, model: Captions, *, count: int) -> Callable[[Captions], tuple[Shot, ...]] | None:
        """Return what shows where a model looks in so many val images; None where it does not look."""
        probes = caption_probes(self.open_split("val"), count=count, limit=model.limit)
        return CaptionCamera(self, probes) if probes and model.attends_to_source else None
