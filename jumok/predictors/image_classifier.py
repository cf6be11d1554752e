"""A trained image classifier: name classes with their probabilities, score them, and show where it looked.

file → pixels → model → probabilities, best first; under observe → attention over the image's cells
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import overload

import numpy as np
import torch
from PIL import Image

from jumok.config import ImageFiles
from jumok.data.images.decode import Pixels
from jumok.data.images.image_store import LabelledImageStore
from jumok.errors import DataError
from jumok.inspection.observe import observe
from jumok.lens.heat import heat_of
from jumok.lens.image_view import laid_out, placed
from jumok.nn.model import ImageReader
from jumok.nn.threads import one_thread, one_thread_for
from jumok.predictors.base import Advance, Notice, Warn, ignore_notice, ignore_progress
from jumok.predictors.classifier import Classifier, Verdict, ranked_verdict
from jumok.predictors.image_explanation import ImageExplanation
from jumok.predictors.images import find_images, read_image
from jumok.tasks.base import Scores
from jumok.tasks.image_classification import ROWS, ImageClassification


class ImageClassifier(Classifier[ImageClassification, ImageReader, LabelledImageStore]):
    """Name the classes of images with a run's weights."""

    source_is = "an image classifier's --source is a folder of class folders"
    explains = "image"
    classified = "image"

    def find(self, places: Sequence[str | Path]) -> list[Path]:
        """Return image files, those inside folders included, in order."""
        return find_images(places)

    def read(self, image: str | Path | Image.Image) -> Pixels:
        """Return the pixels (S, S, C) of a file or a Pillow image, as the model takes them."""
        return read_image(image, self.task.data)

    @overload
    def classify(  # type: ignore[overload-overlap]  # a file's name is a sequence, too
        self, images: str | Path | Image.Image, *, progress: Advance = ignore_progress, warn: Warn = ignore_notice
    ) -> Verdict: ...

    @overload
    def classify(
        self,
        images: Sequence[str | Path | Image.Image],
        *,
        progress: Advance = ignore_progress,
        warn: Warn = ignore_notice,
    ) -> list[Verdict | None]: ...

    def classify(
        self,
        images: str | Path | Image.Image | Sequence[str | Path | Image.Image],
        *,
        progress: Advance = ignore_progress,
        warn: Warn = ignore_notice,
    ) -> Verdict | list[Verdict | None]:
        """Return the verdict on an image, or a list of those on several.

        One that cannot be read is refused; among several it has None, with a warning.
        """
        if not isinstance(images, str | Path | Image.Image):
            return list(self._classify(images, progress=progress, warn=warn))
        (verdict,) = self._classify([self.read(images)], progress=progress, warn=warn)
        assert verdict is not None, "it was read"
        return verdict

    @torch.inference_mode()
    def _classify(
        self, images: Sequence[str | Path | Image.Image | Pixels], *, progress: Advance, warn: Warn
    ) -> Iterator[Verdict | None]:
        """Yield the verdict on each image; None, with a warning, where it cannot be read."""
        for first in range(0, len(images), ROWS):
            some: list[Pixels | None] = []
            for image in images[first : first + ROWS]:
                try:
                    some.append(image if isinstance(image, np.ndarray) else self.read(image))
                except DataError as error:
                    warn(Notice(None, str(error)))
                    some.append(None)
            good = [pixels for pixels in some if pixels is not None]
            with one_thread_for(len(good), self.model), self.answering():
                found = iter(self.task.read(self.model, np.stack(good)).softmax(dim=1).tolist() if good else [])
            for pixels in some:
                yield None if pixels is None else ranked_verdict(self.task.labels, next(found))
            progress(len(some))

    def verdicts(
        self, given: Sequence[str], *, progress: Advance = ignore_progress, warn: Warn = ignore_notice
    ) -> Iterator[tuple[str, Verdict | None]]:
        """Yield each image of files and folders, and the verdict on it; None, with a warning, where it cannot be read."""
        files = list(map(str, self.find(given)))
        yield from zip(files, self._classify(files, progress=progress, warn=warn), strict=True)

    @torch.inference_mode()
    @one_thread()
    def explain(self, image: str | Path | Image.Image, *, details: bool = False) -> ImageExplanation:
        """Return the verdict on an image and the attention behind it.

        With details, maps keep queries, keys and values, and the record the table of positions. A Swin keeps none.
        """
        pixels = self.read(image)
        batch = self.task.batch(pixels[None]).to(self.model.device)
        with observe(self.model, details=details) as record:
            probabilities = self.model(batch).float().softmax(dim=1)[0].tolist()
        record.maps = [laid_out(found, found.grid or self.model.grid(batch.images)) for found in record.maps]
        record.positions = placed(record)
        verdict = ranked_verdict(self.task.labels, probabilities)
        source = "" if isinstance(image, Image.Image) else Path(image).name
        note = "" if record.maps else self.model.why_no_attention
        return ImageExplanation(
            verdict, pixels, record, heat_of(record), source, note, mixing=self.model.mixing_weights()
        )

    def own_data(self, source: Path, target: Path | None = None) -> LabelledImageStore:
        """Return the images of a folder of class folders, or of a file of many, of one's own."""
        return self.task.corpora.own_store(ImageFiles(file=str(source.absolute())))

    def baselines_beside(self, store: LabelledImageStore) -> Scores:
        """Return how many images could not be read, and the accuracy of always saying the commonest class."""
        common = np.bincount(store.classes).max() / len(store)
        return {"broken": store.broken, "baselines": {"majority": 100.0 * float(common)}}
