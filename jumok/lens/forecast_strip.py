"""A forecast and, below it, a strip of the weights with which one of its steps looked at the past: terminal and PNG.

ForecastView, weights (K,) of stretches of the past → Braille and blocks, or a figure
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.text import Text
from torch import Tensor

from jumok.inspection.series_tokens import Span
from jumok.lens.axes import Values, date_ticks, value_range
from jumok.lens.figure import FONTS, installed, plain, save_png
from jumok.lens.forecast_chart import (
    FAINT,
    FORECAST,
    HISTORY,
    STYLES,
    TRUTH,
    PathChart,
    TimeCanvas,
    band_name,
    fitting_width,
    heading_of,
    likely_ways,
    truth_of,
)
from jumok.lens.forecast_view import ForecastView
from jumok.lens.terminal import Drawing, shade
from jumok.texts import localized

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# L look-back · H horizon · K stretches

POINTED = "▲"  # below the step that looks
COLOURS = "YlOrBr"  # matplotlib's, from weight 0 to the strongest
HISTORY_COLOUR, FORECAST_COLOUR, TRUTH_COLOUR = "#3a6ea5", "#c8641e", "#4a8f5a"


@dataclass(frozen=True)
class LitChart(Drawing):
    """One target of a forecast, the whole look-back, and how much each of its steps was looked at."""

    view: ForecastView
    target: int
    step: int  # of the forecast, counted from 0: the one that looks
    weights: Tensor  # (K,)
    spans: Sequence[Span | None]  # (K,) the steps of each weight
    colour: bool = True

    def fitted(self, width: int | None) -> Text:
        """Return the drawing in at most so many columns."""
        view, seen, target = self.view, len(self.view.history), self.target
        width = fitting_width(width)
        history, point, truth = view.history[:, target], view.point[:, target], truth_of(view)[:, target]
        canvas = TimeCanvas([history, point, truth], steps=seen + len(view), width=width)
        canvas.stand(seen + self.step)
        canvas.line(canvas.places[:seen], canvas.down(history), HISTORY)
        canvas.line(canvas.places[seen:], canvas.down(truth), TRUTH)
        canvas.line(canvas.places[seen:], canvas.down(point), FORECAST)
        drawing = canvas.framed(heading_of(view.targets[target], view, width), view, seen)
        drawing.append(" " * (width - canvas.columns))
        shares = step_shares(self.weights, self.spans, seen)
        for column in range(canvas.columns):
            first, last = np.searchsorted(canvas.places, [2 * column - 0.5, 2 * column + 1.5]).tolist()
            steps = slice(max(min(first, last - 1), 0), last)  # a column between two steps shows the one before it
            if column == canvas.column(seen + self.step):
                drawing.append(POINTED, style=STYLES[FORECAST])
            else:
                blocks, style = shade(float(shares[steps].max(initial=0.0)), colour=self.colour)
                drawing.append(blocks[0], style=style)
        drawing.append("\n")
        return drawing if self.colour else Text(drawing.plain)


@dataclass(frozen=True)
class LitPath(Drawing):
    """A path from above, and below it how much each of its steps was looked at."""

    view: ForecastView
    weights: Tensor  # (K,)
    spans: Sequence[Span | None]  # (K,)
    colour: bool = True

    def fitted(self, width: int | None) -> Text:
        """Return the drawing in at most so many columns."""
        drawing = PathChart(self.view).fitted(width)
        shares = step_shares(self.weights, self.spans, len(self.view.history))
        for label, share in zip(self.view.history_labels, shares.tolist(), strict=True):
            blocks, style = shade(share, colour=self.colour)
            drawing.append(f"{label}  ", style=FAINT).append(blocks * 2 + "\n", style=style)
        return drawing if self.colour else Text(drawing.plain)


def draw_lit(
    view: ForecastView, target: int, step: int, weights: Tensor, spans: Sequence[Span | None], *, colour: bool = True
) -> Drawing:
    """Return a forecast with the weights (K,) of one of its steps, counted from 0; a path is seen from above."""
    if view.paths:
        return LitPath(view, weights, spans, colour)
    return LitChart(view, target, step, weights, spans, colour)


def save_lit(
    view: ForecastView,
    target: int,
    step: int,
    weights: Tensor,
    spans: Sequence[Span | None],
    path: Path,
    *,
    title: str = "",
) -> None:
    """Save the same as a PNG: the past stands on its weights, dark where it was looked at most."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    shares = step_shares(weights, spans, len(view.history))
    with rc_context({"font.family": installed(FONTS)}):
        figure = Figure(figsize=(7, 6) if view.paths else (10, 4.2), dpi=150, layout="constrained")
        axes = figure.subplots()
        (_path_axes if view.paths else _series_axes)(axes, view, target, step, shares)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8, loc="best")
        axes.set_title(plain(f"{view.labels[step]}: {title}"), fontsize=9, color="#555555")
        save_png(figure, path)


def _series_axes(axes: Axes, view: ForecastView, target: int, step: int, shares: Values) -> None:
    seen, count = len(view.history), len(view.history) + len(view)
    history, ahead = view.history[:, target], np.arange(seen, count)
    below = value_range([history, view.point[:, target]])
    room = 0.06 * (below[1] - below[0])
    axes.set_ylim(below[0] - 2 * room, below[1] + room)
    extent = (-0.5, seen - 0.5, below[0] - 2 * room, below[0] - room)
    axes.imshow(shares[None], cmap=COLOURS, vmin=0.0, vmax=1.0, extent=extent, aspect="auto", interpolation="nearest")
    axes.plot(np.arange(seen), history, color=HISTORY_COLOUR, linewidth=1, label=localized("history"))
    for low, high in view.bands():
        edges = view.quantiles[low][:, target], view.quantiles[high][:, target]
        axes.fill_between(ahead, *edges, color=FORECAST_COLOUR, alpha=0.18, linewidth=0, label=band_name((low, high)))
    if view.truth is not None:
        axes.plot(ahead, view.truth[:, target], color=TRUTH_COLOUR, linewidth=1, label=localized("what came"))
    axes.plot(ahead, view.point[:, target], color=FORECAST_COLOUR, linewidth=1.4, label=localized("forecast"))
    axes.axvline(seen + step, color=FORECAST_COLOUR, linewidth=0.8, linestyle=":")
    axes.autoscale(axis="x", tight=True)
    axes.autoscale(axis="y")
    labels = [*view.history_labels, *view.labels]
    found = date_ticks(labels, 6)
    axes.set_xticks(list(found), [plain(label) for label in found.values()])
    axes.set_ylabel(plain(view.targets[target]), fontsize=9)


def _path_axes(axes: Axes, view: ForecastView, target: int, step: int, shares: Values) -> None:
    for number, way in enumerate(likely_ways(view)):
        label = localized("ways it may go") if number == 0 else None
        axes.plot(way[:, 0], way[:, 1], color=FORECAST_COLOUR, alpha=0.3, linewidth=1, label=label)
    axes.plot(view.history[:, 0], view.history[:, 1], color=HISTORY_COLOUR, linewidth=1, label=localized("history"))
    axes.scatter(
        view.history[:, 0], view.history[:, 1], s=16 + 120 * shares, c=shares, cmap=COLOURS, vmin=0.0, vmax=1.0,
        edgecolors=HISTORY_COLOUR, zorder=3,
    )  # fmt: skip
    if view.truth is not None:
        axes.plot(view.truth[:, 0], view.truth[:, 1], color=TRUTH_COLOUR, linewidth=1, label=localized("what came"))
    axes.plot(view.point[:, 0], view.point[:, 1], color=FORECAST_COLOUR, linewidth=1.4, label=localized("forecast"))
    axes.plot(*view.point[step], marker="o", color=FORECAST_COLOUR)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel(plain(view.targets[0]), fontsize=9)
    axes.set_ylabel(plain(view.targets[1]), fontsize=9)


def step_shares(weights: Tensor, spans: Sequence[Span | None], steps: int) -> NDArray[np.float64]:
    """Return how strong each step of the past is, 1 the strongest: of stretches that overlap, the stronger counts."""
    sizes = weights.abs().double().numpy(force=True)
    shares = np.zeros(steps)
    for size, span in zip(sizes.tolist(), spans, strict=True):
        if span is not None:
            inside = slice(max(span[0], 0), max(span[1], 0))
            shares[inside] = np.maximum(shares[inside], size)
    return shares / max(float(shares.max(initial=0.0)), 1e-30)
