"""Trained image codes: say images in codes, make images of codes, score what the codes tell, show them.

file → pixels → codes (h, w) → pixels → RecodedImage
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from jumok.config import CaptionFiles, DecodingConfig
from jumok.data.images.decode import Pixels
from jumok.data.images.image_store import ImageStore
from jumok.errors import DataError
from jumok.evaluation.image_floors import floors
from jumok.evaluation.image_likeness import psnr, ssim
from jumok.nn.model import ImageCoder
from jumok.nn.threads import one_thread_for
from jumok.predictors.base import Advance, ModelPredictor, Notice, Warn, ignore_notice, ignore_progress
from jumok.predictors.images import GivenImage, find_images, read_image
from jumok.predictors.recoded_image import RecodedImage
from jumok.tasks.base import Scores
from jumok.tasks.image_codes import ROWS, ImageCoding

# B batch · S side · C channels · h, w rows and columns of codes


class CodePredictor(ModelPredictor[ImageCoding, ImageCoder, ImageStore]):
    """Say images in codes with a run's weights."""

    verb = "look"
    example = "image.png"
    source_is = "the --source of image codes is a folder of images, or an .npz of them"
    explains = "codes"

    def find(self, places: Sequence[str | Path]) -> list[Path]:
        """Return image files, those inside folders included, in order."""
        return find_images(places)

    def read(self, image: GivenImage) -> Pixels:
        """Return the pixels (S, S, C) of a file or a Pillow image, as the model takes them."""
        return read_image(image, self.task.data)

    @overload
    def recode(  # type: ignore[overload-overlap]  # a file's name is a sequence, too
        self, images: GivenImage, *, progress: Advance = ignore_progress, warn: Warn = ignore_notice
    ) -> RecodedImage: ...

    @overload
    def recode(
        self, images: Sequence[GivenImage], *, progress: Advance = ignore_progress, warn: Warn = ignore_notice
    ) -> list[RecodedImage | None]: ...

    def recode(
        self,
        images: GivenImage | Sequence[GivenImage],
        *,
        progress: Advance = ignore_progress,
        warn: Warn = ignore_notice,
    ) -> RecodedImage | list[RecodedImage | None]:
        """Return an image as its codes tell it, or a list of several.

        One that cannot be read is refused; among several it has None, with a warning.
        """
        if isinstance(images, str | Path | Image.Image):
            pixels = self.read(images)
            ((seen, codes),) = self._recode_pixels(pixels[None])
            return self._told(images, pixels, seen, codes)
        return list(self._recode(images, progress=progress, warn=warn))

    def _recode(self, images: Sequence[GivenImage], *, progress: Advance, warn: Warn) -> Iterator[RecodedImage | None]:
        """Yield each image as its codes tell it; None, with a warning, where it cannot be read."""
        for first in range(0, len(images), ROWS):
            some = images[first : first + ROWS]
            read: list[Pixels | None] = []
            for image in some:
                try:
                    read.append(self.read(image))
                except DataError as error:
                    warn(Notice(None, str(error)))
                    read.append(None)
            good = [pixels for pixels in read if pixels is not None]
            found = iter(self._recode_pixels(np.stack(good)) if good else [])
            for image, pixels in zip(some, read, strict=True):
                yield None if pixels is None else self._told(image, pixels, *next(found))
            progress(len(some))

    def _recode_pixels(self, pixels: Pixels) -> list[tuple[Pixels, NDArray[np.int64]]]:
        """Return what the codes of each image of pixels (B, S, S, C) tell, and the codes (h, w)."""
        with one_thread_for(len(pixels), self.model):
            seen, codes = self.task.recoded(self.model, pixels)
        return list(zip(seen, codes.numpy(), strict=True))

    def _told(self, image: GivenImage, pixels: Pixels, seen: Pixels, codes: NDArray[np.int64]) -> RecodedImage:
        source = "" if isinstance(image, Image.Image) else Path(image).name
        noise, likeness = (float(score(pixels[None], seen[None])[0]) for score in (psnr, ssim))
        return RecodedImage(
            pixels, seen, codes, noise, likeness, source=source, count=self.model.codes, levels=tuple(self.model.levels)
        )

    @torch.inference_mode()
    def encode(self, images: Sequence[GivenImage]) -> NDArray[np.int64]:
        """Return the codes (B, h, w) of images; one that cannot be read is refused."""
        found = [
            self.model.encode(self.task.images(self.read(image)[None]).to(self.model.device)).cpu().numpy()
            for image in images
        ]
        return np.concatenate(found) if found else np.zeros((0, *self.model.grid), np.int64)

    @torch.inference_mode()
    def decode(self, codes: NDArray[Any] | Sequence[Any]) -> list[Image.Image]:
        """Return the images that codes (B, h, w) tell; numbers that are no codes are refused."""
        given = np.asarray(codes)
        rows, columns = self.model.grid
        if given.ndim != 3 or given.shape[1:] != (rows, columns) or given.dtype.kind not in "iu":
            raise DataError(
                f"codes have the shape {given.shape} and the type {given.dtype}; integers of (images, {rows}, {columns}) "
                "are needed, as encode returns them."
            )
        if given.size and not 0 <= given.min() <= given.max() < self.model.codes:
            raise DataError(
                f"codes go from {given.min()} to {given.max()}; the codes of this run are 0 to {self.model.codes - 1}."
            )
        found: list[Image.Image] = []
        for first in range(0, len(given), ROWS):
            some = torch.from_numpy(given[first : first + ROWS].astype(np.int64)).to(self.model.device)
            pixels = self.task.pixels(self.model.decode(some))
            found += [Image.fromarray(one[..., 0] if one.shape[2] == 1 else one) for one in pixels]
        return found

    def own_data(self, source: Path, target: Path | None = None) -> ImageStore:
        """Return the images of a folder or a file of one's own."""
        return self.task.corpora.own_store(CaptionFiles(file=str(source.absolute())))

    def score(self, store: ImageStore, options: DecodingConfig, progress: Advance) -> Scores:
        """Return PSNR, SSIM and the use of codes, beside images that tell as little as possible."""
        return {
            **self.task.metrics(self.model, store, progress=progress),
            "images": len(store),
            "size": self.task.data.size,
            "codes": self.model.codes,
            "grid": list(self.model.grid),
            "broken": store.broken,
            "floors": floors(store.pixels, mean=self.task.data.mean, grid=self.model.grid),
        }
