"""How like two images are: PSNR, SSIM, and how many codes of a vocabulary are put to use.

images (B, S, S, C) of 0 to 255, twice → psnr, ssim (B,); codes (N,) → share used, bits per code
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# B images · S side · C channels

WINDOW, SPREAD = 11, 1.5  # of the Gaussian window of SSIM (Wang et al. 2004)
FLAT = (0.01 * 255) ** 2, (0.03 * 255) ** 2  # what keeps a quotient of SSIM finite: the paper's C₁ and C₂
BEST = 100.0  # dB of equal images, whose PSNR has no end


def psnr(images: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    """Return the peak signal-to-noise ratio of each pair of images, in dB: (B,)."""
    difference = images.astype(np.float64) - others.astype(np.float64)
    error = (difference**2).mean(axis=(1, 2, 3))
    found: NDArray[np.float64] = np.minimum(10 * np.log10(255.0**2 / np.maximum(error, 1e-12)), BEST)
    return found


def ssim(images: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    """Return the structural similarity of each pair of images, the mean over places and channels: (B,)."""
    x, y = (part.astype(np.float64) for part in (images, others))
    mean_x, mean_y = _blurred(x), _blurred(y)
    spread_x, spread_y = _blurred(x * x) - mean_x**2, _blurred(y * y) - mean_y**2
    together = _blurred(x * y) - mean_x * mean_y
    light, structure = FLAT
    above = (2 * mean_x * mean_y + light) * (2 * together + structure)
    below = (mean_x**2 + mean_y**2 + light) * (spread_x + spread_y + structure)
    found: NDArray[np.float64] = (above / below).mean(axis=(1, 2, 3))
    return found


def _blurred(images: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return images (B, S', S', C) under the Gaussian window, where it lies wholly inside."""
    size = min(WINDOW, images.shape[1])
    weights = np.exp(-((np.arange(size) - (size - 1) / 2) ** 2) / (2 * SPREAD**2))
    weights /= weights.sum()
    for axis in (1, 2):
        views = np.lib.stride_tricks.sliding_window_view(images, size, axis=axis)
        images = views @ weights
    return images


def code_use(codes: NDArray[Any], count: int) -> tuple[float, float]:
    """Return the share of count codes that occur in codes, and the entropy of their frequencies in bits."""
    frequencies = np.bincount(np.asarray(codes).ravel(), minlength=count) / max(np.asarray(codes).size, 1)
    there = frequencies[frequencies > 0]
    return len(there) / count, float(-(there * np.log2(there)).sum())
