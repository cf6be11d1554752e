"""Images as PNG: one enlarged so that its pixels can be seen, or many on one sheet.

images (h, w, C) → rows of them, each enlarged by a whole factor → one image, whole or not at all in its file
"""

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from jumok.writing import write_bytes

Pixels = np.ndarray[Any, Any]  # (h, w, channels), uint8
SHOWN = 192  # pixels that an image is about wide on a sheet
WIDEST = 4096  # pixels of a sheet that images are enlarged to
GAP = 2  # pixels between images, before they are enlarged
PAPER = 255


def in_colour(pixels: Pixels) -> Pixels:
    """Return an image (h, w, C) with three channels."""
    return np.broadcast_to(pixels, (*pixels.shape[:2], 3)).copy() if pixels.shape[2] == 1 else pixels


def in_square(images: Sequence[Pixels]) -> list[Sequence[Pixels]]:
    """Return images in rows that make a sheet nearly square."""
    columns = math.ceil(math.sqrt(len(images)))
    return [images[first : first + columns] for first in range(0, len(images), columns)]


def contact_sheet(rows: Sequence[Sequence[Pixels]]) -> Image.Image:
    """Return rows of images of one size on one sheet of white paper, thin gaps between them."""
    height, width = rows[0][0].shape[:2]
    across = max(map(len, rows))
    sheet = np.full((_length(len(rows), height), _length(across, width), 3), PAPER, dtype=np.uint8)
    for row, images in enumerate(rows):
        for column, image in enumerate(images):
            top, left = GAP + row * (height + GAP), GAP + column * (width + GAP)
            sheet[top : top + height, left : left + width] = in_colour(image)
    factor = max(min(round(SHOWN / width), WIDEST // max(sheet.shape[:2])), 1)
    return Image.fromarray(sheet.repeat(factor, axis=0).repeat(factor, axis=1))


def _length(count: int, side: int) -> int:
    return GAP + count * (side + GAP)


def enlarged(pixels: Pixels) -> Image.Image:
    """Return one image with each of its pixels repeated, large enough to be looked at."""
    factor = max(round(SHOWN / pixels.shape[1]), 1)
    return Image.fromarray(in_colour(pixels).repeat(factor, axis=0).repeat(factor, axis=1))


def png_bytes(image: Image.Image) -> bytes:
    """Return the content of a PNG file."""
    file = io.BytesIO()
    image.save(file, format="PNG")
    return file.getvalue()


def save_sheet(rows: Sequence[Sequence[Pixels]], path: Path) -> None:
    """Write a sheet as a PNG, whole or not at all."""
    write_bytes(path, png_bytes(contact_sheet(rows)), name=f"--png {path}")
