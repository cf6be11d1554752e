"""Drawings as answers: pixels and codes, as JSON, as PNG files, as a sheet or a page, as images in a notebook."""

import html
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from jumok.data.images.decode import Pixels
from jumok.errors import DataError
from jumok.lens.contact_sheet import contact_sheet, enlarged, in_square, png_bytes, save_sheet
from jumok.lens.drawing_blocks import ImageBlocks
from jumok.lens.drawn_page import DrawnView, make_drawn_page
from jumok.lens.html import Page
from jumok.lens.image_page import png_of
from jumok.lens.terminal import Drawing as TerminalDrawing
from jumok.predictors.base import AnyPredictor
from jumok.predictors.drawing_readers import reader_of
from jumok.texts import localized
from jumok.writing import Refusal, explained, write_bytes

UNWRITTEN = Refusal(DataError, "choose another folder", "free some space, or choose another folder")
LONGEST_NAME = 60  # characters of a text that a file's name keeps
MOST_SHOWN = 64  # images of a notebook's cell


@dataclass(frozen=True, eq=False)
class Drawn(DrawnView):
    """One drawing of a text."""

    _: KW_ONLY
    codes: NDArray[np.int64]  # (rows, columns)
    log_probability: float  # of the codes that were drawn; guided, where the drawing was
    given_rows: int = 0  # rows of codes, from the top, that were given and not drawn

    def __repr__(self) -> str:
        height, width = self.pixels.shape[:2]
        return f"Drawn({self.text!r}, {width} × {height} pixels, seed {self.seed})"

    @property
    def image(self) -> Image.Image:
        """The drawing as a Pillow image."""
        return Image.fromarray(self.pixels[..., 0] if self.pixels.shape[2] == 1 else self.pixels)

    def to_dict(self) -> dict[str, Any]:
        """Return the drawing as JSON has it."""
        told: dict[str, Any] = {
            "text": self.text,
            "seed": self.seed,
            "log_probability": round(self.log_probability, 6),
            "codes": self.codes.tolist(),
        }
        if self.given_rows:
            told["given_rows"] = self.given_rows
        return told | ({"seen": self.seen} if self.seen else {})

    def save(self, folder: str | Path) -> Path:
        """Write a PNG, named by its text and the first number that is free, into a folder; return its path."""
        known = PngInfo()
        known.add_itxt("Description", self.text)
        known.add_itxt("Comment", f"seed {self.seed}")
        drawn = io.BytesIO()
        self.image.save(drawn, format="PNG", pnginfo=known)
        path = _free_name(Path(folder), file_name(self.text))
        try:
            write_bytes(path, drawn.getvalue(), UNWRITTEN)
        except BaseException:
            with suppress(OSError):
                path.unlink()
            raise
        return path

    def _repr_png_(self) -> bytes:
        """Show the image in a notebook, large enough to be seen."""
        return png_bytes(enlarged(self.pixels))


class Drawings(list[Drawn]):
    """Drawings by one run, those of a text side by side; in a notebook, images with their seeds."""

    def __init__(
        self, drawings: Iterable[Drawn] = (), *, run: str = "", options: Mapping[str, float] | None = None
    ) -> None:
        """Take drawings, the name of their run, and the decoding options that are worth telling."""
        super().__init__(drawings)
        self.run, self.options = run, dict(options or {})

    def by_text(self) -> dict[str, list[Drawn]]:
        """Return the drawings of each text."""
        found: dict[str, list[Drawn]] = {}
        for one in self:
            found.setdefault(one.text, []).append(one)
        return found

    def read_by(self, reader: AnyPredictor) -> "Drawings":
        """Return the same drawings, each with what a captioner or an image classifier sees in it."""
        seen = reader_of(reader).read(np.stack([one.pixels for one in self])) if self else []
        told = [replace(one, seen=words) for one, words in zip(self, seen, strict=True)]
        return Drawings(told, run=self.run, options=self.options)

    def sheet(self) -> Image.Image:
        """Return all drawings on one image: a row for each text, or nearly a square of one text."""
        return contact_sheet(self._rows())

    def save_png(self, path: str | Path) -> None:
        """Write all drawings as one image."""
        save_sheet(self._rows(), Path(path))

    def _rows(self) -> list[Sequence[Pixels]]:
        texts = [[one.pixels for one in own] for own in self.by_text().values()]
        if len(texts) == 1 or all(len(images) == 1 for images in texts):
            return in_square([image for images in texts for image in images])
        return [*texts]

    def save(self, folder: str | Path) -> Iterator[Path]:
        """Write each drawing into a folder of its own PNG; yield the paths."""
        with explained(folder, UNWRITTEN):
            Path(folder).mkdir(parents=True, exist_ok=True)
        return (one.save(folder) for one in self)

    def page(self, *, lang: str | None = None) -> Page:
        """Return the page of all drawings; lang as in jumok.lens.html.make_page."""
        given = max((one.given_rows for one in self), default=0)
        return make_drawn_page(self, run=self.run, options=self.options, given_rows=given, lang=lang)

    def draw(self, *, lines: int = 0) -> list[tuple[str, TerminalDrawing]]:
        """Return each text with its drawings in blocks for a terminal of so many lines."""
        return [
            (text, ImageBlocks([one.pixels for one in own], [label_of(one) for one in own], lines))
            for text, own in self.by_text().items()
        ]

    def _repr_html_(self) -> str:
        """Show the images in a notebook."""
        figures = [
            f'<figure style="margin: 0; width: 9rem"><img src="{png_of(one.pixels)}" alt="{html.escape(one.text)}" '
            f'style="width: 100%; image-rendering: pixelated"><figcaption style="font-size: small">'
            f"{html.escape(label_of(one))}</figcaption></figure>"
            for one in self[:MOST_SHOWN]
        ]
        texts = "".join(f"<p>{html.escape(text)}</p>" for text in self.by_text())
        left = len(self) - MOST_SHOWN
        more = f"<p>{localized(f'and {left:,} more drawings')}</p>" if left > 0 else ""
        return f'{texts}<div style="display: flex; flex-wrap: wrap; gap: 0.7rem">{"".join(figures)}</div>{more}'


def _free_name(folder: Path, name: str) -> Path:
    """Return a new file, empty and ours, with the first number that is free: nothing that is there is written over."""
    for number in count(1):
        path = folder / f"{name}-{number}.png"
        with explained(path, UNWRITTEN), suppress(FileExistsError):
            path.touch(exist_ok=False)
            break
    return path


def label_of(drawn: DrawnView) -> str:
    """Return what stands under a drawing: its seed, and what a reader saw."""
    return localized(f"seed {drawn.seed}") + (f"\n{drawn.seen}" if drawn.seen else "")


def file_name(text: str) -> str:
    """Return the words of a text as the beginning of a file's name that every system takes."""
    words = "-".join(re.findall(r"\w+", text.lower()))
    return words[:LONGEST_NAME].rstrip("-_") or "drawing"
