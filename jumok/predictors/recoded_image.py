"""An image as its codes tell it: what `jumok look` shows of image codes, and a notebook.

CodePredictor.recode → RecodedImage → draw → the terminal; save_png; page
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from jumok.data.images.decode import Pixels
from jumok.lens.code_map import digits_of
from jumok.lens.codes_figure import save_codes
from jumok.lens.codes_page import make_codes_page
from jumok.lens.codes_view import CodesView
from jumok.lens.html import Page
from jumok.lens.terminal import Drawing
from jumok.predictors.shown import Shown


@dataclass(frozen=True)
class RecodedImage(Shown):
    """An image, its codes, and the image that these tell."""

    pixels: Pixels  # (S, S, C): the image as the model saw it
    seen: Pixels  # (S, S, C): what its codes tell
    codes: NDArray[np.int64]  # (h, w)
    psnr: float  # of the two, in dB
    ssim: float
    source: str = ""  # the image's file
    count: int = 0  # codes that there are
    levels: tuple[int, ...] = ()  # of each digit of a code, the lowest first; empty where codes have none

    def __repr__(self) -> str:
        """Return one line: the image, its codes, and how like it the codes tell it."""
        rows, columns = self.codes.shape
        image = f"{self.source[-30:]!r}, " if self.source else ""
        return f"RecodedImage({image}{rows} × {columns} codes, PSNR {self.psnr:.1f} dB, SSIM {self.ssim:.3f})"

    @property
    def reconstruction(self) -> Image.Image:
        """What the codes tell, as a Pillow image."""
        return Image.fromarray(self.seen[..., 0] if self.seen.shape[2] == 1 else self.seen)

    @property
    def different(self) -> int:
        """How many different codes the image has."""
        return len(np.unique(self.codes))

    @property
    def digits(self) -> NDArray[np.int64] | None:
        """The digits (h, w, E) of each code, the lowest first; None where codes have none."""
        return digits_of(self.codes, self.levels) if self.levels else None

    def to_dict(self) -> dict[str, Any]:
        """Return codes and scores for JSON."""
        return {
            "image": self.source,
            "psnr": self.psnr,
            "ssim": self.ssim,
            "different": self.different,
            "count": self.count,
            "levels": list(self.levels),
            "codes": self.codes.tolist(),
        }

    def view(self, name: str = "") -> CodesView:
        """Return what is shown of this; name is that of the run."""
        return CodesView(
            name, self.pixels, self.seen, self.codes, self.psnr, self.ssim, self.count, self.levels, self.source
        )

    def draw(self, *, lines: int = 0) -> Drawing:
        """Return image, reconstruction and codes side by side for a terminal of so many lines; 0: any number."""
        return self.view().draw(lines=lines)

    def save_png(self, path: Path) -> None:
        """Draw image, reconstruction and codes to a file."""
        save_codes([self.view()], path)

    def page(self, *, matrices: bool | None = None, lang: str | None = None) -> Page:
        """Return the page that shows this; lang as in jumok.lens.html.make_page. There are no matrices."""
        return make_codes_page([self.view()], lang=lang)
