"""Images on a terminal, side by side, in coloured half blocks: a character is two pixels, one above the other.

images (h, w, C) → shrunk to the columns there are → ▀ in the upper pixel's colour on the lower pixel's → labels below
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image
from rich.cells import cell_len, set_cell_size
from rich.color import Color
from rich.style import Style
from rich.text import Text

from jumok.lens.contact_sheet import Pixels, in_colour
from jumok.lens.terminal import Drawing

GAP = 2  # columns between images
MOST_IN_A_ROW = 4  # images, so that each has room to be seen
NARROWEST = 8  # columns of an image
HEADROOM = 4  # lines that an image leaves for the prompt and what stands around it
PIPE = 80  # columns where nobody says how many


@dataclass(frozen=True)
class ImageBlocks(Drawing):
    """Images of one size, each with a label; an image that is not finished has its first rows alone."""

    images: Sequence[Pixels]  # (h, w, C), h ≤ w
    labels: Sequence[str]
    lines: int = 0  # of the terminal: no image is higher; 0: any height

    def fitted(self, width: int | None) -> Text:
        """Return the images in rows of at most so many columns; None: 80."""
        size = self._size(width or PIPE)
        each = max(((width or PIPE) + GAP) // (size + GAP), 1)
        drawing = Text()
        for first in range(0, len(self.images), each):
            some = slice(first, first + each)
            drawing.append(_row([_shrunk(image, size) for image in self.images[some]], size))
            drawing.append(_labels(self.labels[some], size))
            drawing.append("\n")
        drawing.right_crop(1)  # a line ends when it is printed
        return drawing

    def _size(self, width: int) -> int:
        """Return how many columns each image has: as many as it has pixels, where there is room."""
        columns = (width + GAP) // min(len(self.images), MOST_IN_A_ROW) - GAP
        room = min(columns, 2 * (self.lines - HEADROOM)) if self.lines else columns
        return min(int(self.images[0].shape[1]), max(room - room % 2, NARROWEST))


def _shrunk(image: Pixels, size: int) -> Pixels:
    """Return an image (h, w, C) in colour, size pixels wide; its height is even where it is finished."""
    height = round(image.shape[0] * size / image.shape[1])
    if not height:
        return np.zeros((0, size, 3), dtype=np.uint8)
    return np.asarray(Image.fromarray(in_colour(image)).resize((size, height), Image.Resampling.BOX))


def _row(images: Sequence[Pixels], size: int) -> Text:
    """Return images side by side; what is not drawn yet is blank."""
    row = Text()
    for top in range(0, size, 2):
        for number, image in enumerate(images):
            row.append(" " * GAP if number else "")
            upper, lower = image[top : top + 1], image[top + 1 : top + 2]
            if not len(upper):
                row.append(" " * size)
                continue
            below = lower[0].tolist() if len(lower) else [None] * size
            for above, under in zip(upper[0].tolist(), below, strict=True):
                ground = None if under is None else Color.from_rgb(*under)
                row.append("▀", style=Style(color=Color.from_rgb(*above), bgcolor=ground))
        row.append("\n")
    return row


def _labels(labels: Sequence[str], size: int) -> Text:
    """Return labels below their images, each broken into lines no wider than its image."""
    broken = [_lines(label, size) for label in labels]
    found = Text(style="dim")
    for number in range(max(map(len, broken))):
        parts = [set_cell_size(lines[number] if number < len(lines) else "", size) for lines in broken]
        found.append((" " * GAP).join(parts).rstrip() + "\n")
    return found


def _lines(label: str, size: int) -> list[str]:
    """Return a label in lines of at most so many columns; a longer word is cut and ends in …"""
    lines: list[str] = []
    for part in label.split("\n"):
        line = ""
        for word in part.split():
            word = word if cell_len(word) <= size else set_cell_size(word, size - 1) + "…"
            if line and cell_len(line) + 1 + cell_len(word) > size:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}".strip()
        lines.append(line)
    return lines
