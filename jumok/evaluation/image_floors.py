"""What image codes must be seen beside: images that tell as little as possible, scored as reconstructions are.

images (B, S, S, C) → one colour for all; each shrunk to the grid of codes and enlarged again → psnr, ssim
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from jumok.evaluation.image_likeness import psnr, ssim

# B images · S side · C channels

AT_ONCE = 256  # images


def floors(images: NDArray[Any], *, mean: Sequence[float], grid: tuple[int, int]) -> dict[str, dict[str, float]]:
    """Return PSNR and SSIM of images that are one colour (a mean of 0 to 1), and of images of as many pixels as codes."""
    colour = np.rint(255 * np.asarray(mean)).astype(np.uint8)
    found: dict[str, list[tuple[float, float]]] = {"shrunk": [], "one_colour": []}
    for first in range(0, len(images), AT_ONCE):
        some = images[first : first + AT_ONCE]
        others = {"shrunk": shrunk(some, grid), "one_colour": np.broadcast_to(colour, some.shape)}
        for name, other in others.items():
            found[name] += zip(psnr(some, other).tolist(), ssim(some, other).tolist(), strict=True)
    return {
        name: dict(zip(("psnr", "ssim"), np.mean(scores, axis=0).tolist(), strict=True))
        for name, scores in found.items()
    }


def shrunk(images: NDArray[Any], grid: tuple[int, int]) -> NDArray[np.uint8]:
    """Return images (B, S, S, C) of which a grid of rows and columns of pixels is left, enlarged to their size again."""
    return np.stack([_shrunk(image, grid) for image in images])


def _shrunk(image: NDArray[Any], grid: tuple[int, int]) -> NDArray[np.uint8]:
    rows, columns = grid
    whole = Image.fromarray(image[..., 0] if image.shape[2] == 1 else image)
    small = whole.resize((columns, rows), Image.Resampling.BICUBIC)
    return np.asarray(small.resize(whole.size, Image.Resampling.BICUBIC)).reshape(image.shape)
