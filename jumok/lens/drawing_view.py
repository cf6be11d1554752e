"""What a page shows of one drawing: the text, the image in its grid of codes, and what each cell looked at.

DrawingExplanation → DrawingView → lens/drawing_page.py
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from jumok.inspection.record import AttentionRecord


@dataclass(frozen=True)
class DrawingView:
    """A drawing, and what its cells looked at: maps as jumok.inspection.cells.cells_looking has them."""

    text: str
    tokens: tuple[str, ...]  # of the text, its start and end included
    words: tuple[int, ...]  # the word of each token, counted from 0; start and end are words of their own
    codes: NDArray[np.int64]  # (h, w)
    probabilities: Tensor  # (h, w): of each code, given the text and all cells before it
    rivals: tuple[tuple[tuple[int, float], ...], ...]  # of each cell: the likeliest other codes
    pixels: NDArray[np.uint8]  # (height, width, channels)
    record: AttentionRecord
    guidance: float = 1.0  # that it was drawn with; the maps are of the pass with the text all the same
    given: bool = False  # whether the image was given and not drawn
    name: str = ""  # of the run
    characters: bool = False  # whether the model reads characters

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.codes.shape
        return rows, columns
