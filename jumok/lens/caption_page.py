"""The page of a caption: point at a word and the image lights up, point at a place and the words that looked there do.

CaptionView → JSON, packed numbers, the image inside the page → lens/page/caption.html, caption.js → one text
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from jumok.inspection.data_url import as_data_url
from jumok.inspection.labels import cell_labels
from jumok.inspection.record import AttentionMap
from jumok.lens.caption_view import CaptionView
from jumok.lens.html import Page, assemble_page, describe_view
from jumok.lens.image_page import DARK, side_of_blocks
from jumok.lens.packing import Packing
from jumok.lens.view import Side

MOST_EXACT = 500_000  # weights of one caption that a page keeps as they are; more are rounded to 16 bits
FOOTER = (
    "point at a word or at a place of the image, click or Enter pins it, arrow keys walk · each word's map has its \
own scale: brightest where it looks most"
)
IMAGE = "image"  # the name of the side that words look at


def make_caption_page(views: Sequence[CaptionView], *, words: bool | None = None, lang: str | None = None) -> Page:
    """Return the page of one or more captioners on one image; words and lang as in make_page."""
    packing = Packing()
    runs = [_describe(view, packing) for view in views]
    if words is None:
        words = not any(view.characters for view in views)
    title = f"{views[0].source} → {views[0].answer}" if views[0].source else views[0].answer or "an image"
    return assemble_page(
        "caption",
        title=title,
        data={"runs": runs, "words": words},
        packing=packing,
        footer=FOOTER,
        styles=("image", "caption"),
        lang=lang,
    )


def _describe(view: CaptionView, packing: Packing) -> dict[str, Any]:
    """Return the JSON of one view: that of a text, the image with its cells, and further captions."""
    told = _describe_alone(view, packing, exact=True)
    others = [_describe_alone(other, packing, exact=False) for other in view.alternatives]
    pixels = view.pixels
    return told | {
        "alternatives": others,
        "image": None if pixels is None else as_data_url(pixels),
        "height": 1 if pixels is None else pixels.shape[0],
        "width": 1 if pixels is None else pixels.shape[1],
        "dark": pixels is None or bool(pixels.mean() < DARK),
    }


def _describe_alone(view: CaptionView, packing: Packing, *, exact: bool) -> dict[str, Any]:
    """Return the JSON of a caption without its image."""
    maps = [replace(in_blocks(found), details=None) for found in view.record.maps]
    sides = dict(view.sides)
    for found in maps:
        if found.grid:
            sides[found.kind] = sides[found.kind][0], Side(IMAGE, found.keys)
    record = replace(view.record, maps=maps, positions=[], layers=[])
    exact = exact and sum(found.weights.numel() for found in maps) <= MOST_EXACT
    return describe_view(replace(view, record=record, sides=sides), packing, exact=exact) | {
        "warnings": view.warnings,
        "grids": {
            found.kind: {"rows": found.grid[0], "columns": found.grid[1], "block": side_of_blocks(whole.grid)}
            for found, whole in zip(maps, view.record.maps, strict=True)
            if found.grid and whole.grid
        },
    }


def in_blocks(found: AttentionMap) -> AttentionMap:
    """Return a map over an image with blocks instead of cells where cells are too many; others as they are."""
    if not found.grid or (side := side_of_blocks(found.grid)) == 1:
        return found
    rows, columns = found.grid
    grid = -(-rows // side), -(-columns // side)
    place = torch.arange(rows)[:, None] // side * grid[1] + torch.arange(columns) // side
    merged = found.merged(range(len(found.queries)), place.flatten().tolist())
    return replace(merged, queries=found.queries, keys=cell_labels(grid, 0), grid=grid)
