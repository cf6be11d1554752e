"""The page of a drawing: point at a cell and the words it looked at light up, at a word and its cells do.

DrawingView → JSON, packed numbers, the image inside the page → lens/page/drawing.html, drawing.js → one text
"""

from collections.abc import Sequence
from typing import Any

from jumok.inspection.data_url import as_data_url
from jumok.lens.drawing_view import DrawingView
from jumok.lens.html import Page, assemble_page
from jumok.lens.image_page import DARK
from jumok.lens.packing import Packing

MOST_EXACT = 500_000  # weights of one drawing that a page keeps as they are; more are rounded
BITS = 11  # of a rounded weight: right to a 1,000th of the largest, which is as much as a shade shows
NOTHING_ELSE: dict[str, Any] = {"positions": (), "layers": (), "worth": (), "answers": (), "note": ""}
FOOTER = (
    "point at a cell or at a word, click or Enter pins it, arrow keys walk · each map has its own scale: brightest \
where the weight is largest"
)


def make_drawing_page(views: Sequence[DrawingView], *, words: bool | None = None, lang: str | None = None) -> Page:
    """Return the page of one or more drawings of a text; words and lang as in make_page."""
    packing = Packing()
    runs = [_describe(view, packing) for view in views]
    if words is None:
        words = not any(view.characters for view in views)
    return assemble_page(
        "drawing",
        title=views[0].text or "a drawing",
        data={"runs": runs, "words": words},
        packing=packing,
        footer=FOOTER,
        styles=("image", "caption", "drawing"),
        lang=lang,
    )


def _describe(view: DrawingView, packing: Packing) -> dict[str, Any]:
    """Return the JSON of one drawing, in the form of a text's run, so that it is read and chosen from likewise."""
    maps, cells = view.record.maps, view.codes.size
    rows, columns = view.grid
    exact = sum(found.weights.numel() for found in maps) <= MOST_EXACT
    after = view.words[-1] + 1
    sides = [
        {"name": "cells", "labels": maps[0].queries, "words": range(cells)},
        {"name": "words and earlier cells", "labels": maps[0].keys, "words": [*view.words, *range(after, after + cells)]},
    ]  # fmt: skip
    shares = view.probabilities.flatten().tolist()
    return {
        "name": view.name or "drawing",
        "source": "",
        "answer": view.text,
        "output": 0,
        "sides": [side | {"words": list(side["words"])} for side in sides],
        "maps": [
            {
                "path": found.path,
                "kind": found.kind,
                "layer": found.layer,
                "queries": 0,
                "keys": 1,
                "weights": packing.exact(found.weights) if exact else packing.rounded(found.weights, BITS),
                "details": None,
            }
            for found in maps
        ],
        "choices": [
            {"token": str(code), "probability": share, "rivals": [(str(other), likely) for other, likely in rivals]}
            for code, share, rivals in zip(view.codes.flatten().tolist(), shares, view.rivals, strict=True)
        ],
        "characters": view.characters,
        "image": as_data_url(view.pixels),
        "height": view.pixels.shape[0],
        "width": view.pixels.shape[1],
        "dark": bool(view.pixels.mean() < DARK),
        "grids": {found.kind: {"rows": rows, "columns": columns, "block": 1} for found in maps[:1]},
        "tokens": len(view.tokens),
        "guidance": view.guidance,
        "given": view.given,
        **NOTHING_ELSE,
    }
