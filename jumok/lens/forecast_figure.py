"""Forecasts as a PNG, drawn by matplotlib (the extra `plot`): history, forecast and bands; of paths the ways they may go.

ForecastView of each series → a panel for each target, in a grid → PNG
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from jumok.lens.axes import date_ticks
from jumok.lens.figure import FONTS, installed, plain, save_png
from jumok.lens.forecast_chart import band_name, likely_ways, shown_history, truth_of
from jumok.lens.forecast_view import ForecastView
from jumok.texts import localized, localized_word

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PANELS = 8
WIDE, HIGH, SQUARE, LEGEND = 7.6, 2.5, 4.6, 0.35  # inches of a panel, of one of a path, and of the legend
MOST_DATES, NAME = 5, 1.8  # NAME: inches of one in the legend
# Okabe and Ito's colours, which the colour-blind can tell apart.
HISTORY, FORECAST, TRUTH, GREY = "#333333", "#0072B2", "#D55E00", "#888888"
FAINTEST, STRONGEST = 0.16, 0.34  # opacity of the outermost and of the innermost band


def save_forecasts(views: Sequence[ForecastView], path: Path) -> int:
    """Draw the first panels of forecasts as a PNG, and return how many found no room."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure  # not pyplot: no global state, no window; a PNG is drawn by Agg

    charts = [(view, target) for view in views for target in range(1 if view.paths else len(view.targets))]
    shown = charts[:MOST_PANELS]
    paths = bool(views) and views[0].paths
    columns = 1 if len(shown) <= (1 if paths else 3) else 2
    rows = -(-len(shown) // columns)
    size = (SQUARE * columns, SQUARE * rows + LEGEND) if paths else (WIDE * columns, HIGH * rows + LEGEND)
    with rc_context({"font.family": installed(FONTS), "font.size": 9, "axes.unicode_minus": False}):
        figure = Figure(figsize=size, dpi=150, layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, (view, target) in zip(panels, shown, strict=False):
            _path(axes, view) if view.paths else _against_time(axes, view, target)
            axes.spines[["top", "right"]].set_visible(False)
        for axes in panels[len(shown) :]:
            axes.set_visible(False)
        handles, labels = panels[0].get_legend_handles_labels()
        abreast = max(int(size[0] / NAME), 2)  # names of the legend that stand side by side
        figure.legend(handles, labels, loc="outside upper left", ncols=min(abreast, len(labels)), frameon=False)
        save_png(figure, path)
    return len(charts) - len(shown)


def _against_time(axes: Axes, view: ForecastView, target: int) -> None:
    seen, bands = shown_history(view), view.bands()
    history, point, truth = view.history[-seen:, target], view.point[:, target], truth_of(view)[:, target]
    last, ahead = history[-1:], np.arange(len(point) + 1)
    before = np.arange(1 - seen, 1)
    axes.plot(before, history, color=HISTORY, linewidth=1.0, label=localized_word("history"))
    for number, (low, high) in enumerate(bands):
        opacity = FAINTEST + (STRONGEST - FAINTEST) * number / max(len(bands) - 1, 1)
        below, above = (np.append(last, view.quantiles[level][:, target]) for level in (low, high))
        axes.fill_between(ahead, below, above, color=FORECAST, alpha=opacity, linewidth=0, label=band_name((low, high)))
    for way in likely_ways(view):
        axes.plot(ahead, np.append(last, way[:, target]), color=FORECAST, alpha=0.3, linewidth=0.8)
    if np.isfinite(truth).any():
        axes.plot(ahead, np.append(last, truth), color=TRUTH, linewidth=1.0, label=localized("what came"))
    axes.plot(ahead, np.append(last, point), color=FORECAST, linewidth=1.8, label=localized_word("forecast"))
    axes.axvline(0, color=GREY, linewidth=0.8, linestyle=(0, (2, 2)))
    axes.plot([0], last, marker="o", markersize=4, color=HISTORY)
    if len(view) > view.trained_steps:
        name = localized("forecast from forecasts")
        axes.axvline(view.trained_steps, color=GREY, linewidth=1.0, linestyle=(0, (1, 3)), label=name)
    ticks = date_ticks([*view.history_labels[-seen:], *view.labels], MOST_DATES)
    axes.set_xticks([place + 1 - seen for place in ticks], list(ticks.values()))
    axes.set_xlim(1 - seen, len(point))
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.6)
    axes.set_title(plain(" · ".join(filter(None, [view.series, view.targets[target]]))), loc="left", fontsize=10)


def _path(axes: Axes, view: ForecastView) -> None:
    """Draw a path seen from above, a metre as long each way; a way is as strong as it is likely."""
    last = view.history[-1:]
    axes.plot(*view.history.T, color=HISTORY, linewidth=1.2, marker="o", markersize=3, label=localized_word("history"))
    if view.ways is not None and view.likelihood is not None:
        strongest = float(view.likelihood.max())
        for number, way in enumerate(np.argsort(view.likelihood)[::-1]):
            opacity = 0.08 + 0.5 * float(view.likelihood[way]) / strongest
            name = localized("ways it may go") if number == 0 else None
            axes.plot(
                *np.concatenate([last, view.ways[way]]).T, color=FORECAST, alpha=opacity, linewidth=1.0, label=name
            )
    if view.truth is not None:
        axes.plot(
            *np.concatenate([last, view.truth]).T, color=TRUTH, linewidth=1.2, marker="o", markersize=2.5,
            label=localized("what came"),
        )  # fmt: skip
    axes.plot(
        *np.concatenate([last, view.point]).T, color=FORECAST, linewidth=1.6, marker="o", markersize=2.5,
        label=localized_word("forecast"),
    )  # fmt: skip
    axes.plot(*last.T, marker="o", markersize=6, color=HISTORY)
    axes.set_aspect("equal", adjustable="datalim")
    axes.grid(color="#e4e4e4", linewidth=0.6)
    axes.set_xlabel(plain(view.targets[0]))
    axes.set_ylabel(plain(view.targets[1]))
    axes.set_title(plain(f"{view.series} · {view.labels[0]}".strip(" ·")), loc="left", fontsize=10)
