"""Attention inside windows of a picture's grid, shifted every second layer so that windows meet (Liu et al. 2021).

cells (B, h, w, D) → padded → rolled → windows (B, N, L, D) → attention with a bias for each relative place → back

The grid is padded at its right and lower edge to whole windows. As in the paper's own code, padded cells take part as
zeros; cells that the roll brought side by side, but that do not belong together, never see each other.
"""

import math
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from jumok.nn.dropout import Dropout
from jumok.nn.observe import recorder_for

# B batch · h rows · w columns of the grid · D width · N windows · L cells of a window · H heads · d head width


def into_windows(cells: Tensor, size: int) -> Tensor:
    """Return the windows (B, N, L, …) of cells (B, h, w, …), whose grid is whole windows."""
    rows, columns = cells.shape[1] // size, cells.shape[2] // size
    apart = cells.view(len(cells), rows, size, columns, size, *cells.shape[3:]).transpose(2, 3)
    return apart.reshape(len(cells), rows * columns, size * size, *cells.shape[3:])


def from_windows(windows: Tensor, size: int, grid: tuple[int, int]) -> Tensor:
    """Return the cells (B, h, w, …) of windows (B, N, L, …)."""
    rows, columns = grid[0] // size, grid[1] // size
    apart = windows.view(len(windows), rows, columns, size, size, *windows.shape[3:]).transpose(2, 3)
    return apart.reshape(len(windows), *grid, *windows.shape[3:])


@lru_cache(maxsize=64)
def relative_places(size: int, table_size: int) -> Tensor:
    """Return (L · L,): which row of a table of (2 · table_size − 1)² says how one cell of a window lies to another."""
    place = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")).flatten(1)  # (2, L)
    apart: Tensor = (place[:, :, None] - place[:, None]) + table_size - 1  # (2, L, L): down and right
    return (apart[0] * (2 * table_size - 1) + apart[1]).flatten()


@lru_cache(maxsize=64)
def shift_mask(grid: tuple[int, int], size: int, shift: int) -> Tensor:
    """Return (N, L, L): True where two cells of a rolled grid were near each other before the roll."""
    region = torch.zeros(1, *grid, dtype=torch.int64)
    for axis in (1, 2):
        edge = torch.arange(grid[axis - 1])
        part = (edge >= grid[axis - 1] - size).long() + (edge >= grid[axis - 1] - shift).long()
        region = region * 3 + part.view(-1, 1) if axis == 1 else region * 3 + part
    windows = into_windows(region, size)[0]  # (N, L)
    return windows[:, :, None] == windows[:, None]


class WindowAttention(nn.Module):
    """Self-attention of each cell over its window."""

    kind = "window"

    def __init__(self, width: int, heads: int, window: int, *, shifted: bool, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads, self.window, self.shifted = heads, window, shifted
        self.scale = 1 / math.sqrt(width // heads)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.relative = nn.Parameter(torch.zeros((2 * window - 1) ** 2, heads))
        self.weight_dropout = Dropout(dropout)
        nn.init.trunc_normal_(self.relative, std=0.02)
        for linear in (self.query_key_value, self.output):
            nn.init.trunc_normal_(linear.weight, std=0.02)
            nn.init.zeros_(linear.bias)

    def sizes(self, grid: tuple[int, int]) -> tuple[int, int]:
        """Return the side of a window and the shift for a grid: one that fits into a window is one, unshifted."""
        if min(grid) <= self.window:
            return min(grid), 0
        return self.window, self.window // 2 if self.shifted else 0

    def forward(self, cells: Tensor) -> Tensor:
        """Return (B, h, w, D) of cells (B, h, w, D)."""
        batch, *own, width = cells.shape
        size, shift = self.sizes((own[0], own[1]))
        grid = (-(-own[0] // size) * size, -(-own[1] // size) * size)
        if grid != tuple(own):
            cells = F.pad(cells, (0, 0, 0, grid[1] - own[1], 0, grid[0] - own[0]))
        if shift:
            cells = cells.roll((-shift, -shift), dims=(1, 2))
        windows = into_windows(cells, size)  # (B, N, L, D)
        count, length = windows.shape[1:3]
        parts = self.query_key_value(windows).view(batch, count, length, 3, self.heads, -1)
        # Windows and heads share an axis, so that the kernel takes a bias a window and a head without copies.
        query, key, value = parts.permute(3, 0, 1, 4, 2, 5).flatten(2, 3)  # (B, N · H, L, d) each
        mixed = self._mix(query, key, value, self._bias(grid, size, shift), own=(own[0], own[1]), grid=grid)
        mixed = mixed.view(batch, count, self.heads, length, -1).transpose(2, 3).reshape(batch, count, length, width)
        cells = from_windows(self.output(mixed), size, grid)
        if shift:
            cells = cells.roll((shift, shift), dims=(1, 2))
        return cells[:, : own[0], : own[1]]

    def _bias(self, grid: tuple[int, int], size: int, shift: int) -> Tensor:
        """Return what is added to scores (N · H, L, L): the bias of relative places, −∞ where the roll parts cells."""
        length = size * size
        places = relative_places(size, self.window).to(self.relative.device)
        bias = self.relative[places].view(length, length, -1).permute(2, 0, 1)  # (H, L, L)
        count = (grid[0] // size) * (grid[1] // size)
        if not shift:
            return bias.expand(count, -1, -1, -1).flatten(0, 1)
        mask = shift_mask(grid, size, shift).to(bias.device)
        return bias[None].masked_fill(~mask[:, None], -math.inf).flatten(0, 1)

    def _mix(
        self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor, *, own: tuple[int, int], grid: tuple[int, int]
    ) -> Tensor:
        """Return (B, N · H, L, d)."""
        record = recorder_for(self)
        if record is None and not (self.training and self.weight_dropout.rate):
            return F.scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=self.scale)
        weights = (query @ key.transpose(-2, -1) * self.scale + bias).softmax(dim=-1)
        if record is not None:
            record.file(self, self.kind, self.over_the_grid(weights, own=own, grid=grid), grid=own)
        mixed: Tensor = self.weight_dropout(weights) @ value
        return mixed

    def over_the_grid(self, weights: Tensor, *, own: tuple[int, int], grid: tuple[int, int]) -> Tensor:
        """Return (B, H, h · w, h · w) of window weights (B, N · H, L, L): zero outside a cell's window.

        What fell on padded cells is left out, so that rows of a padded grid may sum to less than 1.
        """
        size, shift = self.sizes(own)
        cells = torch.arange(grid[0] * grid[1]).view(1, *grid)
        if shift:
            cells = cells.roll((-shift, -shift), dims=(1, 2))
        place = into_windows(cells, size)[0].to(weights.device)  # (N, L): the cell at each place of each window
        by_window = weights.view(len(weights), len(place), self.heads, *weights.shape[2:]).transpose(1, 2)
        whole = weights.new_zeros(len(weights), self.heads, grid[0] * grid[1], grid[0] * grid[1])
        whole[:, :, place[:, :, None], place[:, None]] = by_window
        real = torch.arange(grid[0] * grid[1], device=weights.device).view(grid)[: own[0], : own[1]].flatten()
        return whole[:, :, real][:, :, :, real]


class MergePatches(nn.Module):
    """Join each two by two cells: half the rows and columns, twice the width."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4 * width, eps=epsilon)
        self.reduce = nn.Linear(4 * width, 2 * width, bias=False)
        nn.init.trunc_normal_(self.reduce.weight, std=0.02)

    def forward(self, cells: Tensor) -> Tensor:
        """Return (B, ⌈h/2⌉, ⌈w/2⌉, 2D) of cells (B, h, w, D)."""
        cells = F.pad(cells, (0, 0, 0, cells.shape[2] % 2, 0, cells.shape[1] % 2))
        four = [cells[:, down::2, right::2] for right in (0, 1) for down in (0, 1)]
        merged: Tensor = self.reduce(self.norm(torch.cat(four, dim=-1)))
        return merged
