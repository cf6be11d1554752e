"""One picture from bytes to pixels: any file that Pillow reads, of any size, as (size, size, channels) of 0 to 255.

bytes → opened, not yet decoded → too large? shrunk while reading, or refused → upright → grey or colour → square → pixels
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

Pixels = np.ndarray[Any, Any]  # (height, width) or (height, width, channels), uint8

LARGEST = 64_000_000  # pixels decoded at once: about 200 MB
MODES = {1: "L", 3: "RGB"}


class BrokenPictureError(Exception):
    """A picture that cannot be used; says why in a few words."""


@contextmanager
def our_own_limit() -> Iterator[None]:
    """Let Pillow open a picture of any size: none is decoded before its size has been looked at."""
    theirs, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        yield
    finally:
        Image.MAX_IMAGE_PIXELS = theirs


def open_picture(content: bytes | Path, *, least: int = 0) -> Image.Image:
    """Return an upright picture with its pixels decoded; one of huge size is shrunk while reading where it can be.

    least is the side below which it need not be kept sharp; 0 keeps all.
    """
    try:
        whole = content if isinstance(content, bytes) else content.read_bytes()
        with our_own_limit():
            picture: Image.Image = Image.open(io.BytesIO(whole))
        if least and picture.format == "JPEG":
            picture.draft(picture.mode, (least, least))  # decodes at a half, a quarter or an eighth
        if picture.width * picture.height > LARGEST:
            raise BrokenPictureError(
                f"{picture.width:,} × {picture.height:,} pixels are more than {LARGEST:,}; make it smaller"
            )
        picture.load()
    except MemoryError:
        raise BrokenPictureError("there is not enough memory to decode it; make it smaller") from None
    except UnidentifiedImageError:
        raise BrokenPictureError("no picture that can be read") from None
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, TypeError) as error:  # what decoders raise
        raise BrokenPictureError(str(error).splitlines()[0][:80] if str(error) else "cannot be decoded") from None
    return ImageOps.exif_transpose(picture)


def to_mode(picture: Image.Image, channels: int) -> Image.Image:
    """Return a picture as 8-bit grey or colour, on white where it was transparent."""
    if picture.mode.startswith("I") or picture.mode == "F":  # 16 bits and more
        values = np.asarray(picture, dtype=np.float64)
        top = 255.0 if picture.mode == "F" and values.max(initial=0.0) <= 255.0 else 65535.0
        picture = Image.fromarray((values / top * 255.0).clip(0, 255).round().astype(np.uint8))
    if "A" in picture.getbands() or "transparency" in picture.info:
        clear = picture.convert("RGBA")
        white = Image.new("RGBA", clear.size, "white")
        picture = Image.alpha_composite(white, clear)
    return picture.convert(MODES[channels])


def channels_of(picture: Image.Image) -> int:
    """Return 1 for a grey picture, 3 for any other."""
    return 1 if picture.mode in ("1", "L", "LA", "F") or picture.mode.startswith("I") else 3


def to_square(picture: Image.Image, size: int, fit: str) -> Image.Image:
    """Return a picture of size × size pixels: its middle, all of it squeezed, or all of it with a border."""
    if picture.size == (size, size):
        return picture
    filter_ = Image.Resampling.BICUBIC
    if fit == "squeeze":
        return picture.resize((size, size), filter_)
    if fit == "pad":
        return ImageOps.pad(picture, (size, size), filter_, color=0)
    return ImageOps.fit(picture, (size, size), filter_)


def to_pixels(picture: Image.Image, *, size: int, channels: int, fit: str) -> Pixels:
    """Return (size, size, channels) of a picture, 0 to 255."""
    square = to_square(to_mode(picture, channels), size, fit)
    return np.asarray(square, dtype=np.uint8).reshape(size, size, channels)
