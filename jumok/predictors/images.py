"""Images as users give them: files, folders of them, Pillow images."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from PIL import Image

from jumok.data.images.decode import BrokenImageError, Pixels, open_image, to_pixels
from jumok.data.images.listing import SUFFIXES
from jumok.errors import DataError

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


def find_images(places: Sequence[str | Path], does: str) -> list[Path]:
    """Return image files, those inside folders included, in order; does says what the run does with images."""
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
            raise DataError(f"there is no image {place}; this run {does} images: give files or folders.")
    return found


def read_image(image: GivenImage, shape: ImageShape) -> Pixels:
    """Return the pixels (S, S, C) of a file or a Pillow image, as a model takes them."""
    try:
        opened = image if isinstance(image, Image.Image) else open_image(Path(image), least=shape.size)
        return to_pixels(opened, size=shape.size, channels=shape.channels, fit=shape.fit)
    except BrokenImageError as error:
        raise DataError(f"{image}: {error}.") from None
