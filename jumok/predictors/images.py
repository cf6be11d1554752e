"""Images as users give them: files, folders of them, Pillow images."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from PIL import Image

from jumok.data.images.decode import BrokenImageError, Pixels, open_image, to_pixels
from jumok.data.images.listing import SUFFIXES
from jumok.errors import DataError

MOST_OBLONG = 3.0  # times as wide as high, or as high as wide, that an image is shown
GivenImage = str | Path | Image.Image


class ImageShape(Protocol):
    """What a [data] says of its images."""

    @property
    def size(self) -> int:
        """Pixels per side."""

    @property
    def channels(self) -> int:
        """1 for grey, 3 for colour."""

    @property
    def fit(self) -> str:
        """How an image becomes square."""


def find_images(places: Sequence[str | Path]) -> list[Path]:
    """Return image files, those inside folders included, in order."""
    found: list[Path] = []
    for place in map(Path, places):
        if place.is_dir():
            inside = sorted(file for file in place.rglob("*") if file.suffix.lower() in SUFFIXES)
            if not inside:
                raise DataError(f"{place} holds no images; files ending in {', '.join(SUFFIXES)} are looked for.")
            found += inside
        elif place.exists():
            found.append(place)
        else:
            raise DataError(f"there is no image {place}; this run is for images: give files or folders.")
    return found


def read_image(image: GivenImage, shape: ImageShape) -> Pixels:
    """Return the pixels (S, S, C) of a file or a Pillow image, as a model takes them."""
    return read_both(image, shape)[0]


def read_both(image: GivenImage, shape: ImageShape) -> tuple[Pixels, Pixels]:
    """Return the pixels (S, S, C) that a model takes, and the same (h, w, C) as wide and high as people know the image.

    They differ where an image was squeezed to a square: then its cells are as oblong as the image itself.
    """
    try:
        opened = image if isinstance(image, Image.Image) else open_image(Path(image), least=shape.size)
        pixels = to_pixels(opened, size=shape.size, channels=shape.channels, fit=shape.fit)
    except BrokenImageError as error:
        raise DataError(f"{image}: {error}.") from None
    oblong = max(1 / MOST_OBLONG, min(MOST_OBLONG, opened.width / opened.height))
    if shape.fit != "squeeze" or oblong == 1:
        return pixels, pixels
    size = round(shape.size * max(oblong, 1)), round(shape.size * max(1 / oblong, 1))
    square = Image.fromarray(pixels[..., 0] if shape.channels == 1 else pixels)
    shown = np.asarray(square.resize(size, Image.Resampling.BICUBIC)).reshape(size[1], size[0], shape.channels)
    return pixels, shown
