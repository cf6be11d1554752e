"""How like two images are: PSNR, SSIM, and how many codes of a vocabulary are put to use.

images (B, S, S, C) of 0 to 255, twice → psnr, ssim (B,); codes (N,) → share used, bits per code
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

# B images · S side · C channels

WINDOW, SPREAD = 11, 1.5  # of the Gaussian window of SSIM (Wang et al. 2004)
FLAT = (0.01 * 255) ** 2, (0.03 * 255) ** 2  # what keeps a quotient of SSIM finite: the paper's C₁ and C₂
GREY = np.float32(127.5)
AT_ONCE = 32  # images: what fits into a processor's cache
BEST = 100.0  # dB of equal images, whose PSNR has no end


def psnr(images: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    """Return the peak signal-to-noise ratio of each pair of images, in dB: (B,)."""
    difference = images.astype(np.float64) - others.astype(np.float64)
    error = (difference**2).mean(axis=(1, 2, 3))
    found: NDArray[np.float64] = np.minimum(10 * np.log10(255.0**2 / np.maximum(error, 1e-12)), BEST)
    return found


def ssim(images: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    """Return the structural similarity of each pair of images, the mean over places and channels: (B,)."""
    found = [
        _ssim(images[first : first + AT_ONCE], others[first : first + AT_ONCE])
        for first in range(0, len(images), AT_ONCE)
    ]
    return np.concatenate(found) if found else np.zeros(0)


def _ssim(images: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    # Grey in the middle counts as 0: squares are small then, so that 32 bits suffice for their differences.
    x, y = (part.transpose(0, 3, 1, 2).astype(np.float32) - GREY for part in (images, others))
    mean_x, mean_y = _blurred(x), _blurred(y)
    spread = _blurred(x * x + y * y) - mean_x**2 - mean_y**2
    together = _blurred(x * y) - mean_x * mean_y
    light, structure = FLAT
    mean_x, mean_y = mean_x + GREY, mean_y + GREY
    above = (2 * mean_x * mean_y + light) * (2 * together + structure)
    below = (mean_x**2 + mean_y**2 + light) * (spread + structure)
    found: NDArray[np.float64] = (above / below).mean(axis=(1, 2, 3), dtype=np.float64)
    return found


def _blurred(images: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return images (B, C, S', S') under the Gaussian window, where it lies wholly inside."""
    window = _window(images.shape[2])  # of rows and of columns: a product of matrices each
    blurred: NDArray[np.float32] = window @ (images @ window.T)
    return blurred


@lru_cache(maxsize=8)
def _window(side: int) -> NDArray[np.float32]:
    """Return the window's weights at each place (S', S)."""
    size = min(WINDOW, side)
    weights = np.exp(-((np.arange(size) - (size - 1) / 2) ** 2) / (2 * SPREAD**2))
    places = side - size + 1
    window = np.zeros((places, side), np.float32)
    window[np.arange(places)[:, None], np.arange(places)[:, None] + np.arange(size)] = weights / weights.sum()
    return window


def code_use(codes: NDArray[Any], count: int) -> tuple[float, float]:
    """Return the share of count codes that occur in codes, and the entropy of their frequencies in bits."""
    frequencies = np.bincount(np.asarray(codes).ravel(), minlength=count) / max(np.asarray(codes).size, 1)
    there = frequencies[frequencies > 0]
    return len(there) / count, float(-(there * np.log2(there)).sum())
