"""Where images are that another file names: a folder, or an .npz of many.

name or number → ImagePlace.find → ImageEntry, or None where there is no such image
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from jumok.data.images.listing import SUFFIXES, ImageEntry
from jumok.data.images.packs import open_pack
from jumok.errors import DataError


class ImagePlace(ABC):
    """A place of images, each found by its name, or by its number where images have no names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: Sequence[str] = ()  # what a user should know of it
        self.nameless: int | None = None  # how many images there are, where they have no names

    @property
    @abstractmethod
    def all(self) -> Sequence[ImageEntry]:
        """Every image there, where all are meant."""

    @abstractmethod
    def find(self, name: str | int) -> ImageEntry | None:
        """Return the image of a name or a number, or None."""


def open_place(path: Path, *, whole: bool) -> ImagePlace:
    """Return a folder or an .npz as a place of images; whole: all that is in the folder is meant."""
    if path.is_dir():
        return ImageFolder(path, whole=whole)
    if path.suffix.lower() == ".npz":
        return ImagePack(path)
    raise DataError(f"images = '{path}' is no folder; a folder of images is needed, or an .npz of them.")


class ImageFolder(ImagePlace):
    """Images as files, by their paths from a folder on."""

    def __init__(self, path: Path, *, whole: bool) -> None:
        super().__init__(path)
        self.whole = whole
        self.found: dict[str | int, ImageEntry | None] = {}

    @property
    def all(self) -> Sequence[ImageEntry]:
        """Every image in the folder and below, where it was named for its images."""
        if not self.whole:
            return []
        files = (file for file in self.path.rglob("*") if file.suffix.lower() in SUFFIXES)
        return [ImageEntry(str(file.relative_to(self.path)), "", file) for file in sorted(files)]

    def find(self, name: str | int) -> ImageEntry | None:
        """Return the image of a path from the folder on, or None."""
        if name not in self.found:
            self.found[name] = self._find(str(name).strip())
        return self.found[name]

    def _find(self, name: str) -> ImageEntry | None:
        # Lists of Flickr8k's images often leave .jpg out; the folders in Karpathy's files are not everybody's.
        for spelt in dict.fromkeys((name, f"{name}.jpg", f"{name}.png", Path(name).name)):
            file = self.path / spelt
            try:
                if spelt and file.is_file():
                    return ImageEntry(str(Path(spelt)), "", file)
            except (OSError, ValueError):  # a name that no file can have
                continue
        return None


class ImagePack(ImagePlace):
    """Images in an .npz."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.pack = open_pack(path)
        self.notes = self.pack.notes
        self.nameless = None if self.pack.names else self.pack.count

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.pack.names or [])}

    @property
    def all(self) -> Sequence[ImageEntry]:
        """Every image of the file."""
        return [self._entry(number) for number in range(self.pack.count)]

    def _entry(self, number: int) -> ImageEntry:
        name = self.pack.names[number] if self.pack.names else f"{self.path.name} image {number + 1:,}"
        return ImageEntry(name, "", self.path, number)

    def find(self, name: str | int) -> ImageEntry | None:
        """Return the image of a name, or of a number where the file has no names; or None."""
        spelt = str(name).strip()
        if self.pack.names:
            number = self._numbers.get(spelt, self._numbers.get(Path(spelt).name))
        else:
            number = int(spelt) if spelt.isdecimal() and len(spelt) < 12 else None
        return self._entry(number) if number is not None and number < self.pack.count else None
