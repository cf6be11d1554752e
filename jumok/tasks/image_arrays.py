"""What a fixed model makes of every image of a store: computed once, into one memory-mapped file, with progress.

ImageStore (N images) → portions, shared among processes of one thread each → look → (N, …) in a file
"""

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from jumok.data.images.decode import Pixels
from jumok.data.images.image_store import ImageStore
from jumok.decoding.workers import processes_for, share
from jumok.nn.threads import one_thread

# N images of a store

PORTION = 64  # images that a process looks at before it asks for more
DIED = (
    "a process that looked at images died, perhaps for want of memory; try it again with OMP_NUM_THREADS=1, which takes one "
    "process"
)


def build_array(
    file: Path,
    images: ImageStore,
    look: Callable[[Pixels], NDArray[Any]],
    *,
    device: torch.device,
    progress: Callable[[int], None],
) -> tuple[int, ...]:
    """Write what look makes of each image of a store, (N, …), into a file; return the shape of one."""
    first = look(images.pixels[:1])
    shape = first.shape[1:]
    found = _reserved(file, (len(images), *shape), first.dtype)
    done = 0

    def look_at(portion: list[int]) -> list[None]:
        found[portion] = look(images.pixels[portion])
        return [None] * len(portion)

    def report(count: int) -> None:
        nonlocal done
        done += count
        progress(done)

    progress(0)
    numbers = list(range(len(images)))
    portions = [numbers[first : first + PORTION] for first in range(0, len(numbers), PORTION)]
    processes = processes_for(len(images), wanted=0, portion=PORTION, device=device)
    if processes > 1:
        share(look_at, portions, processes=processes, progress=report, died=DIED)  # they write into the same file
    else:
        with one_thread():
            for portion in portions:
                look_at(portion)
                report(len(portion))
    found.flush()
    return shape


def _reserved(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> "np.memmap[Any, np.dtype[Any]]":
    """Return an array in a new file; a full disk shows now, as an error, and not in the middle, as a crash."""
    size = dtype.itemsize * math.prod(shape)
    with path.open("wb") as file:
        if hasattr(os, "posix_fallocate"):  # not on macOS
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
    return np.memmap(path, dtype=dtype, mode="r+", shape=shape)
