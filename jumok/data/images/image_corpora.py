"""From a recipe's [data] of images to stores, each made once and kept in the cache.

sources or a built-in set → entries → divided, limited → a LabelledImageStore for each source; classes, size and channels found out
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from jumok.cache import cached_folder
from jumok.config import ImageData, ImageFiles, Split
from jumok.data.builtin import shapes
from jumok.data.corpora import Corpora, ProgressCallback, by_title
from jumok.data.images.decode import channels_of
from jumok.data.images.decoded import DecodedImages, open_some
from jumok.data.images.image_store import ImageStore, LabelledImageStore, build_classes
from jumok.data.images.listing import ImageEntry, list_images
from jumok.data.split import HoldOut, draw
from jumok.errors import ConfigError, DataError, did_you_mean
from jumok.reading import LONGEST_NUMBER

SETS = ("shapes",)
MOST_HELD_OUT = 5000  # images, where the recipe does not say how many
SORTED_BELOW = 5000  # images: of fewer, those that a limit draws stand in their old order


class ImageCorpora(Corpora[ImageData, LabelledImageStore]):
    """The images of a recipe: found, decoded, stored."""

    FORMAT = 2  # of classes; decoded images have their own
    FILE_IN_RECIPE = '"…"'

    def __init__(
        self, data: ImageData, folders: Sequence[Path], progress: ProgressCallback = lambda what, done: None
    ) -> None:
        """Take the images of a set or of files; an imported model has the names of its classes alone."""
        super().__init__(data, folders, progress)
        self.notes: list[str] = []  # what a user should know of the sources
        self._decoded = DecodedImages(data.fit, progress)
        if data.set and data.set not in SETS:
            raise ConfigError(f"data.set = '{data.set}' is no set of images; {did_you_mean(data.set, SETS)}")
        missing = not (data.set or data.train or data.labels)
        if missing or (data.set and data.train):
            raise ConfigError(
                '[data] needs either set = "shapes" (built in) or train = "…" (a folder, a table, an .npz, …)'
            )

    # --- what is there

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
    def image_shape(self) -> tuple[int, int]:
        """Size and channels of images: the recipe's, or those of the first training image that can be opened."""
        if self.data.size and self.data.channels:
            return self.data.size, self.data.channels
        if self.data.set:
            return self.data.size or shapes.SIDE, self.data.channels or 3
        image = next(open_some(self._train_files))
        return self.data.size or min(image.size), self.data.channels or channels_of(image)

    @cached_property
    def _train_files(self) -> list[ImageEntry]:
        return self._entries(self.data.train)

    def _entries(self, sources: Sequence[ImageFiles]) -> list[ImageEntry]:
        entries: list[ImageEntry] = []
        for source in sources:
            listing = list_images(source, self.find)
            entries += listing.entries
            self.notes += [note for note in listing.notes if note not in self.notes]
        return entries

    def _built_in(self, split: Split) -> list[ImageEntry]:
        count = (self.data.set_size if split == "train" else 0) or shapes.DEFAULT_SIZES[split]
        return [
            ImageEntry(
                f"shapes {split} {number}",
                shapes.scene(split, number).label,
                Path("shapes") / split,
                number,
                built_in=self.data.set,
            )
            for number in range(count)
        ]

    @cached_property
    def _train_entries(self) -> list[ImageEntry]:
        entries = self._built_in("train") if self.data.set else self._train_files
        if self.data.holds_out:
            entries = self._divided(held_out=False)
        if not self.data.limit:
            return entries
        chosen = draw(entries, self.data.limit, _name, unit="images")
        return sorted(chosen, key=entries.index) if len(entries) < SORTED_BELOW else chosen

    def _divided(self, *, held_out: bool) -> list[ImageEntry]:
        """Return the held-out images or the rest: drawn by name, the same in every run."""
        entries = self._train_files
        hold_out = HoldOut.count(map(_name, entries), self.data.hold_out, most=MOST_HELD_OUT, unit="images")
        return list(hold_out.part(entries, _name, held_out=held_out))

    # --- stores

    def evaluation(self, split: Split) -> dict[str, LabelledImageStore]:
        """Return the images of each source of a split by its title; train is one."""
        if split == "train" and (self.data.set or self.data.train):
            return {"train": self.train}
        return super().evaluation(split)

    def own_store(self, source: ImageFiles) -> LabelledImageStore:
        """Return the store of one source."""
        return self._store(self._entries([source]))

    def _train_store(self) -> LabelledImageStore:
        return self._store(self._train_entries)

    def _built_in_stores(self, split: Split) -> dict[str, LabelledImageStore]:
        return {split: self._store(self._built_in(split))}

    def _file_stores(self, split: Split) -> dict[str, LabelledImageStore]:
        return by_title(self.data.files(split), self.own_store)

    def _held_out_stores(self) -> dict[str, LabelledImageStore]:
        return {"held out": self._store(self._divided(held_out=True))}

    def _store(self, entries: Sequence[ImageEntry]) -> LabelledImageStore:
        known = frozenset(self.labels)
        for entry in entries:
            if entry.label not in known:
                raise DataError(
                    f"the class {entry.label!r} of {entry.name} is not among the training data's {len(self.labels)}: "
                    f"{did_you_mean(entry.label, self.labels)}; name all classes in data.labels, or mend it."
                )
        images = self.image_store(entries)

        def build(folder: Path) -> None:
            build_classes(images, entries, self.labels, folder)

        made_of = [self.labels, [entry.label for entry in entries]]
        key = self._key("image-classes", made_of, images.folder.name)
        return LabelledImageStore.open(images, cached_folder(key, build))

    def image_store(self, entries: Sequence[ImageEntry]) -> ImageStore:
        """Return the decoded images of entries, whatever their labels."""
        return self._decoded.store(entries, *self.image_shape)

    # --- keys of the cache

    @property
    def fingerprint(self) -> str:
        """What the training images and their classes are made of: a resumed run must find the same."""
        return self._key("data", [self.labels, [entry.label for entry in self._train_entries]])

    def refuse_learnt_val(self, trained_on: str | None) -> None:
        """Refuse nothing: images are held out by name, and a copy of them, made at another time, is the same data."""

    @property
    def _settings(self) -> list[object]:
        return [self.data.set, self.data.fit, *self.image_shape]

    def _content_of_train(self) -> object:
        return self._decoded.content(self._train_entries)


def _name(entry: ImageEntry) -> str:
    return entry.name


def _in_order(label: str) -> tuple[int, int, str]:
    """Sort classes that are numbers as numbers."""
    return (0, int(label), "") if label.isdecimal() and len(label) < LONGEST_NUMBER else (1, 0, label)
