"""A trained picture classifier: name classes with their probabilities, score them, and show where it looked.

file → pixels → model → probabilities, best first; under observe → attention over the picture's cells
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from jumok.config import PictureFiles
from jumok.data.decode import BrokenPictureError, Pixels, open_picture, to_pixels
from jumok.data.picture_store import PictureStore
from jumok.data.pictures import SUFFIXES
from jumok.errors import DataError
from jumok.lens.heat import heat_of
from jumok.lens.html import Page
from jumok.lens.picture_page import make_picture_page
from jumok.lens.picture_view import PictureView, laid_out, placed
from jumok.nn.observe import observe
from jumok.nn.record import AttentionRecord
from jumok.predictors.base import Classifier, Verdict, ranked_verdict
from jumok.tasks.picture_classification import ROWS, PictureClassification

NO_ATTENTION_BUT_CONVOLUTIONS = (
    "This model has no attention to show: its convolutions see the same neighbourhood everywhere."
)
NO_ATTENTION_BUT_MIXING = "This model has no attention to show: it mixes places in the same way for all pictures."


@dataclass(frozen=True)
class PictureExplanation:
    """A verdict, and where the model looked."""

    verdict: Verdict
    pixels: Pixels  # (S, S, C): the picture as the model saw it
    record: AttentionRecord  # maps (H, Q, K) of the one picture, with their grids
    heat: Tensor | None  # (rows, columns): how much of the verdict comes from each cell; None: no attention
    source: str = ""  # the picture's file
    note: str = ""  # said where there is no attention

    def view(self, name: str = "") -> PictureView:
        """Return what a page shows of this."""
        classes = list(self.verdict.probabilities.items())
        return PictureView(name, self.record, self.pixels, self.source, classes, self.note)

    def page(self) -> Page:
        """Return the page that shows this."""
        return make_picture_page([self.view()])

    def _repr_html_(self) -> str:
        """Show the page in a notebook."""
        return self.page()._repr_html_()


class PictureClassifier(Classifier):
    """Name the classes of pictures with a run's weights."""

    source_is = "a picture classifier's --source is a folder of class folders"
    task: PictureClassification

    def find(self, places: Sequence[str | Path]) -> list[Path]:
        """Return picture files, those inside folders included, in order."""
        found: list[Path] = []
        for place in map(Path, places):
            if place.is_dir():
                inside = sorted(file for file in place.rglob("*") if file.suffix.lower() in SUFFIXES)
                if not inside:
                    raise DataError(f"{place} holds no pictures; files ending in {', '.join(SUFFIXES)} are looked for.")
                found += inside
            elif place.exists():
                found.append(place)
            else:
                raise DataError(f"there is no picture {place}; this run classifies pictures: give files or folders.")
        return found

    def read(self, picture: str | Path | Image.Image) -> Pixels:
        """Return the pixels (S, S, C) of a file or a Pillow picture, as the model takes them."""
        data = self.task.data
        try:
            opened = picture if isinstance(picture, Image.Image) else open_picture(Path(picture), least=data.size)
            return to_pixels(opened, size=data.size, channels=data.channels, fit=data.fit)
        except BrokenPictureError as error:
            raise DataError(f"{picture}: {error}.") from None

    @torch.inference_mode()
    def classify(
        self,
        pictures: Sequence[str | Path | Image.Image],
        *,
        progress: Callable[[int], None] = lambda done: None,
        warn: Callable[[str], None] = lambda message: None,
    ) -> Iterator[Verdict | None]:
        """Yield the verdict on each picture; None, with a warning, where it cannot be read."""
        for first in range(0, len(pictures), ROWS):
            some: list[Pixels | None] = []
            for picture in pictures[first : first + ROWS]:
                try:
                    some.append(self.read(picture))
                except DataError as error:
                    warn(str(error))
                    some.append(None)
            good = [pixels for pixels in some if pixels is not None]
            found = iter(self.task.read(self.model, np.stack(good)).softmax(dim=1).tolist() if good else [])
            for pixels in some:
                yield None if pixels is None else ranked_verdict(self.task.labels, next(found))
            progress(len(some))

    @torch.inference_mode()
    def explain(self, picture: str | Path | Image.Image, *, details: bool = False) -> PictureExplanation:
        """Return the verdict on a picture and the attention behind it.

        With details, maps keep queries, keys and values, and the record the table of positions. A Swin keeps none.
        """
        pixels = self.read(picture)
        batch = self.task.batch(pixels[None]).to(next(self.model.parameters()).device)
        with observe(self.model, details=details) as record:
            probabilities = self.model(batch).float().softmax(dim=1)[0].tolist()
        record.maps = [
            laid_out(found, found.grid or self.model.grid(batch.pictures))  # type: ignore[operator]
            for found in record.maps
        ]
        record.positions = placed(record)
        verdict = ranked_verdict(self.task.labels, probabilities)
        source = "" if isinstance(picture, Image.Image) else Path(picture).name
        mixes = hasattr(self.model, "mixing_weights")
        note = "" if record.maps else NO_ATTENTION_BUT_MIXING if mixes else NO_ATTENTION_BUT_CONVOLUTIONS
        return PictureExplanation(verdict, pixels, record, heat_of(record), source, note)

    def own(self, source: Path, target: Path | None = None) -> PictureStore:
        """Return the pictures of a folder of class folders, or of a file of many, of one's own."""
        return self.task.corpora.source_store(PictureFiles(file=str(source.absolute())))

    def beside(self, store: PictureStore) -> dict[str, Any]:
        """Return how many pictures could not be read, and the accuracy of always saying the commonest class."""
        common = np.bincount(store.classes).max() / len(store)
        return {"broken": store.broken, "baselines": {"majority": 100.0 * float(common)}}
