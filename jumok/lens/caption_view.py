"""What a page shows of one model that described an image: a view of its words, and the image that they look at.

CaptionExplanation → CaptionView → lens/caption_page.py
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jumok.lens.view import View


@dataclass(frozen=True)
class CaptionView(View):
    """A caption and its record, ready to be drawn. Maps that have a grid look at the image's cells."""

    pixels: np.ndarray[Any, Any] | None = None  # (height, width, channels), uint8; None: only the cells are known
    warnings: Sequence[str] = ()  # what to know of these maps
    alternatives: Sequence["CaptionView"] = ()  # of the search's further answers, in their order, where they are known
