"""The ridge regression that forecasts are measured against, and that a forecaster may begin from: in closed form.

windows → what was (n, L) and what came (n, H), each from the last value on, all variables alike → sums of products
        → weights (H, L); of paths, x and y together: weights (2 H, 2 L)

It has no bias: a window that stands still is forecast to stay. Its penalty grows with the number of examples.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from jumok.data.series.windows import Windows
from jumok.nn.window_norm import ridge_forecast, ridge_inputs

# n examples · L look-back · H horizon · V targets

PENALTY, OF_PATHS = 0.05, 1e-5  # of each example, where a recipe does not say
MOST_WINDOWS = 50_000  # that are read; of more, so many at even distances
CHUNK = 1024  # windows at a time


@dataclass(frozen=True)
class Ridge:
    """A linear forecast."""

    weight: Tensor  # (H, L), the same for all variables; (H · V, L · V): of all together
    relative: bool  # whether the past is steps, and their sum is forecast

    def forecast(self, past: Tensor, observed: Tensor) -> Tensor:
        """Return (B, H, V) of targets' past (B, L, V)."""
        return ridge_forecast(self.weight, past, observed, relative=self.relative)


def fit_ridge(windows: Windows, penalty: float = 0.0, progress: Callable[[int], None] = lambda done: None) -> Ridge:
    """Return the ridge regression of windows; penalty is that of each example, 0: the usual one."""
    data, joint = windows.data, windows.data.paths
    chosen = np.unique(np.linspace(0, len(windows) - 1, min(len(windows), MOST_WINDOWS)).astype(np.int64))
    width = len(data.targets) if joint else 1
    squares = torch.zeros(width * data.look_back, width * data.look_back, dtype=torch.float64)
    products = torch.zeros(width * data.look_back, width * data.horizon, dtype=torch.float64)
    count = 0
    for numbers in _chunks(chosen):
        x, y = _examples(windows, numbers, joint=joint)
        squares += x.T @ x
        products += x.T @ y
        count += len(x)
        progress(len(numbers))
    squares.diagonal().add_(max((penalty or (OF_PATHS if joint else PENALTY)) * count, 1e-9))
    return Ridge(torch.linalg.solve(squares, products).T.float().contiguous(), data.relative)


def _examples(windows: Windows, numbers: np.ndarray, *, joint: bool) -> tuple[Tensor, Tensor]:
    """Return what was (n, L) and what came (n, H) of windows whose targets are all there; joint: of all variables."""
    arrays, targets = windows.arrays(numbers), len(windows.data.targets)
    past, observed = torch.from_numpy(arrays.past[..., :targets]), torch.from_numpy(arrays.observed[..., :targets])
    inputs, level = ridge_inputs(past, observed, relative=windows.data.relative)
    outputs, there = torch.from_numpy(arrays.future) - level, torch.from_numpy(arrays.future_observed)
    if joint:
        whole = there.all(dim=2).all(dim=1)
        return inputs.flatten(1)[whole].double(), outputs.flatten(1)[whole].double()
    whole = there.all(dim=1).flatten()
    inputs, outputs = (part.transpose(1, 2).flatten(0, 1)[whole].double() for part in (inputs, outputs))
    return inputs, outputs


def _chunks(numbers: np.ndarray) -> Iterator[np.ndarray]:
    for first in range(0, len(numbers), CHUNK):
        yield numbers[first : first + CHUNK]
