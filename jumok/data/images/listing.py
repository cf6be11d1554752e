"""Where images come from: folders, tables, and files of many images, all as a list of entries with their classes.

ImageFiles (of a recipe) → find → list_images → ImageEntry: a name, a class, and how to get at the pixels
Nothing is decoded here; what is wrong with a whole source is a DataError, what is wrong with one image is found later.
"""

import gzip
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from PIL import Image

from jumok.config import ImageFiles
from jumok.data.files import Find
from jumok.data.images.decode import open_image
from jumok.data.tables import TABLE_SUFFIXES, is_table, read_columns
from jumok.errors import DataError, are, counted

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")
IDX_TYPE = 0x08  # unsigned bytes
CIFAR_PIXELS = 3 * 32 * 32
CIFAR_PICKLES = ("data_batch", "test_batch")  # names of files that are refused
# What reading a file of many raises where it is broken, or another kind of file than its name says.
UNREADABLE = (
    OSError, EOFError, ValueError, KeyError, TypeError, NotImplementedError, zlib.error, BadZipFile, struct.error
)  # fmt: skip


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


@dataclass(frozen=True)
class Pack:
    """A file of many images, with their classes or their names where it has them."""

    count: int
    image: Callable[[int, int], Image.Image]  # (number, least side) → decoded
    content: Callable[[int], bytes]  # what an image is decoded from
    labels: list[str] | None = None
    names: list[str] | None = None
    notes: tuple[str, ...] = ()


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


@lru_cache(maxsize=8)
def open_pack(path: Path, labels_file: Path | None = None) -> Pack:
    """Return the images in a file; kept open, because every process asks for many of them."""
    name = path.name.lower().removesuffix(".gz")
    try:
        if name.endswith(".npz"):
            return _npz(path)
        return _idx(path, labels_file) if "idx3" in name else _cifar(path)
    except UNREADABLE as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"{path} cannot be read ({why}); download or write it again.") from None


def _npz(path: Path) -> Pack:
    with path.open("rb") as content, np.load(content, allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    labels = arrays.get("label") if "jpeg" in arrays else arrays.get("y")
    classes = None if labels is None else _named(labels, arrays.get("classes"))
    names = [str(name) for name in arrays["name"].tolist()] if "name" in arrays else None
    if {"jpeg", "offset"} <= arrays.keys():
        jpeg, offset = arrays["jpeg"], arrays["offset"]
        if offset.ndim != 1 or not len(offset) or offset.dtype.kind not in "iu":
            raise DataError(
                f"{path}: offset has the shape {offset.shape} and the type {offset.dtype}; a list of int64 is needed."
            )

        def encoded(number: int) -> bytes:
            return bytes(jpeg[offset[number] : offset[number + 1]].tobytes())

        pack = Pack(
            len(offset) - 1,
            lambda number, least: open_image(encoded(number), least=least),
            encoded,
            labels=classes,
            names=names,
        )
    elif "x" in arrays:
        images, notes = as_pixels(arrays["x"], str(path))
        pack = _of_arrays(images, labels=classes, names=names, notes=notes)
    else:
        raise DataError(
            f"{path} holds {', '.join(sorted(arrays)) or 'nothing'}; x (images) and y (classes) are needed, or jpeg, "
            "offset and label."
        )
    if pack.labels is not None and len(pack.labels) != pack.count:
        raise DataError(f"{path} has {pack.count:,} images and {len(pack.labels):,} classes; as many are needed.")
    if pack.names is not None and len(pack.names) != pack.count:
        raise DataError(f"{path} has {pack.count:,} images and {len(pack.names):,} names; as many are needed.")
    return pack


def _of_arrays(
    images: np.ndarray[Any, Any],
    *,
    labels: list[str] | None,
    names: list[str] | None = None,
    notes: tuple[str, ...] = (),
) -> Pack:
    """Return images (N, H, W) or (N, H, W, 3) as a pack."""
    return Pack(
        len(images),
        lambda number, least: Image.fromarray(np.ascontiguousarray(images[number])),
        lambda number: images[number].tobytes(),
        labels=labels,
        names=names,
        notes=notes,
    )


def as_pixels(values: np.ndarray[Any, Any], where: str) -> tuple[np.ndarray[Any, Any], tuple[str, ...]]:
    """Return images (N, H, W) or (N, H, W, 3) as 0 to 255 whatever their order and range, and what was made of them.

    0 to 1 taken for 0 to 255, or channels taken for rows, would be learnt from without a word.
    """
    notes = []
    if values.ndim == 4 and values.shape[3] not in (1, 3) and values.shape[1] in (1, 3):
        values = values.transpose(0, 2, 3, 1)
        notes.append(f"{where}: channels stand before rows and columns, and are moved behind them")
    elif values.ndim == 4 and values.shape[3] in (1, 3) and values.shape[1] in (1, 3) and values.shape[1:3] != (1, 1):
        raise DataError(
            f"{where}: images of shape {values.shape[1:]} may have their channels first or last; write them larger, or "
            "as PNG files."
        )
    if values.ndim not in (3, 4) or (values.ndim == 4 and values.shape[3] not in (1, 3)):
        raise DataError(
            f"{where}: images have the shape {values.shape[1:]}; (height, width) or (height, width, 1 or 3) is needed."
        )
    if values.ndim == 4 and values.shape[3] == 1:
        values = values[..., 0]
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    if not np.isfinite(low + high) or low < 0 or high > 255:
        raise DataError(
            f"{where}: pixels go from {low:g} to {high:g}; 0 to 255 or 0 to 1 is needed. Are they normalised already?"
        )
    if high <= 1 and (values.dtype.kind == "f" or high == 1):
        notes.append(f"{where}: pixels go from 0 to 1 and are taken times 255")
        values = np.round(values * 255.0)
    return values.astype(np.uint8), tuple(notes)


def _named(numbers: np.ndarray[Any, Any], names: np.ndarray[Any, Any] | None) -> list[str]:
    if names is None:
        return [str(number) for number in numbers.tolist()]
    return [str(names[number]) for number in numbers.tolist()]


def _bytes(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def _idx(path: Path, labels_file: Path | None) -> Pack:
    """Read MNIST's own format: a magic number, sizes, bytes."""
    images = _idx_array(path, dimensions=3)
    if labels_file is None:
        labels_file = labels_file_of(path)
        if not labels_file.exists():
            return _of_arrays(images, labels=None)
    labels = _idx_array(labels_file, dimensions=1)
    if len(labels) != len(images):
        raise DataError(f"{path} has {len(images):,} images and {labels_file.name} {len(labels):,} classes.")
    return _of_arrays(images, labels=[str(label) for label in labels.tolist()])


def labels_file_of(path: Path) -> Path:
    """Return where MNIST keeps the classes of a file of images."""
    return path.with_name(path.name.replace("images", "labels").replace("idx3", "idx1"))


def _idx_array(path: Path, *, dimensions: int) -> np.ndarray[Any, Any]:
    content = _bytes(path)
    if len(content) < 4 + 4 * dimensions or content[:4] != bytes([0, 0, IDX_TYPE, dimensions]):
        raise DataError(f"{path} is no IDX file of bytes in {dimensions} dimensions.")
    shape = np.frombuffer(content, ">u4", dimensions, 4).tolist()
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions)
    if len(values) != np.prod(shape):
        raise DataError(f"{path} is cut off: {np.prod(shape):,} bytes were announced, {len(values):,} are there.")
    return values.reshape(shape)


def _cifar(path: Path) -> Pack:
    """Read a batch of CIFAR-10 (a class, then 3,072 pixels) or of CIFAR-100 (two classes; the finer one counts)."""
    content = np.frombuffer(_bytes(path), np.uint8)
    marks = next((count for count in (1, 2) if len(content) and len(content) % (CIFAR_PIXELS + count) == 0), 0)
    if not marks:
        raise DataError(f"{path} has {len(content):,} bytes, which is no whole number of CIFAR's images.")
    rows = content.reshape(-1, CIFAR_PIXELS + marks)
    images = rows[:, marks:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    meta = path.parent / ("batches.meta.txt" if marks == 1 else "fine_label_names.txt")
    names = meta.read_text(encoding="utf-8").split() if meta.exists() else None
    numbers = rows[:, marks - 1]
    if names is not None and len(numbers) and int(numbers.max()) >= len(names):
        raise DataError(f"{path} has the class {int(numbers.max())}, but {meta.name} only {len(names)} names.")
    labels = [names[number] if names else str(number) for number in numbers.tolist()]
    return _of_arrays(images, labels=labels)
