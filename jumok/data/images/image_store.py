"""Images decoded once into memory-mapped stores; what could not be decoded is named and left out.

entries → processes that decode → pixels (N, size, size, channels) of 0 to 255, mean and deviation → ImageStore
ImageStore and the entries' labels → classes (N,) → LabelledImageStore
Pixels and classes are entries of the cache apart: other labels decode no image anew, and captions need no classes.
"""

import json
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from PIL import Image

from jumok.data.images.decode import BrokenImageError, Pixels, to_pixels
from jumok.data.images.listing import ImageEntry, load_entry
from jumok.data.store import map_array, read_facts, refuse_damage, write_facts
from jumok.errors import DataError, are, counted
from jumok.processes import spread
from jumok.reading import json_of

Decoded = list[Pixels | str]  # of each entry: its pixels, or what is wrong with it

CHUNK = 256  # images that a process decodes before it hands them over
NAMED = 5  # broken images that are named; the rest are counted
ENOUGH = 2  # fewer chunks are decoded here, without other processes


class DrawEntry(Protocol):
    """What gives the image of an entry; least is the side below which it need not be sharp."""

    def __call__(self, entry: ImageEntry, *, least: int = 0) -> Image.Image:
        """Return the decoded image; BrokenImageError where there is none."""


class ImageStore:
    """The decoded images of one split, without what is said of them."""

    def __init__(self, folder: Path) -> None:
        """Open the store in folder; a missing or cut-off file is a DataError."""
        self.folder = folder
        with refuse_damage(folder, "the store of images"):
            facts = read_facts(folder)
            shape = (facts["images"], facts["size"], facts["size"], facts["channels"])
            self.pixels: Pixels = map_array(folder / "pixels", "u1").reshape(shape)  # (N, size, size, channels)
            self.kept = map_array(folder / "kept", "<i8")  # (N,): which of the entries each image is
            self.broken: int = facts["broken"]
            self.named: list[list[str]] = facts["named"]  # name of a broken image, and what is wrong with it
            self.mean: list[float] = facts["mean"]
            self.deviation: list[float] = facts["deviation"]

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def notes(self) -> list[str]:
        """What was left out, in a line."""
        if not self.broken:
            return []
        named = "; ".join(f"{name}: {why}" for name, why in self.named)
        more = f"; and {self.broken - len(self.named):,} more" if self.broken > len(self.named) else ""
        return [f"{counted(self.broken, 'image')} cannot be used and {are(self.broken)} left out: {named}{more}"]

    @cached_property
    def names(self) -> list[str]:
        """The images' names, in their order."""
        with refuse_damage(self.folder, "the store of images"):
            names: list[str] = json_of((self.folder / "names.json").read_text(encoding="utf-8"))
        return names


@dataclass(frozen=True)
class LabelledImageStore:
    """Images and the class of each."""

    images: ImageStore
    classes: np.ndarray[Any, np.dtype[np.int32]]  # (N,)

    @classmethod
    def open(cls, images: ImageStore, folder: Path) -> "LabelledImageStore":
        """Return images with the classes in folder."""
        with refuse_damage(folder, "the classes of images"):
            classes = map_array(folder / "classes", "<i4")
            if len(classes) != len(images):
                raise ValueError(f"{len(classes):,} classes for {len(images):,} images")
        return cls(images, classes)

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def pixels(self) -> Pixels:
        """The images (N, size, size, channels), 0 to 255."""
        return self.images.pixels

    @property
    def names(self) -> list[str]:
        """The images' names, in their order."""
        return self.images.names

    @property
    def broken(self) -> int:
        """How many images could not be decoded."""
        return self.images.broken

    @property
    def named(self) -> list[list[str]]:
        """Names of some broken images, each with what is wrong with it."""
        return self.images.named

    @property
    def mean(self) -> list[float]:
        """The mean of each channel, 0 to 1."""
        return self.images.mean

    @property
    def deviation(self) -> list[float]:
        """The standard deviation of each channel."""
        return self.images.deviation


def build_image_store(
    entries: Sequence[ImageEntry],
    folder: Path,
    *,
    size: int,
    channels: int,
    fit: str,
    progress: Callable[[int], None],
    draw: DrawEntry = load_entry,
) -> None:
    """Decode entries into folder, in their order."""
    decode = partial(decode_chunk, size=size, channels=channels, fit=fit, draw=draw)
    broken: list[tuple[str, str]] = []
    kept: list[int] = []
    sums, squares, done = np.zeros(channels), np.zeros(channels), 0
    chunks = [entries[first : first + CHUNK] for first in range(0, len(entries), CHUNK)]
    with (folder / "pixels").open("wb") as file, closing(_decoded(decode, chunks)) as decoded:
        for chunk, found in zip(chunks, decoded, strict=True):
            good = {number: pixels for number, pixels in enumerate(found, start=done) if not isinstance(pixels, str)}
            broken += [(entry.name, why) for entry, why in zip(chunk, found, strict=True) if isinstance(why, str)]
            if good:
                stack = np.stack(list(good.values()))
                file.write(stack.tobytes())
                shares = stack.reshape(-1, channels) / 255.0
                sums, squares = sums + shares.sum(axis=0), squares + (shares**2).sum(axis=0)
            kept += good
            done += len(chunk)
            progress(done)
    if not kept:
        name, why = broken[0]
        raise DataError(f"none of {len(entries):,} images can be used; {name}: {why}.")
    (folder / "kept").write_bytes(np.array(kept, dtype="<i8").tobytes())
    (folder / "names.json").write_text(json.dumps([entries[number].name for number in kept]), encoding="utf-8")
    count = len(kept) * size * size
    mean = sums / count
    write_facts(
        folder,
        ["pixels", "kept", "names.json"],
        images=len(kept),
        size=size,
        channels=channels,
        broken=len(broken),
        named=broken[:NAMED],
        mean=mean.tolist(),
        deviation=np.sqrt(np.maximum(squares / count - mean**2, 1e-8)).tolist(),
    )


def build_classes(images: ImageStore, entries: Sequence[ImageEntry], labels: Sequence[str], folder: Path) -> None:
    """Write the class of each image into folder: the place of its entry's label among labels."""
    numbers = {label: number for number, label in enumerate(labels)}
    classes = [numbers[entries[kept].label] for kept in images.kept.tolist()]
    (folder / "classes").write_bytes(np.array(classes, dtype="<i4").tobytes())


def decode_chunk(entries: Sequence[ImageEntry], *, size: int, channels: int, fit: str, draw: DrawEntry) -> Decoded:
    """Return the pixels of each entry, or what is wrong with it."""
    found: Decoded = []
    for entry in entries:
        try:
            found.append(to_pixels(draw(entry, least=size), size=size, channels=channels, fit=fit))
        except BrokenImageError as error:
            found.append(str(error))
    return found


def _decoded(
    decode: Callable[[Sequence[ImageEntry]], Decoded], chunks: list[Sequence[ImageEntry]]
) -> Generator[Decoded]:
    """Yield what decode makes of each chunk, in their order; by a process for each core where that pays."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(chunks) < ENOUGH or cores < 2:
        yield from map(decode, chunks)
        return
    early: dict[int, Decoded] = {}

    def begin() -> Callable[[int], Decoded]:
        return lambda number: decode(chunks[number])

    with closing(spread(begin, range(len(chunks)), processes=cores, died=_died)) as answers:
        for wanted in range(len(chunks)):
            while wanted not in early:
                number, found = next(answers)
                early[number] = found
            yield early.pop(wanted)


def _died() -> DataError:
    return DataError(
        "a process that decodes images died, perhaps for want of memory; try it again with taskset -c 0 before the command, "
        "which takes one process"
    )
