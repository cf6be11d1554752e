"""A drawing explained: which words and which earlier cells each cell looked at, and how sure its code was.

Drawer.explain → DrawingExplanation → shares, word_heat → the terminal, a PNG; to_dict → JSON; page
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from torch import Tensor

from jumok.data.text.tokenizer import SPACE
from jumok.inspection.cells import word_places
from jumok.inspection.labels import readable_labels
from jumok.inspection.record import AttentionRecord
from jumok.lens.caption_strip import draw_word_maps, save_strip
from jumok.lens.drawing_page import make_drawing_page
from jumok.lens.drawing_view import DrawingView
from jumok.lens.html import Page
from jumok.lens.terminal import Drawing
from jumok.predictors.alignment import Alignment, alignment_of
from jumok.predictors.shown import Shown

# G cells of the grid · W words · K keys: the text's tokens, the mark behind which an image begins, the cells but the last


class Shares(NamedTuple):
    """How the attention of all cells is divided, a mean over cells; together 1."""

    words: tuple[float, ...]  # of each word
    marks: float  # start and end of the text, begin of the image
    cells: float  # earlier cells


@dataclass(frozen=True, repr=False)
class DrawingExplanation(DrawingView, Shown):
    """A drawing of a text, or a given image, and what its cells looked at."""

    def __repr__(self) -> str:
        """Return one line: the text, the grid, and how many maps there are."""
        rows, columns = self.grid
        return f"DrawingExplanation({self.text!r}, {rows} × {columns} cells, {len(self.record.maps)} attention maps)"

    @property
    def log_probability(self) -> float:
        """Of all codes together, given the text."""
        return float(self.probabilities.double().clamp(min=1e-38).log().sum())

    @property
    def word_labels(self) -> tuple[str, ...]:
        """The text's tokens that are no start and no end, without the mark of the space before them."""
        found = (self.tokens[place] for place in word_places(self.tokens))
        return tuple(readable_labels([label.strip(SPACE) or label for label in found]))

    def in_words(self) -> Self:
        """Return the same with words instead of subwords: a word is looked at as much as its subwords together."""
        count, cells = self.words[-1] + 1, self.codes.size
        maps = [found.merged(range(cells), [*self.words, *range(count, count + cells)]) for found in self.record.maps]
        keys = tuple(label.strip(SPACE) or label for label in maps[0].keys)
        maps = [replace(found, keys=keys) for found in maps]
        return replace(self, tokens=keys[:count], words=tuple(range(count)), record=AttentionRecord(maps))

    def looked_at(self, *, layer: int | None = None, head: int | None = None) -> Alignment:
        """Return what each cell looked at (G, K), by one layer and head, counted from 1, or the mean of all."""
        return alignment_of(self.record, layer=layer, head=head)

    def shares(self, *, layer: int | None = None, head: int | None = None) -> Shares:
        """Return how all cells' attention is divided among words, marks and earlier cells."""
        mean = self.looked_at(layer=layer, head=head).weights.mean(dim=0)  # (K,)
        words, cells = mean[word_places(self.tokens)], mean[len(self.tokens) + 1 :]
        marks = float(mean.sum() - words.sum() - cells.sum())
        return Shares(tuple(words.tolist()), max(marks, 0.0), float(cells.sum()))

    def word_heat(self, *, layer: int | None = None, head: int | None = None) -> Tensor:
        """Return how much each cell looked at each word (W, h, w)."""
        found = self.looked_at(layer=layer, head=head).weights[:, word_places(self.tokens)]  # (G, W)
        return found.T.reshape(-1, *self.grid)

    def draw_words(self, *, layer: int | None = None, head: int | None = None, colour: bool = True) -> Drawing:
        """Return a small map per word for a terminal, which makes them fit; below a word its share of all attention."""
        notes = [f"{share:.1%}" for share in self.shares(layer=layer, head=head).words]
        return draw_word_maps(self.word_heat(layer=layer, head=head), self.word_labels, notes=notes, colour=colour)

    def title(self, *, layer: int | None = None, head: int | None = None) -> str:
        """Return what maps of words show, and of which layers and heads."""
        return f"cells that looked at each word: {self.looked_at(layer=layer, head=head).title}"

    def save_png(self, path: Path, *, layer: int | None = None, head: int | None = None) -> None:
        """Draw a strip to a file: the image, then for each word the image where its cells looked at the word."""
        heat, title = self.word_heat(layer=layer, head=head), self.title(layer=layer, head=head)
        save_strip(self.pixels, heat, self.word_labels, path, heading=self.text, title=title)

    def to_dict(self, *, layer: int | None = None, head: int | None = None) -> dict[str, Any]:
        """Return codes, their probabilities and what each cell looked at, as JSON has them."""
        found, shares = self.looked_at(layer=layer, head=head), self.shares(layer=layer, head=head)
        return {
            "text": self.text,
            "image_given": self.given,
            "guidance": self.guidance,
            "codes": self.codes.tolist(),
            "probabilities": self.probabilities.tolist(),
            "log_probability": self.log_probability,
            "words": self.word_labels,
            "shares": shares._asdict(),
            "what": found.title,
            "queries": found.queries,
            "keys": found.keys,
            "weights": found.weights.tolist(),
        }

    def page(self, *, matrices: bool | None = None, lang: str | None = None) -> Page:
        """Return the page that shows this; it has no matrices, lang is as in jumok.lens.html.make_page."""
        return make_drawing_page([self], lang=lang)
