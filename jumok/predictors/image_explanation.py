"""A verdict on an image explained: where the model looked in it.

ImageClassifier.explain → ImageExplanation → heat_map → the terminal, a PNG; view → a page
"""

from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from jumok.data.images.decode import Pixels
from jumok.errors import ConfigError
from jumok.inspection.record import AttentionRecord
from jumok.lens.heat import chosen_heat, draw_heat, save_heat, save_matrices
from jumok.lens.html import Page
from jumok.lens.image_page import make_image_page
from jumok.lens.image_view import ImageView
from jumok.lens.terminal import Drawing
from jumok.predictors.classifier import Verdict
from jumok.predictors.shown import Shown

BEST = 3  # classes that a line names


@dataclass(frozen=True)
class HeatMap:
    """How much attention each cell of an image got: (rows, columns), and of which layers and heads."""

    heat: Tensor
    title: str
    pixels: Pixels  # of the image below it

    def draw(self, *, colour: bool = True) -> Drawing:
        """Return the drawing for a terminal, which makes it fit."""
        return draw_heat(self.heat, colour=colour)

    def save_png(self, path: Path, *, caption: str) -> None:
        """Draw it over the image to a file."""
        save_heat(self.pixels, self.heat, path, title=f"{caption} · {self.title}")


@dataclass(frozen=True)
class ImageExplanation(Shown):
    """A verdict, and where the model looked."""

    verdict: Verdict
    pixels: Pixels  # (S, S, C): the image as the model saw it
    record: AttentionRecord  # maps (H, Q, K) of the one image, with their grids
    heat: Tensor | None  # (rows, columns): how much of the verdict comes from each cell; None: no attention
    source: str = ""  # the image's file
    note: str = ""  # said where there is no attention
    mixing: Tensor | None = None  # (layers, P, P): how a model without attention mixes its patches, where it does

    def __repr__(self) -> str:
        """Return one line: the image, its class, and how many maps there are."""
        label, image = self.verdict.label[:20], f"{self.source[-30:]!r} → " if self.source else ""
        return (
            f"ImageExplanation({image}{label!r} {self.verdict.probability:.1%}, {len(self.record.maps)} attention maps)"
        )

    @property
    def summary(self) -> str:
        """The likeliest classes with their probabilities, in one line."""
        return ", ".join(f"{label} {share:.1%}" for label, share in list(self.verdict.probabilities.items())[:BEST])

    def heat_map(self, *, kind: str = "", layer: int | None = None, head: int | None = None) -> HeatMap:
        """Return the rollout over all layers, or the map of one layer, or of one of its heads; counted from 1."""
        maps = self.record.maps
        if kind and kind not in self.record.kinds:
            raise ConfigError(f"--kind {kind}: this model has {', '.join(self.record.kinds)}")
        if layer is not None and layer > len(maps):
            raise ConfigError(f"--layer {layer}: there are {len(maps)}")
        if layer is None:
            if head is not None:
                raise ConfigError("--head needs --layer: heads of different layers have nothing in common")
            assert self.heat is not None, "a model without attention has no heat map"
            return HeatMap(self.heat, "rollout over all layers", self.pixels)
        chosen = maps[layer - 1]
        if head is not None and head > len(chosen.weights):
            raise ConfigError(f"--head {head}: there are {len(chosen.weights)}")
        which = f"head {head}" if head else "mean of heads"
        return HeatMap(chosen_heat(chosen, head), f"layer {layer}, {which}", self.pixels)

    def save_mixing_png(self, path: Path) -> bool:
        """Draw how a model without attention mixes its patches; return False where it mixes none."""
        if self.mixing is None:
            return False
        title = "how each place (a line) is mixed from all (columns), layer by layer"
        save_matrices(self.mixing, path, title=title)
        return True

    def view(self, name: str = "") -> ImageView:
        """Return what a page shows of this."""
        classes = list(self.verdict.probabilities.items())
        return ImageView(name, self.record, self.pixels, self.source, classes, self.note)

    def page(self, *, matrices: bool | None = None, lang: str | None = None) -> Page:
        """Return the page that shows this; matrices and lang as in jumok.lens.html.make_page."""
        return make_image_page([self.view()], matrices=matrices, lang=lang)
