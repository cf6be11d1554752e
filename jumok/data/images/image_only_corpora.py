"""From a recipe's [data] of images to stores of decoded images, whatever is said of them: what image codes learn from.

files or a built-in set → images → divided, limited → decoded → ImageStore
"""

from collections.abc import Sequence
from pathlib import Path

from jumok.config import CaptionData, CaptionFiles, Split
from jumok.data.corpora import Corpora, ProgressCallback, by_title
from jumok.data.images.caption_files import CaptionedImage
from jumok.data.images.captioned_images import CaptionedImages
from jumok.data.images.image_store import ImageStore


class ImageOnlyCorpora(Corpora[CaptionData, ImageStore]):
    """The images of a recipe: found, decoded, stored."""

    FILE_IN_RECIPE = '"…"'

    def __init__(
        self, data: CaptionData, folders: Sequence[Path], progress: ProgressCallback = lambda what, done: None
    ) -> None:
        """Take the images of a set or of files."""
        super().__init__(data, folders, progress)
        self.images = CaptionedImages(data, self.find, progress, captions=False)

    @property
    def notes(self) -> list[str]:
        """What a user should know of what has been opened."""
        return self.images.notes

    @property
    def image_shape(self) -> tuple[int, int]:
        """Size and channels of images."""
        return self.images.image_shape

    @property
    def withheld(self) -> set[str]:
        """Titles of the stores that show what training never sees."""
        return set(self.images.withheld("val"))

    def own_store(self, file: CaptionFiles) -> ImageStore:
        """Return the images of one file."""
        return self._store(self.images.listing(file).items)

    def evaluation(self, split: Split) -> dict[str, ImageStore]:
        """Return the images of each file of a split by its title; train is one."""
        return {"train": self.train} if split == "train" else super().evaluation(split)

    def _train_store(self) -> ImageStore:
        return self._store(self.images.train)

    def _built_in_stores(self, split: Split) -> dict[str, ImageStore]:
        parts = {split: self.images.built_in(split), **self.images.withheld(split)}
        return {title: self._store(items) for title, items in parts.items()}

    def _file_stores(self, split: Split) -> dict[str, ImageStore]:
        return by_title(self.data.files(split), self.own_store)

    def _held_out_stores(self) -> dict[str, ImageStore]:
        return {"held out": self._store(self.images.divided(held_out=True))}

    def _store(self, items: Sequence[CaptionedImage]) -> ImageStore:
        store = self.images.decoded(items)
        self.images.tell(*store.notes)
        return store

    def refuse_learnt_val(self, trained_on: str | None) -> None:
        """Refuse nothing: images are held out by name, and a copy of them, made at another time, is the same data."""

    @property
    def fingerprint(self) -> str:
        """What the training images are made of: a resumed run must find the same."""
        return self._key("data", [self.data.fit, *self.image_shape])

    @property
    def _settings(self) -> list[object]:
        decisive = {"set", "set_size", "captions", "limit", "hold_out"}
        return [self.data.model_dump(include=decisive), not self.data.val]

    def _content_of_train(self) -> object:
        return self.images.content(self.images.train)
