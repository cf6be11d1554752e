"""The page of image codes: point at a cell and see its code, what it tells, and where else it is used.

CodesView → JSON, images inside the page → lens/page/codes.html, codes.js → one text
"""

from collections.abc import Sequence
from typing import Any

from jumok.inspection.data_url import as_data_url
from jumok.lens.code_map import code_colours
from jumok.lens.codes_view import CodesView
from jumok.lens.html import Page, assemble_page
from jumok.lens.packing import Packing

FOOTER = "point at a cell of any of the three images, click or Enter pins it, arrow keys walk"


def make_codes_page(views: Sequence[CodesView], *, lang: str | None = None) -> Page:
    """Return the page of one or more images in codes, of one or more runs; lang as in make_page."""
    several = len({view.name for view in views}) > 1
    title = " · ".join(filter(None, [views[0].source, "" if several else views[0].name])) or "an image"
    return assemble_page(
        "codes",
        title=title,
        data={"views": [_describe(view) for view in views], "several": several},
        packing=Packing(),
        footer=FOOTER,
        styles=("image", "codes"),
        lang=lang,
    )


def _describe(view: CodesView) -> dict[str, Any]:
    rows, columns = view.codes.shape
    return {
        "name": view.name,
        "source": view.source,
        "image": as_data_url(view.pixels),
        "seen": as_data_url(view.seen),
        "side": len(view.pixels),
        "rows": rows,
        "columns": columns,
        "codes": view.codes.ravel().tolist(),
        "colours": [f"rgb({red} {green} {blue})" for red, green, blue in code_colours(view.codes.ravel(), view.levels)],
        "levels": list(view.levels),
        "count": view.count,
        "psnr": view.psnr,
        "ssim": view.ssim,
    }
