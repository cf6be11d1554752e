"""The ridge regression that forecasts are measured against, and that a forecaster may begin from: in closed form.

windows → inputs (n, L) and what came (n, H), each from the last value on, all variables alike → sums of products
        → weights (H, L), bias (H,)

Its penalty is chosen on the last tenth of the windows that it learns from, never on val.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from jumok.data.series.windows import Windows
from jumok.nn.window_norm import ridge_inputs

# n windows × variables · L look-back · H horizon · V targets

MOST_WINDOWS = 50_000  # that are read; of more, so many at even distances
CHUNK = 1024  # windows at a time
PENALTIES = (1.0, 10.0, 100.0, 1000.0, 10_000.0)
HELD_BACK = 0.1  # of the windows, the last ones, on which the penalty is chosen


@dataclass
class Ridge:
    """A linear forecast, the same for all variables."""

    weight: Tensor  # (H, L)
    bias: Tensor  # (H,)
    penalty: float

    def forecast(self, past: Tensor, observed: Tensor, *, relative: bool) -> Tensor:
        """Return (B, H, V) of targets' past (B, L, V)."""
        inputs, level = ridge_inputs(past, observed, relative=relative)
        return torch.einsum("hl,blv->bhv", self.weight.to(inputs.dtype), inputs) + self.bias[:, None] + level


@dataclass
class Sums:
    """What a regression needs of its examples: sums of products."""

    count: float
    inputs: Tensor  # (L,)
    outputs: Tensor  # (H,)
    squares: Tensor  # (L, L)
    products: Tensor  # (L, H)
    energy: float  # sum of squared outputs

    @classmethod
    def nothing(cls, look_back: int, horizon: int) -> "Sums":
        """Return the sums of no examples."""
        zeros = torch.zeros
        double = torch.float64
        return cls(
            0.0,
            zeros(look_back, dtype=double),
            zeros(horizon, dtype=double),
            zeros(look_back, look_back, dtype=double),
            zeros(look_back, horizon, dtype=double),
            0.0,
        )

    def add(self, x: Tensor, y: Tensor) -> None:
        """Take in examples (n, L) and (n, H)."""
        x, y = x.double(), y.double()
        self.count += len(x)
        self.inputs += x.sum(0)
        self.outputs += y.sum(0)
        self.squares += x.T @ x
        self.products += x.T @ y
        self.energy += float(y.square().sum())

    def plus(self, other: "Sums") -> "Sums":
        """Return the sums of both."""
        return Sums(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    def solve(self, penalty: float) -> Ridge:
        """Return the regression with a penalty on its weights, none on its bias."""
        count = max(self.count, 1.0)
        x, y = self.inputs / count, self.outputs / count
        squares = self.squares - count * torch.outer(x, x)
        squares.diagonal().add_(penalty)
        weight = torch.linalg.solve(squares, self.products - count * torch.outer(x, y)).T  # (H, L)
        return Ridge(weight.float(), (y - weight @ x).float(), penalty)

    def error(self, ridge: Ridge) -> float:
        """Return the squared error of a regression on these examples, summed."""
        weight, bias = ridge.weight.double(), ridge.bias.double()
        cross = (weight * self.products.T).sum() + bias @ self.outputs
        own = ((weight @ self.squares) * weight).sum() + 2 * bias @ (weight @ self.inputs) + self.count * bias @ bias
        return float(self.energy - 2 * cross + own)


def fit_ridge(windows: Windows, penalty: float = 0.0, progress: Callable[[int], None] = lambda done: None) -> Ridge:
    """Return the ridge regression of windows; its penalty is chosen where none is given."""
    data = windows.data
    size = min(len(windows), MOST_WINDOWS)
    chosen = np.linspace(0, len(windows) - 1, size).astype(np.int64)
    early, late = (Sums.nothing(data.look_back, data.horizon) for _ in range(2))
    border = size - int(HELD_BACK * size)
    for sums, numbers in [
        *((early, numbers) for numbers in _chunks(chosen[:border])),
        *((late, numbers) for numbers in _chunks(chosen[border:])),
    ]:
        arrays = windows.arrays(numbers)
        targets = len(data.targets)
        past, observed = torch.from_numpy(arrays.past[..., :targets]), torch.from_numpy(arrays.observed[..., :targets])
        inputs, level = ridge_inputs(past, observed, relative=data.relative)
        x = inputs.transpose(1, 2).flatten(0, 1)
        y = (torch.from_numpy(arrays.future) - level).transpose(1, 2).flatten(0, 1)
        whole = torch.from_numpy(arrays.future_observed).all(dim=1).flatten()
        sums.add(x[whole], y[whole])
        progress(len(numbers))
    if not penalty:
        penalty = min(PENALTIES, key=lambda each: late.error(early.solve(each))) if late.count else PENALTIES[1]
    return early.plus(late).solve(penalty)


def _chunks(numbers: np.ndarray) -> Iterator[np.ndarray]:
    for first in range(0, len(numbers), CHUNK):
        yield numbers[first : first + CHUNK]
