"""One image from bytes to pixels: a file of one of FORMATS, of any size, as (size, size, channels) of 0 to 255.

bytes → opened, not yet decoded → too large? shrunk while reading, or refused → upright → grey or colour → square → pixels
"""

import io
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

Pixels = np.ndarray[Any, Any]  # (height, width) or (height, width, channels), uint8

logging.getLogger("PIL").addHandler(logging.NullHandler())  # else Python prints what Pillow says of damaged images

LARGEST = 64_000_000  # pixels decoded at once: about 200 MB
FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF", "PPM")  # no other is opened: PostScript would run a program
UPRIGHT = {  # what undoes each orientation of Exif
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
MODES = {1: "L", 3: "RGB"}


class BrokenImageError(Exception):
    """An image that cannot be used; says why in a few words."""


@contextmanager
def our_own_limit() -> Iterator[None]:
    """Let Pillow open an image of any size: none is decoded before its size has been looked at. It warns of nothing."""
    theirs, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Exif that cannot be read, above all
            yield
    finally:
        Image.MAX_IMAGE_PIXELS = theirs


def open_image(content: bytes | Path, *, least: int = 0) -> Image.Image:
    """Return an upright image with its pixels decoded; one of huge size is shrunk while reading where it can be.

    least is the side below which it need not be kept sharp; 0 keeps all.
    """
    with refuse_broken(), our_own_limit():
        whole = content if isinstance(content, bytes) else content.read_bytes()
        image: Image.Image = Image.open(io.BytesIO(whole), formats=FORMATS)
        if least and image.format == "JPEG":
            image.draft(image.mode, (least, least))  # decodes at a half, a quarter or an eighth
        if image.width * image.height > LARGEST:
            raise BrokenImageError(
                f"{image.width:,} × {image.height:,} pixels are more than {LARGEST:,}; make it smaller"
            )
        with unheard() if image.format == "TIFF" else nullcontext():
            image.load()
        return _upright(image)


@contextmanager
def unheard() -> Iterator[None]:
    """Keep what a library in C prints of a damaged image from the terminal: libtiff writes on its own."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def refuse_broken() -> Iterator[None]:
    """Turn whatever decoders raise into a BrokenImageError that says why in a few words."""
    try:
        yield
    except BrokenImageError:
        raise
    except MemoryError:
        raise BrokenImageError("there is not enough memory to decode it; make it smaller") from None
    except UnidentifiedImageError:
        raise BrokenImageError("no image that can be read") from None
    except OSError as error:
        raise BrokenImageError(_shortened(error.strerror or str(error))) from None
    except Exception as error:  # each of Pillow's formats raises what it comes upon
        raise BrokenImageError(_shortened(str(error))) from None


def _shortened(why: str) -> str:
    return why.splitlines()[0][:80] if why else "cannot be decoded"


def _upright(image: Image.Image) -> Image.Image:
    """Return an image as its Exif says that it was taken; where that is broken, as it is: the pixels are good."""
    try:
        orientation = image.getexif().get(ExifTags.Base.Orientation)
    except Exception:  # Exif is a small TIFF of its own, with all that can be wrong with one
        return image
    method = UPRIGHT.get(orientation) if isinstance(orientation, int) else None
    return image if method is None else image.transpose(method)


@refuse_broken()
def to_mode(image: Image.Image, channels: int) -> Image.Image:
    """Return an image as 8-bit grey or colour, on white where it was transparent."""
    if image.mode.startswith("I") or image.mode == "F":  # 16 bits and more
        values = np.nan_to_num(np.asarray(image, dtype=np.float64))
        top = 255.0 if image.mode == "F" and values.max(initial=0.0) <= 255.0 else 65535.0
        image = Image.fromarray((values / top * 255.0).clip(0, 255).round().astype(np.uint8))
    if "A" in image.getbands() or "transparency" in image.info:
        clear = image.convert("RGBA")
        white = Image.new("RGBA", clear.size, "white")
        image = Image.alpha_composite(white, clear)
    return image.convert(MODES[channels])


def channels_of(image: Image.Image) -> int:
    """Return 1 for a grey image, 3 for any other."""
    return 1 if image.mode in ("1", "L", "LA", "F") or image.mode.startswith("I") else 3


@refuse_broken()
def to_square(image: Image.Image, size: int, fit: str) -> Image.Image:
    """Return an image of size × size pixels: its middle, all of it squeezed, or all of it with a border."""
    if image.size == (size, size):
        return image
    filter_ = Image.Resampling.BICUBIC
    if fit == "squeeze":
        return image.resize((size, size), filter_)
    if fit == "pad":
        return ImageOps.pad(image, (size, size), filter_, color=0)
    return ImageOps.fit(image, (size, size), filter_)


def to_pixels(image: Image.Image, *, size: int, channels: int, fit: str) -> Pixels:
    """Return (size, size, channels) of an image, 0 to 255."""
    square = to_square(to_mode(image, channels), size, fit)
    return np.asarray(square, dtype=np.uint8).reshape(size, size, channels)
