"""An alignment drawn in the terminal: a line per output token, a column per source token, dark where it looked.

AttentionMap (H, Q, K) → mean of heads (Q, K) → blocks, readable with and without colour
"""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from torch import Tensor

SHADES = "  ░░▒▒▓▓██"  # two characters for each of five levels
CELL = 2  # columns of a cell: a Korean letter fits


def draw_alignment(weights: Tensor, queries: Sequence[str], keys: Sequence[str], *, colour: bool = True) -> Text:
    """Return the drawing of weights (Q, K); each line is shaded relative to its own strongest weight."""
    width = max(cell_len(label) for label in queries)
    drawing = Text()
    for line in _stacked(keys):
        drawing.append(" " * (width + 2) + line + "\n", style="bold")
    for label, row in zip(queries, weights.tolist(), strict=True):
        drawing.append(" " * (width - cell_len(label)) + label + "  ", style="bold")
        strongest = max(max(row), 1e-9)
        for weight in row:
            blocks, style = shade(weight / strongest, colour=colour)
            drawing.append(blocks, style=style)
        best = max(range(len(row)), key=row.__getitem__)
        drawing.append(f"  {keys[best]} {row[best]:.0%}\n", style="dim")
    return drawing


def shade(share: float, *, colour: bool) -> tuple[str, Style]:
    """Return the blocks of a cell that has this share of the strongest weight, and their style."""
    level = min(int(5 * share), 4)
    style = (
        Style(color=f"rgb({70 + 185 * level // 4},{70 + 130 * level // 4},{70 - 10 * level})")
        if colour
        else Style.null()
    )
    return SHADES[CELL * level : CELL * (level + 1)], style


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
