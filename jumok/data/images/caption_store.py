"""Images and the captions of each, tokenised once into memory-mapped files.

ImageStore (N images) and their entries' captions → captions (M), those of an image side by side → CaptionStore
"""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from jumok.data.images.image_store import ImageStore
from jumok.data.store import StoredSide, map_array, read_facts, refuse_damage


class CaptionStore:
    """The images of one split and their captions; an item is an image."""

    def __init__(self, images: ImageStore, folder: Path) -> None:
        """Open the captions in folder, which belong to images."""
        self.images, self.folder = images, folder
        with refuse_damage(folder, "the store of captions"):
            facts = read_facts(folder)
            self.captions = StoredSide(folder, "captions", facts["id_type"])  # M captions
            self.first: np.ndarray[Any, np.dtype[np.int64]] = map_array(folder / "first", "<i8")  # (N + 1,)
            self.counts: dict[str, int] = facts["counts"]  # kept, and why others were left out
            self.named: list[list[str]] = facts["named"]  # some that were left out, each with the reason
            if len(self.first) != len(images) + 1:
                raise ValueError(f"captions of {len(self.first) - 1:,} images for {len(images):,}")

    def __len__(self) -> int:
        return len(self.images)

    @cached_property
    def image_of(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The number of the image that each caption describes, (M,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.first))

    def numbers(self, image: int) -> range:
        """Return the numbers of an image's captions."""
        return range(int(self.first[image]), int(self.first[image + 1]))

    def texts(self, image: int) -> list[str]:
        """Return the captions of an image, as tidied."""
        return [self.captions.text(number) for number in self.numbers(image)]
