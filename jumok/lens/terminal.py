"""An alignment drawn in the terminal: a line per output token, a column per source token, dark where it looked.

AttentionMap (H, Q, K) → mean of heads (Q, K) → blocks, readable with and without colour, folded to the terminal's width
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.text import Text
from torch import Tensor

from jumok.inspection.labels import readable_labels

SHADES = "  ░░▒▒▓▓██"  # two characters for each of five levels
CELL = 2  # columns of a cell: a Korean letter fits
GAP = 2  # columns between labels, cells and what is told behind them
LONGEST = 24  # columns of a label before a line, where lines are folded


class Drawing(ABC):
    """Something drawn in blocks; a terminal gets it no wider than it is, a file or a pipe whole."""

    @abstractmethod
    def fitted(self, width: int | None) -> Text:
        """Return the drawing in at most so many columns; None: as wide as it is."""

    @property
    def plain(self) -> str:
        """The whole drawing without colour."""
        return self.fitted(None).plain

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield what fits the console."""
        yield self.fitted(options.max_width if console.is_terminal else None)


@dataclass(frozen=True)
class AlignmentDrawing(Drawing):
    """Weights (Q, K) as blocks, with a label for each line and column."""

    weights: Tensor
    queries: Sequence[str]
    keys: Sequence[str]
    colour: bool = True

    def fitted(self, width: int | None) -> Text:
        """Return the drawing in blocks of columns, one below the other, none wider than width; None: one block."""
        if not self.keys:
            return Text()
        told = max(map(cell_len, self._told()))  # what stands behind a line
        before = max(cell_len(label) for label in self.queries)
        if width is None or before + GAP + CELL * len(self.keys) + told <= width:
            return self._block(0, len(self.keys), before=before, tells=True)
        before = min(before, LONGEST, max(width - GAP - CELL, 1))
        room = max((width - before - GAP) // CELL, 1)
        drawing, count = Text(), len(self.keys)
        for first in range(0, count, room):
            last = min(first + room, count)
            tells = before + GAP + CELL * (last - first) + told <= width
            if room < count:
                drawing.append(f"columns {first + 1} to {last} of {count}\n", style="dim")
            drawing.append(self._block(first, last, before=before, tells=tells))
        return drawing

    def _block(self, first: int, last: int, *, before: int, tells: bool) -> Text:
        """Return the lines of some columns, with a heading; tells: each line ends with its strongest weight."""
        drawing = Text()
        for line in _stacked(self.keys[first:last]):
            drawing.append(" " * (before + GAP) + line + "\n", style="bold")
        for label, row, told in zip(self.queries, self.weights.tolist(), self._told(), strict=True):
            drawing.append(_fitted(label, before) + " " * GAP, style="bold")
            strongest = max(max(row), 1e-9)
            for weight in row[first:last]:
                blocks, style = shade(weight / strongest, colour=self.colour)
                drawing.append(blocks, style=style)
            drawing.append(f"{told if tells else ''}\n", style="dim")
        return drawing

    def _told(self) -> list[str]:
        """Return where each line looks most."""
        best = [max(range(len(row)), key=row.__getitem__) for row in self.weights.tolist()]
        return [f"{' ' * GAP}{self.keys[key]} {float(self.weights[line, key]):.0%}" for line, key in enumerate(best)]


def draw_alignment(weights: Tensor, queries: Sequence[str], keys: Sequence[str], *, colour: bool = True) -> Drawing:
    """Return the drawing of weights (Q, K); each line is shaded relative to its own strongest weight."""
    return AlignmentDrawing(weights, readable_labels(queries), readable_labels(keys), colour)


def shade(share: float, *, colour: bool) -> tuple[str, Style]:
    """Return the blocks of a cell that has this share of the strongest weight, and their style."""
    level = min(int(5 * share), 4)
    style = (
        Style(color=f"rgb({70 + 185 * level // 4},{70 + 130 * level // 4},{70 - 10 * level})")
        if colour
        else Style.null()
    )
    return SHADES[CELL * level : CELL * (level + 1)], style


def _fitted(label: str, width: int) -> str:
    """Return a label in just so many columns, right-aligned; a longer one is cut and ends in …"""
    if cell_len(label) > width:
        return set_cell_size(label, width - 1) + "…"
    return " " * (width - cell_len(label)) + label


def _stacked(labels: Sequence[str]) -> list[str]:
    """Return the labels written downwards, each in its own column, ending on the same line."""
    tallest = max(len(label) for label in labels)
    lines = []
    for height in range(tallest):
        line = ""
        for label in labels:
            letter = label.rjust(tallest)[height]
            line += letter + " " * (CELL - cell_len(letter))
        lines.append(line.rstrip())
    return lines
