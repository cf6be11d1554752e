"""Fréchet distance of two sets of images, on any model's features (Dowson & Landau 1982, Heusel et al. 2017).

features (N, D), (M, D) → Gaussians of equal mean and covariance → squared distance |μ − ν|² + tr(S + T − 2 (S T)^½)

Its value means something only beside others on the same features with as many images: fewer images lie farther away.
It is no FID, which is on the features of Inception-v3.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# N, M images · D width of their features


def frechet_distance(features: NDArray[Any], others: NDArray[Any]) -> float:
    """Return the squared Fréchet distance between the Gaussians of two sets of features (N, D) and (M, D)."""
    assert len(features) > 1 < len(others), "a covariance needs two images of each set"
    one, two = (np.asarray(part, dtype=np.float64) for part in (features, others))
    apart = one.mean(axis=0) - two.mean(axis=0)
    root, other_root = _covariance_root(one), _covariance_root(two)
    # With S = AᵀA and T = BᵀB the trace of (S T)^½ is the sum of the singular values of A Bᵀ: no root of a matrix that
    # rounding has made indefinite.
    together = np.linalg.svd(root @ other_root.T, compute_uv=False).sum()
    return float(max(apart @ apart + (root**2).sum() + (other_root**2).sum() - 2 * together, 0.0))


def _covariance_root(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a matrix A (at most D, D) with AᵀA the covariance of features (N, D)."""
    centred = (features - features.mean(axis=0)) / np.sqrt(len(features) - 1)
    return np.asarray(np.linalg.qr(centred, mode="r")) if len(centred) > centred.shape[1] else centred
