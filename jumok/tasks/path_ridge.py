"""The ridge regression of paths: from where somebody was to where they will be, x and y together, in the data's units.

windows → positions (n, 2 L) and what came (n, 2 H), both seen from the last position → weights (2 L, 2 H), without a bias:
who stands still is not carried away
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from jumok.evaluation.forecasts import Values

# n windows · L look-back · H horizon

PENALTY = 1e-5  # of the mean square of the inputs, summed: so that the equations can be solved


@dataclass(frozen=True)
class PathRidge:
    """A linear forecast of paths."""

    weight: Values  # (2 L, 2 H)

    def forecast(self, past: Values) -> Values:
        """Return (n, H, 2) of positions (n, L, 2)."""
        last = past[:, -1:]
        found = (past - last).reshape(len(past), -1) @ self.weight
        return found.reshape(len(past), -1, 2) + last


def fit_path_ridge(
    paths: Iterable[tuple[Values, Values]], progress: Callable[[int], None] = lambda done: None
) -> PathRidge:
    """Return the regression of positions (n, L, 2) and what came (n, H, 2), chunk by chunk; unfinished ones do not count."""
    squares = products = np.zeros(())
    for past, future in paths:
        last = past[:, -1:]
        whole = ~np.isnan(future).any(axis=(1, 2))
        inputs = (past - last).reshape(len(past), -1)[whole]
        outputs = (future - last).reshape(len(future), -1)[whole]
        squares, products = squares + inputs.T @ inputs, products + inputs.T @ outputs
        progress(len(past))
    penalty = max(PENALTY * float(np.trace(squares)) / len(squares), np.finfo(float).tiny)
    weight = np.linalg.lstsq(squares + penalty * np.eye(len(squares)), products, rcond=None)[0]
    return PathRidge(np.asarray(weight, dtype=np.float64))
