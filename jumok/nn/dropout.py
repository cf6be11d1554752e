"""Dropout from random bytes.

On a CPU torch draws one random float an element on a single thread, which costs more than the matrix products of a
small model. Here one 64-bit draw serves eight elements: an element is dropped where its byte is below rate · 256.
The rate is therefore rounded to 1/256, and what is kept is scaled by the rate really used, so the mean is exact.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def keep_mask(shape: torch.Size, threshold: int) -> Tensor:
    """Return a CPU bool mask: False with probability threshold / 256."""
    count = shape.numel()
    draws = torch.empty((count + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
    return (draws.view(torch.uint8)[:count] >= threshold).view(shape)


class Dropout(nn.Module):
    """Zero a share of the elements in training and scale up the rest."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.threshold = round(rate * 256)

    def forward(self, x: Tensor) -> Tensor:
        """Return x with elements dropped; the same x outside training."""
        if not self.training or self.rate == 0.0:
            return x
        if x.device.type != "cpu" or self.threshold == 0:
            return F.dropout(x, self.rate)
        scale = 256 / (256 - self.threshold) if self.threshold < 256 else 0.0
        return x * keep_mask(x.shape, self.threshold).mul(scale)

    def extra_repr(self) -> str:
        return f"rate={self.rate}"


class StochasticDepth(nn.Module):
    """Leave a part of a layer out for some examples in training, so that it learns to do without (Huang et al. 2016)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Return x (B, …) with whole examples zeroed and the others scaled up; the same x outside training."""
        if not self.training or self.rate == 0.0:
            return x
        kept = torch.rand(len(x), *(1 for _ in x.shape[1:]), device=x.device) >= self.rate
        return x * kept / (1 - self.rate)

    def extra_repr(self) -> str:
        return f"rate={self.rate}"


def depth_rates(rate: float, layers: int) -> list[float]:
    """Return each layer's rate of stochastic depth: none at the first, rate at the last."""
    return [rate * number / max(layers - 1, 1) for number in range(layers)]
