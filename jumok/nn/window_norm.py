"""A window of a series made comparable with others: what is taken off, and the unit in which the rest is counted.

past (B, L, V), observed (B, L, V) → shift (B, 1, V), scale (B, 1, V); a value that is missing counts nowhere

none      0 and 1
last      the last value that is there, and 1
mean-std  mean and deviation of the window; of steps (relative), 0 and their root mean square
ewma      the same, where late values count more: each step back 0.94 times as much (RiskMetrics 1996)
"""

from typing import Literal

import torch
from torch import Tensor

# B windows · L look-back · V variables

WindowNorm = Literal["none", "last", "mean-std", "ewma"]
DECAY = 0.94
LEAST = 1e-2  # of a scale, in deviations of the training data: a window that stands still has no unit of its own


def window_statistics(
    past: Tensor, observed: Tensor, kind: WindowNorm, *, relative: bool = False
) -> tuple[Tensor, Tensor]:
    """Return shift and scale (B, 1, V) of windows; relative: values are steps, whose sum is forecast."""
    one = torch.ones_like(past[:, :1])
    if kind == "none" or (relative and kind == "last"):
        return torch.zeros_like(one), one
    if kind == "last":
        return last_value(past, observed), one
    weight = observed.to(past.dtype)
    if kind == "ewma":
        ages = torch.arange(past.shape[1] - 1, -1, -1, device=past.device)[:, None]
        weight = weight * DECAY**ages
    total = weight.sum(dim=1, keepdim=True)
    known, total = total > 0, total.clamp(min=1e-6)
    shift = torch.zeros_like(one) if relative else (past * weight).sum(dim=1, keepdim=True) / total
    spread = ((past - shift).square() * weight).sum(dim=1, keepdim=True) / total
    return shift, torch.where(known, spread.sqrt().clamp(min=LEAST), one)


def last_value(past: Tensor, observed: Tensor) -> Tensor:
    """Return the last value (B, 1, V) that is there; 0 where none is."""
    places = torch.arange(1, past.shape[1] + 1, device=past.device)[:, None]
    last = (observed * places).amax(dim=1, keepdim=True)  # (B, 1, V), counted from 1
    return past.gather(1, (last - 1).clamp(min=0)) * (last > 0)


def ridge_inputs(past: Tensor, observed: Tensor, *, relative: bool = False) -> tuple[Tensor, Tensor]:
    """Return what a ridge regression reads (B, L, V), and what its forecast is counted from (B, 1, V)."""
    level = torch.zeros_like(past[:, :1]) if relative else last_value(past, observed)
    return (past - level) * observed, level


def ridge_forecast(weight: Tensor, past: Tensor, observed: Tensor, *, relative: bool = False) -> Tensor:
    """Return a ridge regression's forecast (B, H, V) of targets' past (B, L, V).

    Its weights are (H, L), the same for all variables, or (H · V, L · V), of all variables together.
    """
    inputs, level = ridge_inputs(past, observed, relative=relative)
    if weight.shape[1] == past.shape[1]:
        return torch.einsum("hl,blv->bhv", weight, inputs) + level
    return (inputs.flatten(1) @ weight.T).view(len(past), -1, past.shape[2]) + level
