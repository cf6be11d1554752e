"""Images and their codes as a PNG: one row per image, the image, what its codes tell, and the codes with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.lens.code_map import code_colours
from jumok.lens.codes_view import CodesView
from jumok.lens.figure import FONTS, installed, plain, save_png
from jumok.texts import localized

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIDE = 3.0  # inches of an image
MOST_NUMBERS = 16  # rows or columns of codes beyond which their numbers cannot be read
DARK = 140  # mean of a colour below which a number on it is white


def save_codes(views: Sequence[CodesView], path: Path) -> None:
    """Save images, what their codes tell and the codes as a PNG."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"font.family": installed(FONTS)}):
        figure = Figure(figsize=(3 * SIDE + 0.4, len(views) * (SIDE + 0.35)), dpi=150, layout="constrained")
        for view, row in zip(views, figure.subplots(len(views), 3, squeeze=False), strict=True):
            for axes, pixels, title in zip(row, view.images, view.titles, strict=True):
                grey = pixels.shape[2] == 1
                axes.imshow(pixels[..., 0] if grey else pixels, cmap="gray" if grey else None, vmin=0, vmax=255)
                axes.set_title(plain(localized(title)), fontsize=8, color="#555555")
                axes.set_axis_off()
            if max(view.codes.shape) <= MOST_NUMBERS:
                _number(row[2], view)
        save_png(figure, path)


def _number(axes: Axes, view: CodesView) -> None:
    """Write the number of each code on its cell."""
    rows, columns = view.codes.shape
    colours, side = code_colours(view.codes, view.levels), len(view.pixels)
    for row in range(rows):
        for column in range(columns):
            axes.text(
                (column + 0.5) * side / columns - 0.5,
                (row + 0.5) * side / rows - 0.5,
                str(view.codes[row, column]),
                ha="center",
                va="center",
                fontsize=60 / max(columns, len(str(view.count)) * 4),
                color="white" if colours[row, column].mean() < DARK else "black",
            )
