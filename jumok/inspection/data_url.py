"""An image as text, which a page or a frame of a film can hold: a data URL."""

import base64
import io
from typing import Any

import numpy as np
from PIL import Image

LARGEST = 16_000_000  # pixels of an image that was kept
EXACT = 60_000  # characters of an image without loss; one that needs more is kept as a JPEG where that is shorter


def as_data_url(pixels: np.ndarray[Any, Any], *, exact: int = EXACT, longest: int = 0) -> str:
    """Return pixels (height, width, channels) as a PNG of at most so many characters, or else as a JPEG.

    longest is the side that a larger image is shrunk to; 0: it stays as large as it is.
    """
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    if longest and max(image.size) > longest:
        image.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    whole = _encoded(image, "png", optimize=True)
    return whole if len(whole) <= exact else min(whole, _encoded(image, "jpeg", quality=90), key=len)


def from_data_url(text: str) -> np.ndarray[Any, Any]:
    """Return the pixels of an image that as_data_url wrote; what is none is a ValueError."""
    try:
        image = Image.open(io.BytesIO(base64.b64decode(text.partition(",")[2])), formats=("PNG", "JPEG"))
        if image.width * image.height > LARGEST:
            raise ValueError(f"{image.width:,} × {image.height:,} pixels are more than {LARGEST:,}")
        return np.asarray(image)
    except Exception as error:  # decoders raise whatever they come upon
        raise ValueError(f"an image cannot be read: {error}") from None


def _encoded(image: Image.Image, kind: str, **options: Any) -> str:
    file = io.BytesIO()
    image.save(file, format=kind, **options)
    return f"data:image/{kind};base64,{base64.b64encode(file.getvalue()).decode('ascii')}"
