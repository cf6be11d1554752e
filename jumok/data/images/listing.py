"""Where images come from: folders, tables, and files of many images, all as a list of entries with their classes.

ImageFiles (of a recipe) → find → list_images → ImageEntry: a name, a class, and how to get at the pixels
Nothing is decoded here; what is wrong with a whole source is a DataError, what is wrong with one image is found later.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from jumok.config import ImageFiles
from jumok.data.files import Find
from jumok.data.images.decode import open_image
from jumok.data.images.packs import labels_file_of, open_pack
from jumok.data.tables import TABLE_SUFFIXES, is_table, read_columns
from jumok.errors import DataError, are, counted

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")
CIFAR_PICKLES = ("data_batch", "test_batch")  # names of files that are refused


class NoClassesError(DataError):
    """Images whose classes are needed and not there."""


@dataclass(frozen=True)
class ImageEntry:
    """An image that has not been opened yet."""

    name: str  # for messages
    label: str
    source: Path  # the file it is in
    number: int = -1  # its place there; -1: the file is the image
    labels_file: Path | None = None  # where the classes of its file are, if not in it
    built_in: str = ""  # the set that draws it; then there is no file

    @property
    def place(self) -> tuple[Path, int]:
        """The file and the place in it: the same for one image, whatever it is called."""
        return self.source, self.number


@dataclass
class Listing:
    """The images of one source."""

    entries: list[ImageEntry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def holds_images(path: Path) -> bool:
    """Whether a source is made of images, not of rows or texts that name them."""
    name = path.name.lower().removesuffix(".gz")
    return path.is_dir() or name.endswith((".npz", ".bin")) or "idx3" in name or name.startswith(CIFAR_PICKLES)


def list_images(files: ImageFiles, find: Find, *, classes: bool = True) -> Listing:
    """Return the images of a source; without classes, all of them, whether they have classes or not."""
    path = find(files.file)
    name = path.name.lower().removesuffix(".gz")
    if path.is_dir() and (batches := sorted(path.glob("data_batch_*.bin"))):  # CIFAR-10, unpacked
        listing = Listing([entry for batch in batches for entry in _packed(batch).entries])
    elif path.is_dir():
        listing = _class_folders(path) if classes else _all_below(path)
    elif is_table(path):
        listing = Listing(list(_rows(path, files)))
    elif name.endswith((".npz", ".bin")) or "idx3" in name:
        labels_file = find(files.labels_file) if files.labels_file else None
        listing = _packed(path, labels_file, classes=classes)
    elif name.startswith(CIFAR_PICKLES):
        raise DataError(f"{path} is a pickle, which could run any program; take the binary version of CIFAR (.bin).")
    else:
        raise DataError(
            f"{path} is no source of images that jumok knows; give a folder of class folders, a table "
            f"({', '.join(TABLE_SUFFIXES)}), an .npz, MNIST's idx3 file or CIFAR's .bin file."
        )
    if not listing.entries:
        raise DataError(f"{path} holds no images; files ending in {', '.join(SUFFIXES)} are looked for.")
    return listing


def load_entry(entry: ImageEntry, *, least: int = 0) -> Image.Image:
    """Return the decoded image of an entry; BrokenImageError where there is none."""
    if entry.number < 0:
        return open_image(entry.source, least=least)
    return open_pack(entry.source, entry.labels_file).image(entry.number, least)


# --- folders and tables


def _class_folders(path: Path) -> Listing:
    listing, stray = Listing(), 0
    for folder in sorted(path.iterdir()):
        if not folder.is_dir():
            stray += folder.suffix.lower() in SUFFIXES
            continue
        if folder.name.startswith("."):
            continue
        found = sorted(file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
        listing.entries += [ImageEntry(str(file.relative_to(path)), folder.name, file) for file in found]
        if not found:
            listing.notes.append(f"the folder {folder.name} of {path} has no images: there is no such class")
    if stray and listing.entries:
        listing.notes.append(
            f"{counted(stray, 'image')} of {path} {'stands' if stray == 1 else 'stand'} in no class folder and {are(stray)} left out"
        )
    elif stray:
        raise NoClassesError(f"{path} holds images, but no folders; put each class into a folder of its name.")
    return listing


def _all_below(path: Path) -> Listing:
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
    return Listing([ImageEntry(str(file.relative_to(path)), "", file) for file in files])


def _rows(path: Path, files: ImageFiles) -> Iterator[ImageEntry]:
    columns = {"image": files.image, "label": files.label}
    if files.split:
        columns["split_column"] = files.split_column
    for place, label, *split in read_columns(path, columns):
        if split and split[0] != files.split:
            continue
        if not label.strip():
            raise DataError(f"{path}: the image {place!r} has no class; give it one, or take the row out.")
        yield ImageEntry(place, label, path.parent / place)


# --- many images in one file


def _packed(path: Path, labels_file: Path | None = None, *, classes: bool = True) -> Listing:
    pack = open_pack(path, labels_file)
    if pack.labels is None and classes:
        if "idx3" in path.name.lower():
            raise NoClassesError(
                f"{labels_file_of(path)}, the classes of {path.name}, is missing; name it in labels_file."
            )
        raise NoClassesError(
            f"{path} holds images without classes; x (images) and y (classes) are needed, or jpeg, offset and label."
        )
    entries = [
        ImageEntry(f"{path.name} image {number + 1:,}", label, path, number, labels_file)
        for number, label in enumerate(pack.labels or [""] * pack.count)
    ]
    return Listing(entries, list(pack.notes))
