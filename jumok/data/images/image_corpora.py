"""From a recipe's [data] of images to stores, each made once and kept in the cache.

sources or a built-in set → entries → divided, limited → ImageStore a split; classes, size and channels found out
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from PIL import Image

from jumok.cache import cached_folder
from jumok.config import ImageData, ImageFiles
from jumok.data.builtin import shapes
from jumok.data.corpora import Progress, Split
from jumok.data.files import content_hash
from jumok.data.images.decode import BrokenImageError, channels_of
from jumok.data.images.image_store import ImageStore, build_image_store
from jumok.data.images.listing import Entry, list_images, load_entry
from jumok.errors import ConfigError, DataError, did_you_mean

FORMAT = 1
SETS = ("shapes",)
HELD_OUT_SHARE, MOST_HELD_OUT = 20, 5000
TRIED = 50  # images opened to find out their size and channels


def draw_shape(entry: Entry, *, least: int = 0) -> Image.Image:
    """Return the image of an entry of the built-in set."""
    split: shapes.Split = entry.source.name  # type: ignore[assignment]
    return shapes.draw(shapes.scene(split, entry.number), max(least, 1))


@dataclass
class ImageCorpora:
    """The images of a recipe: found, decoded, stored."""

    data: ImageData
    folders: Sequence[Path]
    progress: Progress = lambda what, done: None
    notes: list[str] = field(default_factory=list)  # what a user should know of the sources

    def __post_init__(self) -> None:
        if self.data.set and self.data.set not in SETS:
            raise ConfigError(f"data.set = '{self.data.set}' is no set of images; {did_you_mean(self.data.set, SETS)}")
        missing = not (self.data.set or self.data.train or self.data.labels)  # an imported model has its classes alone
        if missing or (self.data.set and self.data.train):
            raise ConfigError(
                '[data] needs either set = "shapes" (built in) or train = "…" (a folder, a table, an .npz, …)'
            )

    # --- what is there

    @cached_property
    def _train_files(self) -> list[Entry]:
        return self._entries(self.data.train)

    def _entries(self, sources: Sequence[ImageFiles]) -> list[Entry]:
        entries: list[Entry] = []
        for source in sources:
            listing = list_images(source, self.folders)
            entries += listing.entries
            self.notes += [note for note in listing.notes if note not in self.notes]
        return entries

    def _built_in(self, split: Split) -> list[Entry]:
        count = (self.data.set_size if split == "train" else 0) or shapes.DEFAULT_SIZES[split]
        return [
            Entry(f"shapes {split} {number}", shapes.scene(split, number).label, Path("shapes") / split, number)
            for number in range(count)
        ]

    @cached_property
    def _train_entries(self) -> list[Entry]:
        entries = self._built_in("train") if self.data.set else self._train_files
        if not self.data.set and not self.data.val:
            entries = self._divided(held_out=False)
        if not self.data.limit:
            return entries
        if len(entries) < self.data.limit:
            raise ConfigError(f"data.limit = {self.data.limit:,}, but there are only {len(entries):,} training images")
        chosen = sorted(entries, key=_lot)[: self.data.limit]
        return sorted(chosen, key=entries.index) if len(entries) < 5000 else chosen

    def _divided(self, *, held_out: bool) -> list[Entry]:
        """Return the held-out images or the rest: drawn by name, the same in every run."""
        entries = self._train_files
        wanted = self.data.hold_out or max(min(len(entries) // HELD_OUT_SHARE, MOST_HELD_OUT), 1)
        if wanted >= len(entries):
            raise ConfigError(f"data.hold_out = {wanted:,} leaves nothing of {len(entries):,} images to train on")
        largest = sorted(map(_lot, entries))[wanted - 1]
        return [entry for entry in entries if (_lot(entry) <= largest) == held_out]

    @cached_property
    def labels(self) -> list[str]:
        """The classes in order."""
        if self.data.labels:
            return self.data.labels
        if self.data.set:
            return list(shapes.FORMS)
        found = sorted({entry.label for entry in self._train_files}, key=_in_order)
        if len(found) < 2:
            raise DataError(
                f"the training data has only the class {found[0]!r}; two classes or more are needed. Are they in folders "
                "of their own?"
            )
        return found

    @cached_property
    def looks(self) -> tuple[int, int]:
        """Size and channels of images: the recipe's, or those of the first training image that can be opened."""
        if self.data.size and self.data.channels:
            return self.data.size, self.data.channels
        if self.data.set:
            return self.data.size or shapes.SIDE, self.data.channels or 3
        why = ""
        for entry in self._train_files[:TRIED]:
            try:
                image = load_entry(entry)
            except BrokenImageError as error:
                why = f"{entry.name}: {error}"
                continue
            return self.data.size or min(image.size), self.data.channels or channels_of(image)
        raise DataError(f"none of the first {TRIED} images can be opened; {why}.")

    # --- stores

    @property
    def fingerprint(self) -> str:
        """What the training images are made of: a resumed run must find the same."""
        return self._key("images-data", "train", self._train_entries)

    @cached_property
    def train(self) -> ImageStore:
        """All training images in one store."""
        return self._store("train", self._train_entries)

    def evaluation(self, split: Split) -> dict[str, ImageStore]:
        """Return each source of a split by its name."""
        if self.data.set and split != "train":
            return {split: self._store(split, self._built_in(split))}
        if split == "train" and (self.data.set or self.data.train):
            return {"train": self.train}
        sources: list[ImageFiles] = getattr(self.data, split)
        if not sources and split == "val" and self.data.train:
            return {"held out": self._store("held out", self._divided(held_out=True))}
        if not sources:
            raise DataError(f'the recipe has no {split} data; add {split} = "…" to [data], or give --source')
        return {source.shown: self.source_store(source) for source in sources}

    def source_store(self, source: ImageFiles) -> ImageStore:
        """Return the store of one source."""
        return self._store("source", self._entries([source]))

    def _store(self, what: str, entries: list[Entry]) -> ImageStore:
        for entry in entries:
            if entry.label not in self._known:
                raise DataError(
                    f"the class {entry.label!r} of {entry.name} is not among the training data's {len(self.labels)}: "
                    f"{did_you_mean(entry.label, self.labels)}; name all classes in data.labels, or mend it."
                )
        size, channels = self.looks

        def build(folder: Path) -> None:
            build_image_store(
                entries,
                self.labels,
                folder,
                size=size,
                channels=channels,
                fit=self.data.fit,
                progress=lambda done: self.progress("decoding images", done),
                draw=draw_shape if self.data.set else load_entry,
            )

        return ImageStore(cached_folder(self._key("images", what, entries), build))

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.labels)

    def _key(self, kind: str, what: str, entries: list[Entry]) -> str:
        """Return a name that changes with everything the contents depend on."""
        digest = hashlib.sha256()
        settings = [FORMAT, kind, what, self.data.set, self.data.fit, *self.looks, self.labels]
        digest.update(json.dumps(settings).encode())
        facts: dict[Path, Any] = {}
        for entry in entries:
            if entry.source not in facts:
                facts[entry.source] = _facts(entry, built_in=bool(self.data.set))
            digest.update(json.dumps([facts[entry.source], entry.name, entry.label, entry.number]).encode())
        return f"{kind}-{digest.hexdigest()[:32]}"


def _facts(entry: Entry, *, built_in: bool) -> Any:
    """Return what tells a file's content: a hash where many images are in it, size and time where it is one."""
    if built_in:
        return str(entry.source)
    if entry.number >= 0:
        return content_hash([entry.source])
    try:
        status = entry.source.stat()
    except OSError:
        return None  # a missing image is a broken one
    return [status.st_size, status.st_mtime_ns]


def _lot(entry: Entry) -> int:
    """Return a number that looks random and depends on the image's name alone."""
    return int.from_bytes(hashlib.blake2b(entry.name.encode(), digest_size=8).digest(), "big")


def _in_order(label: str) -> tuple[int, int, str]:
    """Sort classes that are numbers as numbers."""
    return (0, int(label), "") if label.isdecimal() else (1, 0, label)
