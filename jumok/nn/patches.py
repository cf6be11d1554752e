"""Images as sequences: patches, where they stand, and their places when the image's size changes.

image (B, C, H, W) → patches of p × p pixels → projected (B, P, D), row by row → + position of each cell
"""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from jumok.nn.convolution import narrow_convolution
from jumok.nn.linear import Linear
from jumok.nn.positions import sinusoid
from jumok.nn.precision import narrow
from jumok.nn.recording import recorder_for

# B batch · C channels · H height · W width of the image · p patch size · P patches · D width

PatchKind = Literal["matrix", "convolution"]
GridPositionKind = Literal["none", "sinusoidal", "learned"]


class Patches(nn.Module):
    """Cut an image into patches and project each: one matrix product, or one convolution that never overlaps.

    Both use the same weights and give the same numbers; they differ in speed alone.
    """

    def __init__(self, channels: int, size: int, width: int, *, kind: PatchKind = "matrix") -> None:
        super().__init__()
        self.channels, self.size, self.kind = channels, size, kind
        self.project = Linear(channels * size * size, width)

    def grid(self, image: Tensor) -> tuple[int, int]:
        """Return how many rows and columns of patches an image (…, H, W) has; what is left over is padded."""
        return -(-image.shape[-2] // self.size), -(-image.shape[-1] // self.size)

    def forward(self, image: Tensor) -> Tensor:
        """Return (B, P, D) of image (B, C, H, W)."""
        rows, columns = self.grid(image)
        below, right = rows * self.size - image.shape[-2], columns * self.size - image.shape[-1]
        if below or right:
            image = F.pad(image, (0, right, 0, below))
        if self.kind == "convolution":
            kernel = self.project.weight.view(-1, self.channels, self.size, self.size)
            convolve = narrow_convolution if narrow() else F.conv2d
            return convolve(image, kernel, self.project.bias, (self.size, self.size)).flatten(2).transpose(1, 2)
        cut = image.view(len(image), self.channels, rows, self.size, columns, self.size)
        flat = cut.permute(0, 2, 4, 1, 3, 5).reshape(len(image), rows * columns, -1)  # (B, P, C · p · p)
        projected: Tensor = self.project(flat)
        return projected


class GridPositions(nn.Module):
    """Add to each cell of a grid what says where it stands."""

    def __init__(self, kind: GridPositionKind, width: int, grid: tuple[int, int]) -> None:
        super().__init__()
        self.kind, self.width, self.own_grid = kind, width, grid
        if kind == "learned":
            self.table = nn.Parameter(torch.empty(grid[0] * grid[1], width))
            nn.init.trunc_normal_(self.table, std=0.02)

    def encode(self, grid: tuple[int, int]) -> Tensor:
        """Return the positions (P, D) of a grid; learned ones are interpolated where it is not their own."""
        if self.kind == "learned":
            if grid == self.own_grid:
                return self.table
            image = self.table.view(1, *self.own_grid, -1).permute(0, 3, 1, 2)  # (1, D, rows, columns)
            return F.interpolate(image, grid, mode="bicubic", align_corners=False)[0].flatten(1).T
        # Half of the features say the row, half the column, each like a word's place in a sentence.
        half = self.width // 2
        row, column = sinusoid(torch.arange(grid[0]), half), sinusoid(torch.arange(grid[1]), self.width - half)
        return torch.cat([row[:, None].expand(-1, grid[1], -1), column[None].expand(grid[0], -1, -1)], dim=-1).flatten(
            0, 1
        )

    def forward(self, cells: Tensor, grid: tuple[int, int]) -> Tensor:
        """Return cells (B, P, D) of a grid with their positions added."""
        record = recorder_for(self)
        if self.kind == "none" or (record is not None and record.without_positions):
            return cells
        encoding = self.encode(grid).to(cells)
        if record is not None:
            record.file_positions(self, "sinusoidal-grid" if self.kind == "sinusoidal" else self.kind, "add", encoding)
        return cells + encoding

    def extra_repr(self) -> str:
        return f"{self.kind}, grid={self.own_grid}"
