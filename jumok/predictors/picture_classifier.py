"""A trained picture classifier: name classes with their probabilities, score them, and show where it looked.

file → pixels → model → probabilities, best first; under observe → attention over the picture's cells
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
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
from jumok.nn.observe import observe
from jumok.nn.record import AttentionRecord, rollout
from jumok.predictors.base import Classifier, Verdict, ranked_verdict
from jumok.tasks.picture_classification import ROWS, PictureClassification


@dataclass(frozen=True)
class PictureExplanation:
    """A verdict, and where the model looked."""

    verdict: Verdict
    pixels: Pixels  # (S, S, C): the picture as the model saw it
    record: AttentionRecord  # maps (H, Q, K) of the one picture, with their grids
    heat: Tensor | None  # (rows, columns): how much of the verdict comes from each cell; None: no attention


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
    def explain(self, picture: str | Path | Image.Image) -> PictureExplanation:
        """Return the verdict on a picture and the attention behind it."""
        pixels = self.read(picture)
        batch = self.task.batch(pixels[None]).to(next(self.model.parameters()).device)
        with observe(self.model) as record:
            probabilities = self.model(batch).float().softmax(dim=1)[0].tolist()
        maps = []
        for found in record.maps:
            grid = found.grid or self.model.grid(batch.pictures)  # type: ignore[operator]
            special = found.weights.shape[-1] - grid[0] * grid[1]
            names = [f"{row + 1},{column + 1}" for row in range(grid[0]) for column in range(grid[1])]
            labels = ["[CLASS]"] * special + names
            maps.append(replace(found.cut(labels, labels), grid=grid))
        record.maps = maps
        verdict = ranked_verdict(self.task.labels, probabilities)
        return PictureExplanation(verdict, pixels, record, heat_of(record))

    def own(self, source: Path, target: Path | None = None) -> PictureStore:
        """Return the pictures of a folder of class folders, or of a file of many, of one's own."""
        return self.task.corpora.source_store(PictureFiles(file=str(source.absolute())))

    def beside(self, store: PictureStore) -> dict[str, Any]:
        """Return how many pictures could not be read, and the accuracy of always saying the commonest class."""
        common = np.bincount(store.classes).max() / len(store)
        return {"broken": store.broken, "baselines": {"majority": 100.0 * float(common)}}


def heat_of(record: AttentionRecord) -> Tensor | None:
    """Return how much each cell of the picture says to the verdict (rows, columns), by attention rollout; sums to 1.

    A model of windows halves its grid from stage to stage; the last stage's mean over cells is shown.
    """
    if not record.maps:
        return None
    grid = record.maps[0].grid
    if grid is not None and all(found.grid == grid for found in record.maps):
        whole = rollout(record.maps)  # (Q, K)
        special = whole.shape[1] - grid[0] * grid[1]
        read = whole[0] if special else whole.mean(dim=0)
        heat = read[special:].view(grid)
        return heat / heat.sum()
    stages = list(dict.fromkeys(found.grid for found in record.maps))
    rows, columns = stages[-1] or (1, 1)
    shares = torch.full((rows, columns), 1.0 / (rows * columns))  # the model takes the mean over the last stage's cells
    for stage in reversed(stages):
        assert stage is not None
        passed_on = rollout([found for found in record.maps if found.grid == stage])
        shares = (_spread(shares, stage).flatten().to(passed_on) @ passed_on).view(stage)
    return shares / shares.sum()


def _spread(coarse: Tensor, grid: tuple[int, int]) -> Tensor:
    """Return a coarse map on a finer grid: each cell's share divided among the cells that were merged into it."""
    if coarse.shape == grid:
        return coarse
    fine = coarse.repeat_interleave(2, dim=0).repeat_interleave(2, dim=1)[: grid[0], : grid[1]]
    return fine / fine.sum()
