"""Is it copied? The nearest of many images to each of some, by their pixels.

images (M, S, S, C), train (N, S, S, C), memory-mapped → a chunk of train at a time → number and distance (M,) of the nearest
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# M images · N training images · P pixels times channels

CHUNK = 512  # training images that are compared at once: a bound on memory
MIDDLE = 128.0  # taken from every pixel: products of small numbers round less


class Nearest(NamedTuple):
    """The nearest training image of each image."""

    numbers: NDArray[np.int64]  # (M,)
    distances: NDArray[np.float64]  # (M,) root of the mean squared difference of pixels, 0 to 255


def nearest_images(
    images: NDArray[Any], train: NDArray[Any], *, progress: Callable[[int], None] = lambda done: None
) -> Nearest:
    """Return the nearest training images (N, S, S, C) to images (M, S, S, C); progress is told training images done."""
    if images.shape[1:] != train.shape[1:]:
        raise ValueError(f"images of shape {images.shape[1:]} are compared with images of shape {train.shape[1:]}")
    if not len(train):
        raise ValueError("there are no training images to compare with")
    ours = _flat(images)  # (M, P)
    best = np.full(len(images), np.inf, dtype=np.float32)
    numbers = np.zeros(len(images), dtype=np.int64)
    for first in range(0, len(train), CHUNK):
        theirs = _flat(train[first : first + CHUNK])
        # Squared distances without the part that is the same for every training image, (M, n).
        squares = np.einsum("np,np->n", theirs, theirs) - 2 * (ours @ theirs.T)
        chosen = squares.argmin(axis=1)
        found = squares[np.arange(len(images)), chosen]
        nearer = found < best
        best, numbers = np.where(nearer, found, best), np.where(nearer, chosen + first, numbers)
        progress(len(theirs))
    return Nearest(numbers, _distances(images, train[numbers]))


def nearer_than(distances: NDArray[Any], yardstick: NDArray[Any], percentile: float = 1.0) -> float:
    """Return the share of distances, per cent, below a percentile of others; as many as that lie there by chance."""
    return 100.0 * float((distances < np.percentile(yardstick, percentile)).mean())


def _flat(images: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(images, dtype=np.float32).reshape(len(images), -1) - np.float32(MIDDLE)


def _distances(images: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    """Return the distance of each pair of images exactly: 0 means equal."""
    found = [
        np.sqrt(((one.astype(np.float64) - other.astype(np.float64)) ** 2).mean())
        for one, other in zip(images, others, strict=True)
    ]
    return np.array(found)
