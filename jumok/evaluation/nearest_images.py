"""Is it copied? The nearest of many images to each of some, by their pixels.

train (N, S, S, C), memory-mapped → means of blocks (N, T, T, C), and how far each image is from its own means
image → bound of its distance from each training image → those that can be nearest, the likeliest first → the nearest

With m the distance of two images' means of blocks, and a, b how far each is from its own means, the distance d of the
images has d² = m² + |a⃗ − b⃗|² ≥ m² + (a − b)²: most training images are ruled out without looking at their pixels.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# N training images · M images · S side · T side in blocks · C channels

CHUNK = 512  # training images that are looked at together: a bound on memory
MOST_BLOCKS = 16  # a side
CANDIDATES = 32  # training images whose pixels are compared before bounds are looked at again
ROUNDING = 0.5  # of squared distances of means in float32, which may not rule out the nearest


class Nearest(NamedTuple):
    """The nearest training image of each image."""

    numbers: NDArray[np.int64]  # (M,)
    distances: NDArray[np.float64]  # (M,) root of the mean squared difference of pixels, 0 to 255


class TrainingImages:
    """Training images, made ready to be searched for the nearest."""

    def __init__(self, pixels: NDArray[Any], groups: Sequence[str] = ()) -> None:
        """Take images (N, S, S, C) of 0 to 255, which may be memory-mapped, and the group of each, '' where it has none."""
        assert len(pixels), "there is something to compare with"
        self.pixels = pixels
        self.groups = list(groups) or [""] * len(pixels)  # (N,)
        assert len(self.groups) == len(pixels), "each image has its group"
        parts = [_blocks(pixels[first : first + CHUNK]) for first in range(0, len(pixels), CHUNK)]
        self._means = np.concatenate([means for means, _ in parts])
        self._residues = np.concatenate([residues for _, residues in parts])

    def nearest(self, images: NDArray[Any]) -> Nearest:
        """Return the nearest training images to images (M, S, S, C)."""
        assert images.shape[1:] == self.pixels.shape[1:], "all images have one shape"
        means, residues = _blocks(images)
        squares = np.einsum("nd,nd->n", self._means, self._means)
        found = []
        for image, mean, residue in zip(images, means, residues, strict=True):
            bounds = squares + mean @ mean - 2 * (self._means @ mean)  # (N,), a sum over blocks and channels
            bounds = bounds / len(mean) + (self._residues - residue) ** 2 - ROUNDING
            found.append(self._nearest(image.astype(np.float64), bounds))
        return Nearest(np.array([number for number, _ in found]), np.sqrt([square for _, square in found]))

    def _nearest(self, image: NDArray[np.float64], bounds: NDArray[Any]) -> tuple[int, float]:
        """Return the number and the squared distance of the nearest image, none of which is nearer than its bound."""
        best, number = np.inf, -1
        order = np.argsort(bounds)
        for first in range(0, len(order), CANDIDATES):
            if bounds[order[first]] > best:
                break
            some = np.sort(order[first : first + CANDIDATES])  # in the order of the file
            differences = self.pixels[some].astype(np.float64) - image
            distances = (differences**2).mean(axis=(1, 2, 3))
            place = int(distances.argmin())
            if distances[place] < best:
                best, number = float(distances[place]), int(some[place])
        return number, best


def nearer_than(distances: NDArray[Any], yardstick: NDArray[Any], percentile: float = 1.0) -> float:
    """Return the share of distances, per cent, below a percentile of others; as many as that lie there by chance."""
    return 100.0 * float((distances < np.percentile(yardstick, percentile)).mean())


def _blocks(images: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the means of blocks (B, T · T · C), less 128, of images (B, S, S, C), and the RMSE of each from its means (B,)."""
    count, side, _, channels = images.shape
    blocks = max(number for number in range(1, min(side, MOST_BLOCKS) + 1) if side % number == 0)
    size = side // blocks
    values = np.asarray(images, dtype=np.float32).reshape(count, blocks, size, blocks, size, channels) - np.float32(128)
    means = values.mean(axis=(2, 4), keepdims=True)
    residues = np.sqrt(((values - means) ** 2).mean(axis=(1, 2, 3, 4, 5)))
    return means.reshape(count, -1), residues
