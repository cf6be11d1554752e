"""What is shown of an image and its codes: the image, what the codes tell of it, the codes as a map.

CodesView → the terminal (images side by side), a PNG (lens/codes_figure.py), a page (lens/codes_page.py)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.lens.code_map import code_map
from jumok.lens.drawing_blocks import ImageBlocks
from jumok.lens.terminal import Drawing

Pixels = np.ndarray[Any, Any]  # (S, S, channels), uint8


@dataclass(frozen=True)
class CodesView:
    """An image, what its codes tell, and the codes."""

    name: str  # of the run
    pixels: Pixels
    seen: Pixels  # the same as the codes tell it
    codes: NDArray[np.int64]  # (h, w)
    psnr: float
    ssim: float
    count: int  # codes that there are
    levels: Sequence[int] = ()  # of each digit of a code; empty where it is a mere number
    source: str = ""  # what the image is called

    @property
    def titles(self) -> tuple[str, str, str]:
        """What stands below each of the three images."""
        rows, columns = self.codes.shape
        return (
            self.source or "the image",
            f"as its codes tell it: PSNR {self.psnr:.1f} dB, SSIM {self.ssim:.3f}",
            f"{rows} × {columns} codes, {len(np.unique(self.codes))} different",
        )

    @property
    def images(self) -> tuple[Pixels, Pixels, Pixels]:
        """The image, what its codes tell, and their map: all of one size."""
        return self.pixels, self.seen, code_map(self.codes, self.levels, len(self.pixels))

    def draw(self, *, lines: int = 0) -> Drawing:
        """Return the three side by side for a terminal of so many lines; 0: any number."""
        return ImageBlocks(self.images, self.titles, lines)
