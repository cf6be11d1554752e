"""The page of drawings: each image with its seed, and what a reader saw in it.

DrawnView … → JSON with a PNG of each → lens/page/drawn.html, drawn.js → one text
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jumok.lens.contact_sheet import Pixels
from jumok.lens.html import Page, assemble_page
from jumok.lens.image_page import png_of
from jumok.lens.packing import Packing

FOOTER = "the seed under a drawing draws it again: --seed N --samples 1"


@dataclass(frozen=True, eq=False)
class DrawnView:
    """A drawing as it is shown."""

    text: str
    pixels: Pixels  # (h, w, C)
    seed: int
    seen: str = ""  # by a reader; "": nobody looked


def make_drawn_page(
    views: Sequence[DrawnView],
    *,
    run: str = "",
    options: Mapping[str, float] | None = None,
    given_rows: int = 0,
    lang: str | None = None,
) -> Page:
    """Return the page of drawings by one run, those of a text together; options are told, lang as in make_page."""
    drawings = [
        {"text": view.text, "image": png_of(view.pixels), "seed": view.seed, "seen": view.seen} for view in views
    ]
    data = {"drawings": drawings, "run": run, "options": dict(options or {}), "given": given_rows}
    title = views[0].text or run
    return assemble_page(
        "drawn", title=title, data=data, packing=Packing(), footer=FOOTER, styles=("drawn",), lang=lang
    )
