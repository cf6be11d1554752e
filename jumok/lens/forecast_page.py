"""The page of a forecast: history and forecast with bands; point at a step, and what was looked at lights up.

ForecastLook → JSON and packed numbers → lens/page/forecast.html, forecast.js → one text

Attention between steps keeps every weight of the forecast; where the past looks at itself and has many steps, they are
shown in blocks. Occlusion is told as one more kind of looking: how a step of the forecast changes without a stretch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from jumok.inspection.record import AttentionMap
from jumok.inspection.series_tokens import Tokens, step_tokens, stretch_tokens
from jumok.lens.forecast_look import ForecastLook
from jumok.lens.forecast_view import Values
from jumok.lens.html import Page, assemble_page
from jumok.lens.packing import Packing

MOST_EXACT = 500_000  # weights of a page that are kept as they are; more are rounded to 16 bits
MOST_TOKENS = 128  # of a past that looks at itself; more steps are shown in blocks
OCCLUSION = "occlusion"  # the kind under which a page shows changes
NOTHING_ELSE: dict[str, Any] = {"positions": (), "layers": (), "choices": (), "worth": ()}  # what only texts have
FOOTER = (
    "point at a step, click or Enter pins it, arrow keys walk · the strongest weight shown has the strongest colour"
)


def make_forecast_page(looks: Sequence[ForecastLook], *, lang: str | None = None) -> Page:
    """Return the page of one or more forecasts: of several runs, or of several series; lang as in make_page."""
    packing = Packing()
    runs = [_describe(look, packing) for look in looks]
    first = looks[0].forecast
    title = f"{first.series or ', '.join(first.targets[:3])} · {first.labels[0]}"
    return assemble_page(
        "forecast", title=title, data={"runs": runs}, packing=packing, footer=FOOTER, styles=("forecast",), lang=lang
    )


@dataclass
class _Sides:
    """The sides of all maps, each once."""

    found: list[Tokens] = field(default_factory=list)

    def number(self, side: Tokens) -> int:
        if side not in self.found:
            self.found.append(side)
        return self.found.index(side)


def _describe(look: ForecastLook, packing: Packing) -> dict[str, Any]:
    """Return the JSON of one forecast, in the form of a text's run, so that it is read and chosen from likewise."""
    view, sides = look.forecast, _Sides()
    maps = list(_maps_of(look))
    exact = sum(found.weights.numel() for found, *_ in maps) <= MOST_EXACT
    described = [
        {
            "path": found.path,
            "kind": found.kind,
            "layer": found.layer,
            "target": target,
            "queries": sides.number(queries),
            "keys": sides.number(keys),
            "weights": (packing.exact if exact else packing.rounded)(found.weights),
        }
        for found, queries, keys, target in maps
    ]
    levels = sorted(view.quantiles)

    def packed(values: Values | None) -> int | None:
        return None if values is None else packing.exact(torch.from_numpy(np.ascontiguousarray(values)))

    return {
        "name": look.name,
        "series": view.series,
        "tokens": look.attention.tokens if look.attention else "",
        "paths": view.paths,
        "targets": view.targets,
        "dates": view.history_labels,
        "ahead": view.labels,
        "trained": view.trained_steps,
        "warnings": look.attention.warnings if look.attention else (),
        "marks": look.marks,
        "history": packed(view.history),
        "point": packed(view.point),
        "truth": packed(view.truth),
        "levels": levels,
        "quantiles": packed(np.stack([view.quantiles[level] for level in levels]) if levels else None),
        "ways": packed(view.ways),
        "likelihood": packed(view.likelihood),
        "maps": described,
        "output": sides.number(step_tokens("forecast", view.labels, first=len(view.history))),
        "sides": [vars(side) | {"words": ()} for side in sides.found],
        **NOTHING_ELSE,
    }


def _maps_of(look: ForecastLook) -> Iterator[tuple[AttentionMap, Tokens, Tokens, int | None]]:
    """Yield maps, what looks and is looked at, and the target that they are of; None: all."""
    view, attention = look.forecast, look.attention
    if attention is None:
        return
    for target, record in enumerate(attention.records):
        for found in record.maps:
            yield *in_blocks(found, *attention.sides[found.kind]), target if len(attention.records) > 1 else None
    if attention.occlusion is not None:
        stretches = stretch_tokens("stretches", attention.occlusion.spans, view.history_labels)
        forecast = step_tokens("forecast", view.labels, first=len(view.history))
        targets: list[int | None] = [None] if view.paths else [*range(len(view.targets))]
        for of in targets:
            change = attention.occlusion.of(of).T[None]  # (1, H, S)
            yield AttentionMap("", OCCLUSION, 0, change), forecast, stretches, of


def in_blocks(found: AttentionMap, queries: Tokens, keys: Tokens) -> tuple[AttentionMap, Tokens, Tokens]:
    """Return a map of steps that look at each other in blocks where they are many; others as they are.

    A block is looked at as much as its steps together, and looks where they do on average.
    """
    count, first = len(keys.labels), keys.spans[0]
    if queries != keys or count <= MOST_TOKENS or first is None:
        return found, queries, keys
    size = -(-count // MOST_TOKENS)
    groups = [place // size for place in range(count)]
    spans = [(start, min(start + size, count)) for start in range(0, count, size)]
    named = stretch_tokens(keys.name, spans, keys.labels)
    blocks = replace(named, spans=tuple((first[0] + start, first[0] + last) for start, last in spans))
    return replace(found.merged(groups, groups), queries=blocks.labels, keys=blocks.labels), blocks, blocks
