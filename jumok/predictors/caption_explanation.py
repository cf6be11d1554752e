"""A caption explained: where the model looked in the image at each word, how sure it was, what else it might have said.

CaptionWriter.explain → CaptionExplanation → word_heat → the terminal, a PNG, JSON; view → a page
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from torch import Tensor

from jumok.data.images.decode import Pixels
from jumok.data.text.tokenizer import SPACE
from jumok.inspection.pointing import looks_alike
from jumok.inspection.record import END, AttentionRecord
from jumok.lens.caption_page import make_caption_page
from jumok.lens.caption_strip import draw_word_maps, save_strip
from jumok.lens.caption_view import CaptionView
from jumok.lens.html import Page
from jumok.lens.terminal import Drawing
from jumok.predictors.alignment import alignment_of
from jumok.predictors.explanation import Explanation, HeadWorth
from jumok.tasks.writing import Answer

# Q words

LOOKS_ALIKE = (
    "The words look at nearly the same places: their maps hardly differ, in any head. Such a captioner uses one view of "
    "the image for every word, whatever its attention could do."
)


@dataclass(frozen=True)
class WordHeat:
    """How much attention each cell of an image got at each word (Q, rows, columns), and of which layers and heads."""

    heat: Tensor
    words: tuple[str, ...]
    title: str
    pixels: Pixels  # of the image below it
    caption: str

    def draw(self, *, colour: bool = True) -> Drawing:
        """Return a small map per word for a terminal, which makes them fit."""
        return draw_word_maps(self.heat, self.words, colour=colour)

    def save_png(self, path: Path) -> None:
        """Draw a strip to a file: the image, then for each word the image where it looked."""
        save_strip(self.pixels, self.heat, self.words, path, heading=self.caption, title=self.title)


def word_heat_of(
    record: AttentionRecord,
    *,
    kind: str = "",
    layer: int | None = None,
    head: int | None = None,
    pixels: Pixels,
    caption: str,
) -> WordHeat:
    """Return where each word of a record looked in an image, by one layer and head, counted from 1, or a mean of all."""
    found = alignment_of(record, kind=kind, layer=layer, head=head)
    grid = next(one.grid for one in record.maps if one.grid and (not kind or one.kind == kind))
    count = len(found.queries) - (found.queries[-1:] == (END,))  # the end is no word
    heat = found.weights[:count].reshape(count, *grid)
    words = tuple(label.strip(SPACE) or label for label in found.queries[:count])
    return WordHeat(heat, words, found.title, pixels, caption)


@dataclass(frozen=True, repr=False)
class CaptionExplanation(Explanation[Answer]):
    """A caption, and where the model looked in the image while it was written; text is the image's name."""

    pixels: Pixels = field(kw_only=True)  # (h, w, C): as the model saw it, but not squeezed to a square
    others: tuple[Answer, ...] = ()  # further answers of the search, best first
    alternatives: tuple["CaptionExplanation", ...] = ()  # the same answers explained, where a page is made

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know of these maps: that words look alike."""
        words = len(self.output.labels) - (self.output.labels[-1:] == (END,))
        return (LOOKS_ALIKE,) if looks_alike(self.record, words=words) else ()

    def in_words(self) -> Self:
        """Return the same with words instead of subwords: a word looks where its subwords do on average."""
        whole, grids = super().in_words(), [found.grid for found in self.record.maps]
        maps = [replace(found, grid=grid) for found, grid in zip(whole.record.maps, grids, strict=True)]
        return replace(
            whole,
            record=AttentionRecord(maps),
            alternatives=tuple(one.in_words() for one in self.alternatives),
        )

    def is_over_image(self, kind: str = "") -> bool:
        """Return whether attention of a kind looks at the image; "": the kind that is shown first."""
        return any(found.grid for found in self.record.maps if found.kind == kind or (not kind and found.grid))

    def word_heat(self, *, kind: str = "", layer: int | None = None, head: int | None = None) -> WordHeat:
        """Return where each word looked, by one layer and head, counted from 1, or a mean of all."""
        return word_heat_of(
            self.record, kind=kind, layer=layer, head=head, pixels=self.pixels, caption=self.answer.text
        )

    def to_dict(self) -> dict[str, Any]:
        """Return caption, probabilities and further captions, as JSON has them."""
        told = {"image": self.text, "caption": self.answer.text, "log_probability": self.answer.log_probability}
        if self.others:
            told["n_best"] = [{"caption": one.text, "score": one.score} for one in (self.answer, *self.others)]
        return told | {name: value for name, value in super().to_dict().items() if name != "text"}

    def view(self, name: str = "", *, worth: Sequence[HeadWorth] = ()) -> CaptionView:
        """Return what a page shows of this, all answers of the search included."""
        plain = super().view(name, worth=worth)
        facts = {one: getattr(plain, one) for one in plain.__dataclass_fields__}
        facts["answers"] = [(one.text, one.score) for one in (self.answer, *self.others)]
        alternatives = [one.view(name) for one in self.alternatives]
        return CaptionView(**facts, pixels=self.pixels, warnings=self.warnings, alternatives=alternatives)

    def page(self, *, matrices: bool | None = None, lang: str | None = None) -> Page:
        """Return the page that shows this; it has no matrices, lang is as in jumok.lens.html.make_page."""
        return make_caption_page([self.view()], lang=lang)
