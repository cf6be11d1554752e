"""Some images of many, opened to find out how large they are, and how one is named on the command line."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jumok.data.images.decode import BrokenImageError, channels_of
from jumok.data.images.listing import ImageEntry, load_entry
from jumok.data.tables import is_table
from jumok.errors import DataError

TRIED = 40  # images that are opened to find out size and colour


def near(entry: ImageEntry) -> str:
    """Return an image's file as it is typed from here, or a name that stands for one."""
    if entry.number >= 0:
        return "image.png"
    here = Path.cwd()
    return str(entry.source.relative_to(here) if entry.source.is_relative_to(here) else entry.source)


def open_some(path: Path, entries: Sequence[ImageEntry]) -> tuple[int, int, list[str]]:
    """Return the middle side and the channels of some images, and what to know of those that cannot be opened."""
    chosen = entries[:: max(len(entries) // TRIED, 1)]
    sides, channels, broken = [], [], []
    for entry in chosen:
        try:
            image = load_entry(entry)
        except BrokenImageError as error:
            broken.append(f"{entry.name}: {error}")
            continue
        sides.append(min(image.size))
        channels.append(channels_of(image))
    if not sides:
        where = (
            f"; a table's files are looked for from its folder on, {path.parent.absolute()}" if is_table(path) else ""
        )
        raise DataError(f"{path}: none of {len(chosen)} images can be opened, as {broken[0]}{where}")
    notes = []
    if broken:
        notes = [f"{len(broken)} of {len(chosen)} images tried cannot be opened and will be left out, as {broken[0]}"]
    return int(np.median(sides)), max(channels), notes
