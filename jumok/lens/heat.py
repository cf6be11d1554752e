"""Where a model looked in an image: a heat map over it as a PNG, or in blocks on the terminal.

weights (H, Q, K) of one image, or a rollout → a share for each cell (rows, columns) → laid over the pixels
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from rich.text import Text
from torch import Tensor

from jumok.inspection.record import AttentionMap, AttentionRecord, rollout
from jumok.lens.figure import plain, save_png
from jumok.lens.terminal import CELL, Drawing, shade

SIDE = 3.2  # inches
Grid = tuple[int, int]


def chosen_heat(found: AttentionMap, head: int | None) -> Tensor:
    """Return the share of each cell in one layer (rows, columns): by the class token, or a mean over cells; sums to 1.

    head is counted from 1; None is the mean over heads.
    """
    assert found.grid is not None
    weights = found.weights[head - 1] if head else found.weights.mean(dim=0)  # (Q, K)
    special = weights.shape[1] - found.grid[0] * found.grid[1]
    heat = (weights[0] if special else weights.mean(dim=0))[special:].view(found.grid)
    return heat / heat.sum().clamp(min=1e-12)


def heat_of(record: AttentionRecord) -> Tensor | None:
    """Return how much of each cell reaches the output (rows, columns), by attention rollout; sums to 1.

    A model of windows halves its grid from stage to stage, and its output is the mean over the last stage's cells. None
    where there is no attention, or where grids do not halve.
    """
    if not record.maps:
        return None
    grid = record.maps[0].grid
    if grid is not None and all(found.grid == grid for found in record.maps):
        whole = rollout(record.maps)  # (Q, K)
        special = whole.shape[1] - grid[0] * grid[1]
        read = whole[0] if special else whole.mean(dim=0)
        heat = read[special:].view(grid)
        return heat / heat.sum()
    stages = list(dict.fromkeys(found.grid for found in record.maps))
    if not _halve(stages):
        return None
    rows, columns = stages[-1] or (1, 1)
    shares = torch.full((rows, columns), 1.0 / (rows * columns))  # the model takes the mean over the last stage's cells
    for stage in reversed(stages):
        assert stage is not None
        passed_on = rollout([found for found in record.maps if found.grid == stage])
        shares = (_spread(shares, stage).flatten().to(passed_on) @ passed_on).view(stage)
    return shares / shares.sum()


def _halve(stages: Sequence[Grid | None]) -> bool:
    """Return whether each grid has half the rows and columns of the one before, rounded up."""
    return all(a and b and b == (-(-a[0] // 2), -(-a[1] // 2)) for a, b in pairwise(stages))


def _spread(coarse: Tensor, grid: Grid) -> Tensor:
    """Return a coarse map on a finer grid: each cell's share divided among the cells that were merged into it."""
    if coarse.shape == grid:
        return coarse
    fine = coarse.repeat_interleave(2, dim=0).repeat_interleave(2, dim=1)[: grid[0], : grid[1]]
    return fine / fine.sum()


@dataclass(frozen=True)
class HeatDrawing(Drawing):
    """Shares (rows, columns) as blocks, shaded relative to the strongest; a terminal that is narrower gets fewer."""

    heat: Tensor
    colour: bool = True

    def fitted(self, width: int | None) -> Text:
        """Return the drawing in at most so many columns; where it would be wider, a block stands for several cells."""
        side = 1 if width is None else -(-CELL * self.heat.shape[1] // max(width, CELL))
        shown = F.avg_pool2d(self.heat[None].float(), side, ceil_mode=True)[0]
        strongest, drawing = max(float(shown.max()), 1e-9), Text()
        for row in shown.tolist():
            for share in row:
                blocks, style = shade(share / strongest, colour=self.colour)
                drawing.append(blocks, style=style)
            drawing.append("\n")
        if side > 1:
            drawing.append(f"each block: {side} × {side} patches\n", style="dim")
        return drawing


def draw_heat(heat: Tensor, *, colour: bool = True) -> Drawing:
    """Return a drawing of shares (rows, columns) for a terminal."""
    return HeatDrawing(heat, colour)


def save_heat(pixels: np.ndarray[Any, Any], heat: Tensor, path: Path, *, title: str = "") -> None:
    """Save an image (S, S, C), and beside it the same under its heat map (rows, columns), as a PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2 * SIDE + 0.6, SIDE + 0.5), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2)
    shown = pixels[..., 0] if pixels.shape[2] == 1 else pixels
    grey = "gray" if pixels.shape[2] == 1 else None
    edges = (-0.5, pixels.shape[1] - 0.5, pixels.shape[0] - 0.5, -0.5)
    left.imshow(shown, cmap=grey, vmin=0, vmax=255)
    right.imshow(shown, cmap=grey, vmin=0, vmax=255)
    right.imshow(heat.numpy(force=True), cmap="inferno", alpha=0.65, extent=edges, interpolation="bilinear", vmin=0.0)
    for axes in (left, right):
        axes.set_axis_off()
    if title:
        figure.suptitle(plain(title), fontsize=8, color="#555555")
    save_png(figure, path)


def save_matrices(layers: Tensor, path: Path, *, title: str = "") -> None:
    """Save matrices (layers, P, P) side by side as a PNG, blue below zero and red above."""
    from matplotlib.figure import Figure

    columns = min(len(layers), 4)
    rows = -(-len(layers) // columns)
    figure = Figure(figsize=(columns * 2.2, rows * 2.4 + 0.3), dpi=150, layout="constrained")
    strongest = float(torch.quantile(layers.abs().flatten()[:1_000_000], 0.99)) or 1.0
    for number, axes in enumerate(np.atleast_1d(figure.subplots(rows, columns)).flat):
        axes.set_axis_off()
        if number < len(layers):
            axes.imshow(layers[number].numpy(force=True), cmap="RdBu_r", vmin=-strongest, vmax=strongest)
            axes.set_title(f"layer {number + 1}", fontsize=7)
    if title:
        figure.suptitle(plain(title), fontsize=8, color="#555555")
    save_png(figure, path)
