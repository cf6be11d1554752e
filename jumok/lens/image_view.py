"""What a page shows of one model and one image: maps over its cells, the image itself, the classes.

AttentionRecord with grids → ImageView → lens/image_page.py
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jumok.errors import ConfigError
from jumok.inspection.details import PositionTable
from jumok.inspection.labels import cell_labels
from jumok.inspection.record import AttentionMap, AttentionRecord


@dataclass(frozen=True)
class ImageView:
    """A classified image and its record, ready to be drawn. Maps are of one image (H, Q, K) and have grids."""

    name: str
    record: AttentionRecord
    pixels: np.ndarray[Any, Any] | None = None  # (height, width, channels), uint8; None: only the cells are known
    source: str = ""  # what the image is called
    classes: Sequence[tuple[str, float]] = ()  # with their probabilities, best first
    note: str = ""  # shown where there is no attention

    @classmethod
    def of_record(cls, record: AttentionRecord, image: Any = None) -> "ImageView":
        """Return the view of a record's first image, over a Pillow image or an array of bytes where one is given."""
        if len({len(found.weights) for found in record.maps if not found.grid and found.weights.dim() == 4}) > 1:
            raise ConfigError(
                "the maps have different numbers of examples, as where a model looks inside windows of its own: "
                "their places in the image are not known; show(record) without an image shows them as they are"
            )
        maps = [laid_out(found, found.grid or _square(found)) for found in record.maps]
        whole = replace(record, maps=maps)
        whole.positions = placed(whole)
        return cls("a record of attention", whole, None if image is None else _pixels(image))


def laid_out(found: AttentionMap, grid: tuple[int, int]) -> AttentionMap:
    """Return the map of the first image of a batch, its cells labelled by row and column."""
    special = found.weights.shape[-1] - grid[0] * grid[1]
    labels = cell_labels(grid, special)
    one = found.cut(labels, labels) if found.weights.dim() == 4 else replace(found, queries=labels, keys=labels)
    return replace(one, grid=grid)


def placed(record: AttentionRecord) -> list[PositionTable]:
    """Return the position tables of a record whose maps have grids, labelled by row and column."""
    grids = {found.grid[0] * found.grid[1]: found.grid for found in record.maps if found.grid}
    return [
        replace(one, labels=cell_labels(grids[len(one.table)], 0), grid=grids[len(one.table)])
        for one in record.positions
        if len(one.table) in grids
    ]


def _square(found: AttentionMap) -> tuple[int, int]:
    """Return the grid of a map that has none: a square, perhaps with a class token before it."""
    queries, keys = found.weights.shape[-2:]
    side = math.isqrt(keys)
    if queries != keys or keys - side * side > 1:
        raise ConfigError(
            f"{found.path} has {queries} × {keys} weights, which are not those of a square image's cells and at most a "
            "class token: show(record) without an image shows them as they are"
        )
    return side, side


def _pixels(image: Any) -> np.ndarray[Any, Any]:
    """Return (height, width, channels) of a Pillow image or an array of bytes."""
    pixels = np.asarray(image)
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] not in (1, 3, 4):
        raise ConfigError(
            f"image has shape {pixels.shape} and numbers of kind {pixels.dtype}; give a Pillow image, or bytes "
            "(height, width, 3)"
        )
    return pixels
