"""Attention inside windows of an image's grid, shifted every second layer so that windows meet (Liu et al. 2021).

cells (B, h, w, D) → padded → rolled → windows (B, N, L, D) → attention with a bias for each relative place → back

The grid is padded at its right and lower edge to whole windows. As in the paper's own code, padded cells take part as
zeros; cells that the roll brought side by side, but that do not belong together, never see each other.
"""

import math
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from jumok.nn.dropout import Dropout
from jumok.nn.linear import Linear
from jumok.nn.native_attention import Heads, attend_to_itself, fits
from jumok.nn.norms import LayerNorm
from jumok.nn.precision import narrowed
from jumok.nn.recording import recorder_for

# B batch · h rows · w columns of the grid · D width · N windows · L cells of a window · H heads · d head width


def into_windows(cells: Tensor, size: int) -> Tensor:
    """Return the windows (B, N, L, …) of cells (B, h, w, …), whose grid is whole windows."""
    rows, columns = cells.shape[1] // size, cells.shape[2] // size
    apart = cells.view(len(cells), rows, size, columns, size, *cells.shape[3:]).transpose(2, 3)
    return apart.reshape(len(cells), rows * columns, size * size, *cells.shape[3:])


@lru_cache(maxsize=64)
@torch.inference_mode(False)  # kept for training, too, whoever asks first
def window_order(grid: tuple[int, int], size: int, shift: int) -> tuple[Tensor, Tensor]:
    """Return (N · L,): the cell at each place of each window of a rolled grid; and the place of each cell."""
    cells = torch.arange(grid[0] * grid[1]).view(1, *grid)
    order = into_windows(cells.roll((-shift, -shift), dims=(1, 2)), size).flatten()
    return order, order.argsort()


class Reorder(torch.autograd.Function):
    """Take the rows of x (B, N, D) in another order; each once, so that the gradient is the way back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, order: Tensor, back: Tensor) -> Tensor:
        """Return the rows in order."""
        ctx.save_for_backward(back)
        return x.index_select(1, order)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """Return the gradient's rows in the order of before."""
        (back,) = ctx.saved_tensors
        return gradient.index_select(1, back), None, None


class BiasedAttention(torch.autograd.Function):
    """softmax(q kᵀ · scale + bias) v over many short rows, all of it from and to the layout of the linear layers around.

    torch has no fused kernel that gives a bias a gradient; its way around makes several copies that this does not.
    """

    @staticmethod
    def forward(ctx: Any, joined: Tensor, bias: Tensor, scale: float, heads: int) -> Tensor:
        """Return (B, N, L, D) of queries, keys and values (B, N, L, 3 · D) and a bias (N or 1, H, L, L)."""
        batch, count, length, width = joined.shape
        apart = joined.view(batch, count, length, 3, heads, -1).permute(3, 0, 1, 4, 2, 5)  # (3, B, N, H, L, d)
        query, key, value = parts = apart.reshape(3, batch * count * heads, length, -1)
        scores = torch.bmm(query, key.mT).view(batch, count, heads, length, length)
        weights = torch.add(bias, scores, alpha=scale, out=scores).softmax(dim=-1).flatten(0, 2)
        ctx.save_for_backward(parts, weights)
        ctx.scale, ctx.shape, ctx.biases = scale, scores.shape, len(bias)
        mixed = torch.bmm(weights, value).view(batch, count, heads, length, -1)
        return mixed.transpose(2, 3).reshape(batch, count, length, width // 3)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        """Return the gradients of joined and bias."""
        parts, weights = ctx.saved_tensors
        query, key, value = parts
        batch, count, heads, length, _ = ctx.shape
        outward = gradient.view(batch, count, length, heads, -1).transpose(2, 3).reshape(value.shape)
        found = torch.empty_like(parts)
        torch.bmm(weights.mT, outward, out=found[2])
        inner = torch._softmax_backward_data(torch.bmm(outward, value.mT), weights, -1, weights.dtype)
        of_bias = inner.view(ctx.shape).sum(dim=0 if ctx.biases == count else (0, 1))
        torch.baddbmm(found[0], inner, key, beta=0, alpha=ctx.scale, out=found[0])
        torch.baddbmm(found[1], inner.mT, query, beta=0, alpha=ctx.scale, out=found[1])
        joined = found.view(3, batch, count, heads, length, -1).permute(1, 2, 4, 0, 3, 5)
        return joined.reshape(batch, count, length, -1), of_bias.view(ctx.biases, heads, length, length), None, None


@lru_cache(maxsize=64)
@torch.inference_mode(False)  # kept for training, too, whoever asks first
def relative_places(size: int, table_size: int) -> Tensor:
    """Return (L · L,): which row of a table of (2 · table_size − 1)² says how one cell of a window lies to another."""
    place = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")).flatten(1)  # (2, L)
    apart: Tensor = (place[:, :, None] - place[:, None]) + table_size - 1  # (2, L, L): down and right
    return (apart[0] * (2 * table_size - 1) + apart[1]).flatten()


@lru_cache(maxsize=64)
@torch.inference_mode(False)  # kept for training, too, whoever asks first
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
        self.query_key_value = Linear(width, 3 * width)
        self.output = Linear(width, width)
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
        order, back = (places.to(cells.device) for places in window_order(grid, size, shift))
        rows: Tensor = Reorder.apply(cells.flatten(1, 2), order, back)  # type: ignore[no-untyped-call]
        windows = narrowed(rows).view(batch, -1, size * size, width)  # (B, N, L, D)
        mixed = self._mix(self.query_key_value(windows), self._bias(grid, size, shift), own=(own[0], own[1]), grid=grid)
        rows = Reorder.apply(self.output(mixed).flatten(1, 2), back, order)  # type: ignore[no-untyped-call]
        return rows.view(batch, *grid, width)[:, : own[0], : own[1]].to(cells.dtype)

    def _bias(self, grid: tuple[int, int], size: int, shift: int) -> Tensor:
        """Return what is added to scores (N or 1, H, L, L): the bias of relative places, −∞ where the roll parts cells."""
        length = size * size
        places = relative_places(size, self.window).to(self.relative.device)
        bias = self.relative[places].view(length, length, -1).permute(2, 0, 1)[None]  # (1, H, L, L)
        if not shift:
            return bias
        mask = shift_mask(grid, size, shift).to(bias.device)
        return bias.masked_fill(~mask[:, None], -math.inf)

    def _mix(self, joined: Tensor, bias: Tensor, *, own: tuple[int, int], grid: tuple[int, int]) -> Tensor:
        """Return (B, N, L, D) of queries, keys and values (B, N, L, 3 · D)."""
        record = recorder_for(self)
        batch, count, length, width = joined.shape
        if record is None and not (self.training and self.weight_dropout.rate):
            if fits(joined, length, width // 3 // self.heads):
                rows = joined.view(batch * count, length, width)
                return attend_to_itself(rows, Heads(self.heads, self.scale), bias=bias).view(batch, count, length, -1)
            wide = joined.float()
            mixed: Tensor = BiasedAttention.apply(wide, bias, self.scale, self.heads)  # type: ignore[no-untyped-call]
            return mixed
        query, key, value = joined.float().view(batch, count, length, 3, self.heads, -1).permute(3, 0, 1, 4, 2, 5)
        weights = (query @ key.transpose(-2, -1) * self.scale + bias).softmax(dim=-1)  # (B, N, H, L, L)
        if record is not None:
            weights = record.ablated(self, self.kind, weights.transpose(1, 2)).transpose(1, 2)
            record.file(self, self.kind, self.over_the_grid(weights, own=own, grid=grid), grid=own)
        mixed = self.weight_dropout(weights) @ value  # (B, N, H, L, d)
        return mixed.transpose(2, 3).reshape(batch, count, length, width // 3)

    def over_the_grid(self, weights: Tensor, *, own: tuple[int, int], grid: tuple[int, int]) -> Tensor:
        """Return (B, H, h · w, h · w) of window weights (B, N, H, L, L): zero outside a cell's window.

        What fell on padded cells is left out, so that rows of a padded grid may sum to less than 1.
        """
        size, shift = self.sizes(own)
        place = window_order(grid, size, shift)[0].view(-1, size * size).to(weights.device)  # (N, L)
        by_window = weights.transpose(1, 2)
        whole = weights.new_zeros(len(weights), self.heads, grid[0] * grid[1], grid[0] * grid[1])
        whole[:, :, place[:, :, None], place[:, None]] = by_window
        real = torch.arange(grid[0] * grid[1], device=weights.device).view(grid)[: own[0], : own[1]].flatten()
        return whole[:, :, real][:, :, :, real]


class MergePatches(nn.Module):
    """Join each two by two cells: half the rows and columns, twice the width."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.norm = LayerNorm(4 * width, eps=epsilon)
        self.reduce = Linear(4 * width, 2 * width, bias=False)
        nn.init.trunc_normal_(self.reduce.weight, std=0.02)

    def forward(self, cells: Tensor) -> Tensor:
        """Return (B, ⌈h/2⌉, ⌈w/2⌉, 2D) of cells (B, h, w, D)."""
        cells = F.pad(cells, (0, 0, 0, cells.shape[2] % 2, 0, cells.shape[1] % 2))
        four = [cells[:, down::2, right::2] for right in (0, 1) for down in (0, 1)]
        merged: Tensor = self.reduce(self.norm(torch.cat(four, dim=-1)))
        return merged
