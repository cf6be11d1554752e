"""Codes of an image as colours: codes that say nearly the same are nearly of one colour, where codes have digits.

codes (h, w) → digits (h, w, E) → colours (h, w, 3); mere numbers → hues far apart
"""

import colorsys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# h, w rows and columns of codes · E digits of a code

GOLDEN = 0.6180339887498949  # of a turn: hues of numbers that follow each other are far apart
DARKEST, LIGHTEST = 40, 235  # of a channel, so that marks and numbers can be seen on every colour


def digits_of(codes: NDArray[Any], levels: Sequence[int]) -> NDArray[np.int64]:
    """Return the digits (…, E) of codes (…), the lowest first; levels says how many values each has."""
    places = np.cumprod([1, *levels[:-1]])
    digits: NDArray[np.int64] = np.asarray(codes)[..., None] // places % np.asarray(levels)
    return digits


def code_colours(codes: NDArray[Any], levels: Sequence[int]) -> NDArray[np.uint8]:
    """Return a colour (…, 3) for each code: its digits as red, green and blue, or a hue of its own without digits."""
    if not levels:
        numbers, places = np.unique(codes, return_inverse=True)
        hues = [colorsys.hsv_to_rgb(number * GOLDEN % 1.0, 0.55, 0.9) for number in numbers.tolist()]
        colours = np.rint(255 * np.asarray(hues))[places].reshape(*np.shape(codes), 3)
        return np.asarray(colours, dtype=np.uint8)
    shares = digits_of(codes, levels) / (np.asarray(levels) - 1)  # (…, E)
    channels = [
        shares[..., channel::3].mean(axis=-1) if channel < len(levels) else np.full(np.shape(codes), 0.5)
        for channel in range(3)
    ]
    return np.asarray(np.rint(DARKEST + (LIGHTEST - DARKEST) * np.stack(channels, axis=-1)), dtype=np.uint8)


def code_map(codes: NDArray[Any], levels: Sequence[int], side: int) -> NDArray[np.uint8]:
    """Return codes (h, w) as a square of colours with so many pixels a side: (S, S, 3)."""
    colours = code_colours(codes, levels)
    rows, columns = (np.arange(side) * count // side for count in codes.shape)
    return np.asarray(colours[rows][:, columns])
