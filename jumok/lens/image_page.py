"""The page of an image: its cells light up by weight, over the image itself.

ImageView → View (a kind for each grid: the stages of a Swin) → JSON, packed numbers, the image as a PNG inside the page
          → lens/page/image.html, image.js → one text
"""

import base64
import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from PIL import Image

from jumok.inspection.labels import cell_labels
from jumok.inspection.record import AttentionMap
from jumok.lens.heat import heat_of
from jumok.lens.html import CLASS, Page, assemble_page, bits_for, describe_view
from jumok.lens.image_view import ImageView
from jumok.lens.layers import count_numbers, shown_layers
from jumok.lens.packing import Packing
from jumok.lens.view import Side, View

MOST_CELLS = 784  # of a map that can be pointed at and drawn at once; a finer grid is shown in blocks of cells
MOST_DETAILS = 1_000_000  # numbers of queries, keys, values and outputs in a page; if there are more, none is kept
MOST_EXACT = 2_000_000  # weights that a page keeps as they are; more are rounded to 16 bits
DARK = 80.0  # mean of an image's bytes below which lifting a veil shows nothing but black
FOOTER = "point at a patch, click or Enter pins it, arrow keys walk · shades are relative to the strongest weight shown"
Grid = tuple[int, int]


def make_image_page(views: Sequence[ImageView], *, matrices: bool | None = None, lang: str | None = None) -> Page:
    """Return the page of one or more models on one image; matrices and lang as in make_page."""
    packing = Packing()
    in_lines = [_in_line(view) for view in views]
    bits = bits_for(in_lines)
    pairs = zip(views, in_lines, strict=True)
    runs = [_describe(view, line, packing, bits=bits, matrices=matrices) for view, line in pairs]
    title = " · ".join(filter(None, [views[0].source, views[0].name])) or "an image"
    return assemble_page(
        "image", title=title, data={"runs": runs}, packing=packing, footer=FOOTER, styles=("image",), lang=lang
    )


def _in_line(view: ImageView) -> View:
    """Return a view whose cells stand in a line, as words do: one kind per grid, blocks where cells are too many."""
    kinds = _kinds(view.record.maps)
    maps = [_in_blocks(replace(found, kind=kinds[found.kind, found.grid])) for found in view.record.maps]
    record = replace(view.record, maps=maps)
    if count_numbers(maps, shown_layers(record)) > MOST_DETAILS:
        record.maps = maps = [replace(found, details=None) for found in maps]
    sides = {found.kind: Side("patches", found.keys) for found in maps}
    return View(
        view.name,
        record,
        {kind: (side, side) for kind, side in sides.items()},
        output=next(iter(sides.values()), Side("patches", ())),
        source=view.source,
        answer=view.classes[0][0] if view.classes else "",
    )


def _describe(view: ImageView, line: View, packing: Packing, *, bits: int, matrices: bool | None) -> dict[str, Any]:
    """Return the JSON of one view: that of a view in line, and the image with its cells."""
    kinds, maps = _kinds(view.record.maps), line.record.maps
    grids = {found.kind: found.grid for found in maps}
    blocks = {kinds[found.kind, found.grid]: _block(found) for found in view.record.maps}
    exact = sum(found.weights.numel() for found in maps) <= MOST_EXACT
    heat = heat_of(view.record)
    return describe_view(line, packing, exact=exact, bits=bits, matrices=matrices) | {
        "note": view.note,
        "image": None if view.pixels is None else png_of(view.pixels),
        "height": 1 if view.pixels is None else view.pixels.shape[0],
        "width": 1 if view.pixels is None else view.pixels.shape[1],
        "grids": {
            kind: {"rows": grid[0], "columns": grid[1], "block": blocks[kind]} for kind, grid in grids.items() if grid
        },
        "dark": view.pixels is None or bool(view.pixels.mean() < DARK),
        "classes": [dict(zip(CLASS, one, strict=True)) for one in view.classes],
        "heat": None if heat is None else packing.rounded(heat),
    }


def png_of(pixels: np.ndarray[Any, Any]) -> str:
    """Return pixels (height, width, channels) as a data URL that holds a PNG."""
    file = io.BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(file, format="PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"


def _kinds(maps: Sequence[AttentionMap]) -> dict[tuple[str, Grid | None], str]:
    """Return a name for each pair of kind and grid, because a mean over layers needs one grid."""
    pairs = list(dict.fromkeys((found.kind, found.grid) for found in maps))
    return {pair: pair[0] if len(pairs) == 1 else f"stage {number}" for number, pair in enumerate(pairs, 1)}


def _block(found: AttentionMap) -> int:
    """Return the side of the square of cells that is shown as one block."""
    assert found.grid is not None
    return side_of_blocks(found.grid)


def side_of_blocks(grid: Grid) -> int:
    """Return the side of the square of cells that is shown as one block, so that each can be pointed at."""
    side = 1
    while -(-grid[0] // side) * -(-grid[1] // side) > MOST_CELLS:
        side += 1
    return side


def _in_blocks(found: AttentionMap) -> AttentionMap:
    """Return the map with blocks instead of cells where cells are too many; a block has its cells' weight together."""
    side = _block(found)
    if side == 1:
        return found
    assert found.grid is not None
    rows, columns = found.grid
    grid = -(-rows // side), -(-columns // side)
    special = found.weights.shape[-1] - rows * columns
    place = torch.arange(rows)[:, None] // side * grid[1] + torch.arange(columns) // side
    groups = [*range(special), *(place.flatten() + special).tolist()]
    labels = cell_labels(grid, special)
    return replace(found.merged(groups, groups), queries=labels, keys=labels, grid=grid)
