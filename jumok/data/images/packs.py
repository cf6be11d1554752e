"""Files of many images: .npz, MNIST's idx3 files, CIFAR's .bin files, each as a Pack that gives its images by number.

path → arrays, all of their sizes checked against each other → Pack: how many, an image by its number, classes, names
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from jumok.arrays import read_npz
from jumok.data.images.decode import open_image
from jumok.errors import DataError, counted
from jumok.reading import most_bytes, opened, read_bytes, read_text

IDX_TYPE = 0x08  # unsigned bytes
CIFAR_PIXELS = 3 * 32 * 32


@dataclass(frozen=True)
class Pack:
    """A file of many images, with their classes or their names where it has them."""

    count: int
    image: Callable[[int, int], Image.Image]  # (number, least side) → decoded
    content: Callable[[int], bytes]  # what an image is decoded from
    labels: list[str] | None = None
    names: list[str] | None = None
    notes: tuple[str, ...] = ()


@lru_cache(maxsize=8)
def open_pack(path: Path, labels_file: Path | None = None) -> Pack:
    """Return the images in a file; kept open, because every process asks for many of them."""
    name = path.name.lower().removesuffix(".gz")
    try:
        if name.endswith(".npz"):
            return _npz(path)
        return _idx(path, labels_file) if "idx3" in name else _cifar(path)
    except (ValueError, OverflowError, MemoryError) as error:
        raise _refuse(str(path), str(error).partition("\n")[0] or "there is not enough memory to read it") from None


def _refuse(place: str, why: str) -> DataError:
    return DataError(f"{place} cannot be read ({why}); download or write it again.")


def _npz(path: Path) -> Pack:
    arrays = read_npz(path, _refuse)
    for name in ("y", "label", "classes", "name", "jpeg"):
        if name in arrays and arrays[name].ndim != 1:
            raise DataError(
                f"{path}: {name} has the shape {arrays[name].shape}; one dimension is needed, with an entry for each."
            )
    labels = arrays.get("label") if "jpeg" in arrays else arrays.get("y")
    classes = None if labels is None else _named(labels, arrays.get("classes"), str(path))
    names = arrays["name"].astype(str).tolist() if "name" in arrays else None
    if {"jpeg", "offset"} <= arrays.keys():
        jpeg, offset = arrays["jpeg"], arrays["offset"]
        _check_offsets(jpeg, offset, str(path))

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


def _check_offsets(jpeg: np.ndarray[Any, Any], offset: np.ndarray[Any, Any], where: str) -> None:
    """Refuse places of images that are no places in the bytes of them, one behind the other."""
    if offset.ndim != 1 or not len(offset) or offset.dtype.kind not in "iu":
        raise DataError(
            f"{where}: offset has the shape {offset.shape} and the type {offset.dtype}; a list of int64 is needed."
        )
    if jpeg.dtype != np.uint8:
        raise DataError(f"{where}: jpeg is of the type {jpeg.dtype}; the bytes of all images are needed, as uint8.")
    if offset[0] < 0 or offset[-1] > len(jpeg) or (offset[1:] < offset[:-1]).any():
        raise DataError(
            f"{where}: offset goes from {offset[0]:,} to {offset[-1]:,}, and jpeg has {len(jpeg):,} bytes; offsets must grow "
            "from 0 to that. Write the file again."
        )


def _of_arrays(
    images: np.ndarray[Any, Any],
    *,
    labels: list[str] | None,
    names: list[str] | None = None,
    notes: tuple[str, ...] = (),
) -> Pack:
    """Return images (N, H, W) or (N, H, W, 3) as a pack."""
    if len(images) and not images.size:
        raise ValueError(f"its images have {images.shape[1]} × {images.shape[2]} pixels")
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
    if values.dtype.kind not in "biuf":
        raise DataError(f"{where}: pixels are of the type {values.dtype}; numbers are needed.")
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


def _named(numbers: np.ndarray[Any, Any], names: np.ndarray[Any, Any] | None, where: str) -> list[str]:
    """Return the class of each image: by its number among names, where there are any."""
    if names is None:
        return [str(number) for number in numbers.tolist()]
    if numbers.dtype.kind not in "iu":
        raise DataError(
            f"{where}: the classes of images are of the type {numbers.dtype}; numbers from 0 on are needed."
        )
    low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, -1)
    if low < 0 or high >= len(names):
        raise DataError(
            f"{where}: the classes of images go from {low} to {high}, and classes has {counted(len(names), 'name')}; "
            "numbers from 0 on are needed, each with a name."
        )
    return [str(name) for name in names.astype(str)[numbers].tolist()]


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
    with opened(path, _refuse) as file:
        head = file.read(4 + 4 * dimensions)
        if len(head) < 4 + 4 * dimensions or head[:4] != bytes([0, 0, IDX_TYPE, dimensions]):
            raise DataError(f"{path} is no IDX file of bytes in {dimensions} dimensions.")
        shape = np.frombuffer(head, ">u4", dimensions, 4).tolist()
        if (count := math.prod(shape)) > (most := most_bytes(path)):
            raise DataError(
                f"{path} announces {count:,} bytes, and a file of its size may hold {most:,} at most; download it again."
            )
        content = file.read(count + 1)
    if len(content) != count:
        there = f"{len(content):,}" if len(content) < count else "more"
        raise DataError(f"{path} is cut off: {count:,} bytes were announced, {there} are there.")
    return np.frombuffer(content, np.uint8).reshape(shape)


def _cifar(path: Path) -> Pack:
    """Read a batch of CIFAR-10 (a class, then 3,072 pixels) or of CIFAR-100 (two classes; the finer one counts)."""
    content = np.frombuffer(read_bytes(path, _refuse), np.uint8)
    marks = next((count for count in (1, 2) if len(content) and len(content) % (CIFAR_PIXELS + count) == 0), 0)
    if not marks:
        raise DataError(f"{path} has {len(content):,} bytes, which is no whole number of CIFAR's images.")
    rows = content.reshape(-1, CIFAR_PIXELS + marks)
    images = rows[:, marks:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    meta = path.parent / ("batches.meta.txt" if marks == 1 else "fine_label_names.txt")
    names = read_text(meta, _refuse).split() if meta.exists() else None
    numbers = rows[:, marks - 1]
    if names is not None and len(numbers) and int(numbers.max()) >= len(names):
        raise DataError(f"{path} has the class {int(numbers.max())}, but {meta.name} only {len(names)} names.")
    labels = [names[number] if names else str(number) for number in numbers.tolist()]
    return _of_arrays(images, labels=labels)
