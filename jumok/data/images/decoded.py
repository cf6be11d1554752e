"""Entries decoded into stores of the cache, whatever is said of the images: what classes and captions share.

entries → what tells their content → key of the cache → ImageStore
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image

from jumok.cache import cache_key, cached_folder
from jumok.config import Split
from jumok.data.builtin import relations, shapes
from jumok.data.corpora import ProgressCallback
from jumok.data.files import content_hash
from jumok.data.images.caption_files import Wording
from jumok.data.images.decode import BrokenImageError
from jumok.data.images.image_store import ImageStore, build_image_store
from jumok.data.images.listing import ImageEntry, load_entry
from jumok.errors import DataError

FORMAT = 2  # of decoded images in the cache
TRIED = 50  # images opened to find out their size and channels


class DecodedImages:
    """The decoded images of entries, each store made once; files are looked at once."""

    def __init__(self, fit: str, progress: ProgressCallback) -> None:
        self.fit, self.progress = fit, progress
        self._facts: dict[Path, object] = {}  # what tells the content of each file

    def store(self, entries: Sequence[ImageEntry], size: int, channels: int) -> ImageStore:
        """Return the decoded images of entries, all of them drawn by one built-in set or all of them in files."""
        built_in = entries[0].built_in if entries else ""

        def build(folder: Path) -> None:
            build_image_store(
                entries,
                folder,
                size=size,
                channels=channels,
                fit=self.fit,
                progress=lambda done: self.progress("decoding images", done),
                draw=draw_built_in if built_in else load_entry,
            )

        made_of = [built_in, self.fit, size, channels, [], self.content(entries)]
        return ImageStore(cached_folder(cache_key("images", *made_of, format=FORMAT), build))

    def content(self, entries: Sequence[ImageEntry]) -> object:
        """Return what changes when the images of entries do; what is said of them does not count."""
        for entry in entries:
            if entry.source not in self._facts:
                self._facts[entry.source] = str(entry.source) if entry.built_in else _facts_of(entry)
        return [[self._facts[entry.source], entry.name, entry.number] for entry in entries]


def open_some(entries: Sequence[ImageEntry]) -> Iterator[Image.Image]:
    """Yield those of the first images that can be opened; none at all is a DataError."""
    why, opened = "", False
    for entry in entries[:TRIED]:
        try:
            yield load_entry(entry)
            opened = True
        except BrokenImageError as error:
            why = f"{entry.name}: {error}"
    if not opened:
        raise DataError(f"none of the first {TRIED} images can be opened; {why}.")


def built_in_captions(entry: ImageEntry, wordings: Sequence[Wording]) -> list[str]:
    """Return sentences about an entry of a built-in set."""
    found = _scene(entry)
    said = {"caption": found.caption}
    if isinstance(found, relations.RelationScene):
        said["brief"] = found.brief
    return [said[wording] for wording in wordings]


def draw_built_in(entry: ImageEntry, *, least: int = 0) -> Image.Image:
    """Return the image of an entry of a built-in set: of shapes, or of its second grammar."""
    found = _scene(entry)
    if isinstance(found, relations.RelationScene):
        return relations.draw(found, max(least, 1))
    return shapes.draw(found, max(least, 1))


def _scene(entry: ImageEntry) -> shapes.Scene | relations.RelationScene:
    """Return the scene of an entry of a built-in set: its source is a grammar, a split and, where not all, a kind."""
    grammar, split, *kind = entry.source.parts
    known: Split = split  # type: ignore[assignment]
    if grammar == "relations":
        return relations.scene(known, entry.number, kind=kind[0] if kind else "all")
    return shapes.scene(known, entry.number)


def _facts_of(entry: ImageEntry) -> object:
    """Return what tells a file's content: a hash where many images are in it, size and time where it is one."""
    if entry.number >= 0:
        return content_hash([entry.source])
    try:
        status = entry.source.stat()
    except OSError:
        return None  # a missing image is a broken one
    return [status.st_size, status.st_mtime_ns]
