"""A trained captioner: describe images, score the captions, and show where each word looked.

file → pixels → (frozen encoder → feature map) → search → caption; explain adds one teacher-forced pass that is observed
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from PIL import Image

from jumok.cache import cache_key, cached_folder, damaged_entry
from jumok.config import CaptionFiles, DecodingConfig
from jumok.data.images.caption_store import CaptionStore
from jumok.data.images.decode import Pixels
from jumok.errors import ConfigError, DataError
from jumok.evaluation.caption_floors import floors
from jumok.evaluation.captions import score_captions
from jumok.evaluation.meteor import can_run_meteor, meteor
from jumok.evaluation.scenes import score_scenes
from jumok.nn.model import CaptionDecoder
from jumok.nn.threads import one_thread
from jumok.predictors.base import Advance, ModelPredictor, Notice, Warn, ignore_notice, ignore_progress
from jumok.predictors.caption_explaining import explain, log_probabilities_of
from jumok.predictors.caption_explanation import CaptionExplanation
from jumok.predictors.explaining import Look, weighed
from jumok.predictors.explanation import HeadWorth
from jumok.predictors.images import GivenImage, find_images, read_both, read_image
from jumok.predictors.searching import answer_all
from jumok.reading import read_object
from jumok.tasks.base import Scores
from jumok.tasks.image_captioning import ImageCaptioning
from jumok.tasks.writing import Answer, perplexity

LISTED = 5  # captions of a page, where the beam is as wide
ROWS = 512  # images that are read before they are described: a bound on memory
MOST_TRAIN = 10_000  # training images, evenly spread, whose captions the floors are made of


class CaptionWriter(ModelPredictor[ImageCaptioning, CaptionDecoder[Any], CaptionStore]):
    """Describe images with a run's weights."""

    verb = "caption"
    explains = "caption"

    def find(self, places: Sequence[str | Path]) -> list[Path]:
        """Return image files, those inside folders included, in order."""
        return find_images(places)

    def read(self, image: GivenImage) -> Pixels:
        """Return the pixels (S, S, C) of a file or a Pillow image, as the model takes them."""
        return read_image(image, self.task.data)

    @overload
    def caption(  # type: ignore[overload-overlap]  # a file's name is a sequence, too
        self,
        images: GivenImage,
        *,
        beam: int | None = None,
        options: DecodingConfig | None = None,
        progress: Advance = ignore_progress,
        warn: Warn = ignore_notice,
    ) -> str: ...

    @overload
    def caption(
        self,
        images: Sequence[GivenImage],
        *,
        beam: int | None = None,
        options: DecodingConfig | None = None,
        progress: Advance = ignore_progress,
        warn: Warn = ignore_notice,
    ) -> list[str | None]: ...

    def caption(
        self,
        images: GivenImage | Sequence[GivenImage],
        *,
        beam: int | None = None,
        options: DecodingConfig | None = None,
        progress: Advance = ignore_progress,
        warn: Warn = ignore_notice,
    ) -> str | list[str | None]:
        """Return the best caption of an image, or a list of those of several.

        One that cannot be read is refused; among several it has None, with a warning.
        """
        options = (options or self.options).changed({"beam": beam})
        if isinstance(images, str | Path | Image.Image):
            return self.answer_pixels(self.read(images)[None], options=options, progress=progress)[0][0].text
        found = self.answers(images, options=options, progress=progress, warn=warn)
        return [None if answers is None else answers[0].text for answers in found]

    def answers(
        self,
        images: Sequence[GivenImage],
        *,
        options: DecodingConfig | None = None,
        progress: Advance = ignore_progress,
        warn: Warn = ignore_notice,
    ) -> Iterator[list[Answer] | None]:
        """Yield the n best captions of each image; None, with a warning, where it cannot be read."""
        for first in range(0, len(images), ROWS):
            some: list[Pixels | None] = []
            for image in images[first : first + ROWS]:
                try:
                    some.append(self.read(image))
                except DataError as error:
                    warn(Notice(None, str(error)))
                    some.append(None)
            good = [pixels for pixels in some if pixels is not None]
            progress(len(some) - len(good))
            found = iter(
                self.answer_pixels(np.stack(good), options=options or self.options, progress=progress) if good else []
            )
            for pixels in some:
                yield None if pixels is None else next(found)

    def answer_pixels(
        self, pixels: Pixels, *, options: DecodingConfig, progress: Advance = ignore_progress
    ) -> list[list[Answer]]:
        """Return the n best captions of images (B, S, S, C)."""
        return self._search(lambda places: self.task.look_at(pixels[list(places)]), len(pixels), options, progress)

    @torch.inference_mode()
    def _search(
        self,
        seen: Callable[[Sequence[int]], Sequence[Any]],
        count: int,
        options: DecodingConfig,
        progress: Advance,
    ) -> list[list[Answer]]:
        """Return the n best captions of count images; seen tells what the model is fed of some of them."""

        def answer(places: Sequence[int], told: Callable[[int], None] | None) -> list[list[Answer]]:
            return self.task.answer(self.model, seen(places), options=options, progress=told)

        with self.answering():
            return answer_all(answer, [1] * count, model=self.model, options=options, progress=progress)

    def captions(
        self,
        given: Sequence[str],
        *,
        options: DecodingConfig | None = None,
        progress: Advance = ignore_progress,
        warn: Warn = ignore_notice,
    ) -> Iterator[tuple[str, list[Answer] | None]]:
        """Yield each image of files and folders, and its captions; None, with a warning, where it cannot be read."""
        files = list(map(str, self.find(given)))
        yield from zip(files, self.answers(files, options=options, progress=progress, warn=warn), strict=True)

    @one_thread()
    def explain(
        self,
        image: GivenImage,
        *,
        target: str | None = None,
        options: DecodingConfig | None = None,
        every: bool = False,
    ) -> CaptionExplanation:
        """Return the caption of an image, or the given target, with where each of its words looked.

        The caption is searched for at full speed; then one pass over its final ids is observed. every: further captions
        of the search (options.n_best) are looked at, too.
        """
        given = None if target is None else self.given(target)
        name = "" if isinstance(image, Image.Image) else Path(image).name
        return explain(
            self.model,
            self.task,
            *read_both(image, self.task.data),
            name=name,
            given=given,
            options=options or self.options,
            every=every,
        )

    @one_thread()
    def importance(
        self,
        image: GivenImage,
        *,
        target: str | None = None,
        options: DecodingConfig | None = None,
        every: bool = False,
    ) -> tuple[CaptionExplanation, list[HeadWorth]]:
        """Return an explanation, and what its caption loses without each head, the dearest first."""
        explanation = self.explain(image, target=target, options=options, every=every)
        log_probabilities = log_probabilities_of(self.model, self.task, self.read(image), explanation.answer)
        cells = frozenset(range(len(explanation.source)))
        found = weighed(explanation, self.model, log_probabilities, kept=cells)
        return found, list(found.worth)

    def look(self, text: str, asked: Look, *, warn: Warn = ignore_notice) -> CaptionExplanation:
        """Return what `jumok look` shows of an image, whose file the text names."""
        asked.refuse(self.run.folder, "describes images", target=True, decoding={"beam", "max_length"})
        files = self.find([text])
        if len(files) > 1:
            raise ConfigError(f"look shows one image, {text} holds {len(files):,}; name one, for example {files[0]}")
        options = self.options.changed(asked.decoding)
        if asked.details and not options.sample:  # a page lists other captions, too
            options = options.changed({"n_best": max(options.n_best, min(options.beam, LISTED))})
        if asked.importance:
            return self.importance(files[0], target=asked.target, options=options, every=asked.details)[0]
        return self.explain(files[0], target=asked.target, options=options, every=asked.details)

    def given(self, text: str) -> Answer:
        """Return a text as if it were our caption; its score is not known yet."""
        ids = self.task.target_tokenizer.encode([self.task.corpora.tidied(text)])[0]
        return Answer(text, 0.0, self.task.target_tokenizer.labels(ids), ids, 0.0, True)

    def own_data(self, source: Path, target: Path | None = None) -> CaptionStore:
        """Return the captions of a file of one's own; target is where its images are."""
        images = "" if target is None else str(target.absolute())
        return self.task.corpora.own_store(CaptionFiles(file=str(source.absolute()), images=images))

    def write(self, store: CaptionStore, options: DecodingConfig, progress: Advance = ignore_progress) -> list[str]:
        """Return the best caption of each image of a store."""
        seen = self.task.seen(store)
        found = self._search(lambda places: [seen[place] for place in places], len(store), options, progress)
        return [answers[0].text for answers in found]

    def score(self, store: CaptionStore, options: DecodingConfig, progress: Advance) -> Scores:
        """Return CIDEr-D and others of a store's images, and what they must be seen beside."""
        references = [store.texts(number) for number in range(len(store))]
        written = self.write(store, options, progress)
        loss = self.task.mean_loss(self.model, store)
        scores = {
            **score_captions(written, references).to_dict(),
            "with_punctuation": score_captions(written, references, punctuation=True).to_dict(),
            "broken": store.images.broken,
            "loss": loss,
            "perplexity": perplexity(loss),
            "floors": self._floors(store, references),
            "decoding": options.model_dump(),
        }
        if can_run_meteor():
            scores["meteor"] = meteor(written, references)
        drawn = self.task.drawn(store)
        return scores if drawn is None else scores | {"objects": score_scenes(self.task.said(written), drawn).to_dict()}

    def _floors(self, store: CaptionStore, references: list[list[str]]) -> Scores:
        """Return the scores of captions that need no captioner, kept in the cache; without training data, of humans alone."""
        task = self.task
        try:
            train = task.corpora.train
        except DataError:
            return floors(references, [])
        numbers = np.unique(np.linspace(0, len(train) - 1, MOST_TRAIN).astype(int)) if len(train) else np.arange(0)

        def build(folder: Path) -> None:
            found = floors(
                references,
                [train.texts(number) for number in numbers.tolist()],
                features=task.vectors(store, np.arange(len(store))),
                train_features=task.vectors(train, numbers),
                progress=lambda done: task.corpora.progress("comparing with training images", done),
            )
            (folder / "floors.json").write_text(json.dumps(found), encoding="utf-8")

        stores = [found.folder.name for side in (store, train) for found in (side, side.images)]
        key = cache_key("caption-floors", stores, task.frozen.hash if task.frozen else "", MOST_TRAIN)
        return read_object(cached_folder(key, build) / "floors.json", damaged_entry)
