"""Images decoded once into a memory-mapped store, with their classes; what could not be decoded is named and left out.

entries → processes that decode → pixels (N, size, size, channels) of 0 to 255 → file; classes; mean and deviation
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from jumok.data.images.decode import BrokenImageError, Pixels, to_pixels
from jumok.data.images.listing import Entry, load_entry
from jumok.data.store import map_array
from jumok.errors import DataError

CHUNK = 256  # images a process decodes before it hands them over
NAMED = 5  # broken images that are named; the rest are counted
ENOUGH = 2 * CHUNK  # fewer images are decoded here, without other processes


class ImageStore:
    """The images of one split."""

    def __init__(self, folder: Path) -> None:
        """Open the store in folder; a missing or cut-off file is a DataError."""
        try:
            facts: dict[str, Any] = json.loads((folder / "store.json").read_text(encoding="utf-8"))
            shape = (facts["images"], facts["size"], facts["size"], facts["channels"])
            self.pixels = map_array(folder / "pixels", "u1").reshape(shape)
            self.classes = map_array(folder / "classes", "<i4")
            self.broken: int = facts["broken"]
            self.named: list[list[str]] = facts["named"]  # name of a broken image, and what is wrong with it
            self.mean: list[float] = facts["mean"]
            self.deviation: list[float] = facts["deviation"]
            whole = len(self.classes) == len(self.pixels)
        except (OSError, ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            raise DataError(f"the images in {folder} are damaged; run jumok cache --clear, and they are made again.")

    def __len__(self) -> int:
        return len(self.classes)


def build_image_store(
    entries: Sequence[Entry],
    labels: Sequence[str],
    folder: Path,
    *,
    size: int,
    channels: int,
    fit: str,
    progress: Callable[[int], None],
    draw: Callable[[Entry], Image.Image] = load_entry,
) -> None:
    """Decode entries into folder, in their order."""
    numbers = {label: number for number, label in enumerate(labels)}
    decode = partial(decode_chunk, size=size, channels=channels, fit=fit, draw=draw)
    broken: list[tuple[str, str]] = []
    classes: list[int] = []
    sums, squares, done = np.zeros(channels), np.zeros(channels), 0
    chunks = [entries[first : first + CHUNK] for first in range(0, len(entries), CHUNK)]
    with (folder / "pixels").open("wb") as file, _processes(len(entries)) as executor:
        for chunk, found in zip(chunks, executor.map(decode, chunks) if executor else map(decode, chunks), strict=True):
            good = [(entry, pixels) for entry, pixels in zip(chunk, found, strict=True) if not isinstance(pixels, str)]
            broken += [(entry.name, why) for entry, why in zip(chunk, found, strict=True) if isinstance(why, str)]
            if good:
                stack = np.stack([pixels for _, pixels in good])
                file.write(stack.tobytes())
                shares = stack.reshape(-1, channels) / 255.0
                sums, squares = sums + shares.sum(axis=0), squares + (shares**2).sum(axis=0)
            classes += [numbers[entry.label] for entry, _ in good]
            done += len(chunk)
            progress(done)
    if not classes:
        name, why = broken[0]
        raise DataError(f"none of {len(entries):,} images can be used; {name}: {why}.")
    (folder / "classes").write_bytes(np.array(classes, dtype="<i4").tobytes())
    count = len(classes) * size * size
    mean = sums / count
    facts = {
        "images": len(classes),
        "size": size,
        "channels": channels,
        "broken": len(broken),
        "named": broken[:NAMED],
        "mean": mean.tolist(),
        "deviation": np.sqrt(np.maximum(squares / count - mean**2, 1e-8)).tolist(),
    }
    (folder / "store.json").write_text(json.dumps(facts), encoding="utf-8")


def decode_chunk(
    entries: Sequence[Entry], *, size: int, channels: int, fit: str, draw: Callable[..., Image.Image]
) -> list[Pixels | str]:
    """Return the pixels of each entry, or what is wrong with it."""
    found: list[Pixels | str] = []
    for entry in entries:
        try:
            found.append(to_pixels(draw(entry, least=size), size=size, channels=channels, fit=fit))
        except BrokenImageError as error:
            found.append(str(error))
    return found


@contextmanager
def _processes(images: int) -> Iterator[Executor | None]:
    """Yield an executor with a process a core, or None where that would not pay."""
    cores = os.cpu_count() or 1
    if images < ENOUGH or cores < 2:
        with nullcontext():
            yield None
        return
    # A fresh server process forks the others: this one may have threads, which a fork would not survive.
    with ProcessPoolExecutor(cores, mp_context=get_context("forkserver")) as executor:
        yield executor
