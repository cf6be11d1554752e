"""Attention of a drawer as people see it: cells of an image that look at words, and at the cells drawn before them.

maps (B, H, S + G, S + G) over text, mark, codes → maps (H, G, S + G) of one example: a row for each cell

A cell's code is told from the place before its own, so what the place of a code looked at belongs to the cell after it.
"""

from collections.abc import Sequence
from dataclasses import replace

from jumok.inspection.labels import cell_labels
from jumok.inspection.record import AttentionRecord

# B batch · H heads · S tokens of the text, its start and end included · G cells of the grid

START, END = "[START]", "[END]"
BEGIN = "[BEGIN]"  # the label of the mark behind which an image begins
Grid = tuple[int, int]


def cells_looking(record: AttentionRecord, tokens: Sequence[str], grid: Grid, row: int = 0) -> AttentionRecord:
    """Return what each cell of one example looked at, given the labels of its text with start and end.

    The keys are the text's tokens, the mark, then the cells but the last, which no cell comes after.
    """
    cells = cell_labels(grid, 0)
    first, last = len(tokens), len(tokens) + len(cells)
    keys = (*tokens, BEGIN, *cells[:-1])
    return AttentionRecord([
        replace(found, weights=found.weights[row, :, first:last, :last], queries=cells, keys=keys, details=None)
        for found in record.maps
    ])  # fmt: skip


def word_places(tokens: Sequence[str]) -> list[int]:
    """Return the places of a text's tokens that are no start and no end."""
    return [place for place, label in enumerate(tokens) if label not in (START, END)]
