"""Student's t: how likely a value is to lie farther out, and the value at a level.

With x = √f · tan θ the density becomes cos θ to the power f − 1, which Simpson's rule integrates.
"""

import numpy as np

POINTS = 2001  # of an integral, an odd number
FAR = 40.0  # deviations beyond which nothing is left, where f is large
HALVINGS = 60


def tail(x: float, freedom: float) -> float:
    """Return the probability above x ≥ 0, by degrees of freedom."""
    end = min(np.pi / 2, FAR / np.sqrt(freedom))
    whole = _integral(0.0, end, freedom)
    return float(_integral(min(float(np.arctan(x / np.sqrt(freedom))), end), end, freedom) / whole / 2)


def quantile(level: float, freedom: float) -> float:
    """Return the value at a level between 0 and 1."""
    wanted, low, high = min(level, 1 - level), 0.0, 1.0
    while tail(high, freedom) > wanted:
        high *= 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle, freedom) > wanted else (low, middle)
    return (low + high) / 2 * (1 if level > 0.5 else -1)


def _integral(begin: float, end: float, freedom: float) -> float:
    angles = np.linspace(begin, end, POINTS)
    weights = np.ones(POINTS)
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    return float((weights * np.cos(angles) ** (freedom - 1)).sum() * (end - begin) / (POINTS - 1) / 3)
