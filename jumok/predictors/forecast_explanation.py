"""A forecast explained: what the model says comes next, what came, and at which steps of the past it looked.

explain_forecast → ForecastExplanation → looked: the weights of one step → the terminal, a PNG, JSON; page
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from torch import Tensor

from jumok.errors import ConfigError
from jumok.inspection.series_tokens import Tokens, stretch_tokens
from jumok.lens.forecast_look import ForecastAttention, ForecastLook
from jumok.lens.forecast_page import OCCLUSION, make_forecast_page
from jumok.lens.forecast_strip import draw_lit, save_lit
from jumok.lens.html import Page
from jumok.lens.terminal import Drawing
from jumok.predictors.alignment import alignment_of
from jumok.predictors.forecast import Forecast
from jumok.predictors.shown import Shown

# K keys

WHY_NOT = {  # attention does not tell where a step of the forecast looks
    "patches": "Patches look at patches, and the head reads all of them for every step of the forecast.",
    "variables": "Variables look at variables, and the head reads the whole of one for every step of the forecast.",
}


@dataclass(frozen=True)
class Looked:
    """What one step of a forecast looked at, or is changed by: a weight (K,) for each token, and what they are of."""

    weights: Tensor  # of attention they sum to 1; of occlusion they are changes, in the data's own units
    keys: Tokens
    title: str
    step: int  # counted from 0
    target: int

    @property
    def is_attention(self) -> bool:
        """Whether weights are shares of a look, and not changes."""
        return self.keys.name != "stretches"

    def strongest(self, count: int = 3) -> list[tuple[str, float]]:
        """Return the tokens of the largest weights, by size."""
        order = self.weights.abs().argsort(descending=True, stable=True)[:count].tolist()
        return [(self.keys.labels[place], float(self.weights[place])) for place in order]


@dataclass(frozen=True, repr=False)
class ForecastExplanation(ForecastLook, Shown):
    """A forecast, and where the model looked."""

    forecast: Forecast

    def __repr__(self) -> str:
        """Return one line: the series, its first step, and how many maps there are."""
        view, maps = self.forecast, sum(len(record.maps) for record in self._attention.records)
        return f"ForecastExplanation({view.series or view.targets[-1]!r} from {view.labels[0]}, {maps} attention maps)"

    @property
    def _attention(self) -> ForecastAttention:
        assert self.attention is not None, "what is explained has been looked at"
        return self.attention

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know of the maps."""
        return self._attention.warnings

    def find_target(self, name: str = "") -> int:
        """Return the number of a target by its name; "": the last, where tables have their main one."""
        targets = self.forecast.targets
        if name and name not in targets:
            raise ConfigError(f"--target {name}: the forecast has {', '.join(targets)}")
        return targets.index(name) if name else len(targets) - 1

    def looked(
        self, step: int, *, target: str = "", kind: str = "", layer: int | None = None, head: int | None = None
    ) -> Looked:
        """Return what a step of the forecast, counted from 1, looked at; kind "": attention where it tells, else occlusion.

        layer and head are counted from 1; without them it is the mean of all.
        """
        view, attention = self.forecast, self._attention
        if not 1 <= step <= len(view):
            raise ConfigError(f"--step {step}: the forecast has {len(view)}")
        number = self.find_target(target)
        kind = kind or (OCCLUSION if not attention.tells_steps else "cross")
        if kind == OCCLUSION:
            if layer is not None or head is not None:
                raise ConfigError(
                    f"--layer and --head are of attention, and for each step this model has {OCCLUSION} alone: {self.why}"
                    if not attention.tells_steps
                    else f"--layer and --head are of attention; leave out --kind {OCCLUSION}"
                )
            assert attention.occlusion is not None, "occlude=False has left it out"
            keys = stretch_tokens("stretches", attention.occlusion.spans, view.history_labels)
            change = attention.occlusion.of(None if view.paths else number)[:, step - 1]
            what = "the path" if view.paths else view.targets[number]
            return Looked(change, keys, f"how {what} changes without each stretch of the past", step - 1, number)
        if kind != "cross" or not attention.tells_steps:
            known = f"cross or {OCCLUSION}" if attention.tells_steps else OCCLUSION
            raise ConfigError(
                f"--kind {kind}: where a step of the forecast looks is told by {known}; the page has all (--html FILE)"
            )
        found = alignment_of(attention.record_of(number), kind=kind, layer=layer, head=head)
        return Looked(found.weights[step - 1], attention.sides[kind][1], found.title, step - 1, number)

    @property
    def why(self) -> str:
        """Why attention does not tell where a step of the forecast looks; '' where it does."""
        return WHY_NOT.get(self._attention.tokens, "")

    def draw(self, looked: Looked, *, colour: bool = True) -> Drawing:
        """Return a small chart for a terminal, and below it a strip of the weights."""
        return draw_lit(self.forecast, looked.target, looked.step, looked.weights, looked.keys.spans, colour=colour)

    def save_png(self, looked: Looked, path: Path) -> None:
        """Draw the same to a file."""
        save_lit(self.forecast, looked.target, looked.step, looked.weights, looked.keys.spans, path, title=looked.title)

    def to_dict(self) -> dict[str, Any]:
        """Return the forecast as JSON has it."""
        return self.forecast.to_dict()

    def look(self, name: str = "") -> Self:
        """Return the same under a run's name, for a page of several."""
        return replace(self, name=name or self.name)

    def page(self, *, matrices: bool | None = None, lang: str | None = None) -> Page:
        """Return the page that shows this; it has no matrices, lang is as in jumok.lens.html.make_page."""
        return make_forecast_page([self], lang=lang)
