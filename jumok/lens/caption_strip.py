"""A caption word by word over its image, as in figure 1 of Show, Attend and Tell: a PNG, or small maps on the terminal.

heat (Q, rows, columns) → smoothed to the image's pixels → a veil that is lifted where a word looks, the word below
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from rich.cells import cell_len, set_cell_size
from rich.text import Text
from torch import Tensor

from jumok.inspection.labels import readable_labels
from jumok.lens.figure import FONTS, installed, plain, save_png
from jumok.lens.image_page import DARK
from jumok.lens.terminal import CELL, Drawing, shade

# Q words · h, w pixels

Pixels = np.ndarray[Any, Any]  # (h, w, channels), uint8
VEIL, THICKEST = (46, 51, 64), 0.86  # as on pages (lens/page/overlay.js)
GLOW, STRONGEST = ((82, 47, 24), (178, 98, 32), (255, 206, 120)), 0.82
SHORTEST = 280  # pixels of a panel's longer side, so that maps over small images are smooth as well
PANEL, GAP, LABEL, HEADING, MARGIN = 1.5, 0.14, 0.3, 0.62, 0.2  # inches
MOST_COLUMNS = 7  # panels of a row
MOST_CELLS, PIPE = 8, 80  # a small map's cells each way; columns where the output is no terminal
DOT = " ·"  # a cell that is hardly looked at: it shows where the image is


def smoothed(heat: Tensor, height: int, width: int) -> Tensor:
    """Return heat (Q, rows, columns) at each pixel (Q, h, w) by cubic B-splines, 1 where a word looks most."""
    down, across = (_splines(count, size).to(heat) for count, size in zip(heat.shape[1:], (height, width), strict=True))
    fine = down @ heat @ across.T
    return fine / fine.amax(dim=(1, 2), keepdim=True).clamp(min=1e-12)


def _splines(cells: int, size: int) -> Tensor:
    """Return how much each of size pixels takes of each cell, (size, cells); beyond the edge the outermost goes on."""
    place = (torch.arange(size, dtype=torch.float64) + 0.5) / size * cells - 0.5
    first = place.floor().long()
    t = place - first
    basis = torch.stack([(1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3], dim=1) / 6
    near = (first[:, None] + torch.arange(-1, 3)).clamp(0, cells - 1)  # (size, 4)
    return torch.zeros(size, cells, dtype=torch.float64).scatter_add_(1, near, basis)


def overlay(pixels: Pixels, share: Tensor) -> Pixels:
    """Return an image (h, w, 3) under shares (h, w): veiled where they are small, or of a dark image glowing where large."""
    lit = share.double().numpy(force=True)[..., None]
    seen = np.broadcast_to(pixels, (*pixels.shape[:2], 3)).astype(np.float64)
    if pixels.mean() < DARK:
        stops = np.linspace(0.0, 1.0, len(GLOW))
        colour = np.stack([np.interp(lit[..., 0], stops, channel) for channel in zip(*GLOW, strict=True)], axis=-1)
        opacity = STRONGEST * lit
    else:
        colour, opacity = np.array(VEIL), THICKEST * (1 - lit)
    mixed: Pixels = (seen * (1 - opacity) + colour * opacity).round().astype(np.uint8)
    return mixed


def save_strip(
    pixels: Pixels, heat: Tensor, words: Sequence[str], path: Path, *, heading: str = "", title: str = ""
) -> None:
    """Save an image (h, w, channels), then the same under the heat (Q, rows, columns) of each word, in rows, as a PNG."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    large = _enlarged(pixels)
    height, width = large.shape[:2]
    shares = smoothed(heat, height, width)
    panels = [np.broadcast_to(large, (height, width, 3)), *(overlay(large, share) for share in shares)]
    labels = ["", *readable_labels(words)]
    columns = _balanced(len(panels))
    rows = -(-len(panels) // columns)
    high = PANEL * height / max(height, width)
    wide = PANEL * width / max(height, width)
    top = HEADING if heading or title else 0.0
    inches = (2 * MARGIN + columns * (wide + GAP) - GAP, 2 * MARGIN + top + rows * (high + LABEL))
    with rc_context({"font.family": installed(FONTS)}):
        figure = Figure(figsize=inches, dpi=200)
        for number, (panel, label) in enumerate(zip(panels, labels, strict=True)):
            row, column = divmod(number, columns)
            x, y = MARGIN + column * (wide + GAP), MARGIN + top + row * (high + LABEL)
            axes = figure.add_axes((x / inches[0], 1 - (y + high) / inches[1], wide / inches[0], high / inches[1]))
            axes.imshow(panel, interpolation="bilinear")
            axes.set_axis_off()
            middle, below = (x + wide / 2) / inches[0], 1 - (y + high + 0.14) / inches[1]
            size = _fitting(label, wide)
            figure.text(middle, below, plain(label), ha="center", va="center", fontsize=size, color="#22201c")
        left = MARGIN / inches[0]
        room = (inches[0] - 2 * MARGIN) * 72
        if heading:
            size = min(12.0, room / max(0.62 * cell_len(heading), 1))
            figure.text(left, 1 - (MARGIN + 0.1) / inches[1], plain(heading), va="center", fontsize=size, weight="bold", color="#22201c")  # fmt: skip
        if title:
            figure.text(left, 1 - (MARGIN + 0.36) / inches[1], plain(title), va="center", fontsize=7.5, color="#736e65")
        save_png(figure, path)


def _enlarged(pixels: Pixels) -> Pixels:
    """Return an image of few pixels with each of them repeated, so that what lies over it can be smooth."""
    times = -(-SHORTEST // max(pixels.shape[:2]))
    return pixels.repeat(times, axis=0).repeat(times, axis=1)


def _balanced(panels: int) -> int:
    """Return how many panels a row has, so that the last row is nearly full."""
    rows = -(-panels // MOST_COLUMNS)
    return max(-(-panels // rows), 3)


def _fitting(label: str, inches: float) -> float:
    """Return the size of a label that is no wider than its panel."""
    return min(11.0, 72 * (inches + GAP / 2) / max(0.6 * cell_len(label), 1))


@dataclass(frozen=True)
class WordMaps(Drawing):
    """A small map for each word, side by side; each is shaded relative to its own strongest cell."""

    heat: Tensor  # (Q, rows, columns)
    words: Sequence[str]
    colour: bool = True
    notes: Sequence[str] = ()  # what stands below each word

    def fitted(self, width: int | None) -> Text:
        """Return the maps in rows of at most so many columns, each with its word above; None: 80."""
        side = -(-max(self.heat.shape[1:]) // MOST_CELLS)
        shown = F.avg_pool2d(self.heat.float(), side, ceil_mode=True)
        count, rows, columns = shown.shape
        wide = CELL * columns
        drawing = Text()
        each = max(((width or PIPE) + 2) // (wide + 2), 1)
        for first in range(0, count, each):
            some = range(first, min(first + each, count))
            heads = "  ".join(_centred(self.words[number], wide) for number in some)
            drawing.append(f"{heads.rstrip()}\n", style="bold")
            if self.notes:
                told = "  ".join(_centred(self.notes[number], wide) for number in some)
                drawing.append(f"{told.rstrip()}\n", style="dim")
            for row in range(rows):
                line = Text()
                for number in some:
                    line.append("" if number == first else "  ")
                    self._append(line, shown[number, row], float(shown[number].max()))
                drawing.append(line)
                drawing.append("\n")
            drawing.append("\n")
        if side > 1:
            drawing.append(f"each block: {side} × {side} cells of the image\n", style="dim")
        return drawing

    def _append(self, line: Text, row: Tensor, strongest: float) -> None:
        for weight in row.tolist():
            blocks, style = shade(weight / max(strongest, 1e-9), colour=self.colour)
            line.append(blocks if blocks.strip() else DOT, style=style)


def _centred(word: str, width: int) -> str:
    """Return a word in the middle of just so many columns; a longer one is cut and ends in …"""
    if cell_len(word) > width:
        return set_cell_size(word, width - 1) + "…"
    before = (width - cell_len(word)) // 2
    return " " * before + word + " " * (width - cell_len(word) - before)


def draw_word_maps(heat: Tensor, words: Sequence[str], *, notes: Sequence[str] = (), colour: bool = True) -> Drawing:
    """Return a drawing of heat (Q, rows, columns) for a terminal; notes stand below the words."""
    return WordMaps(heat, readable_labels(words), colour, notes)
