"""Where a forecaster looks in the same few val windows: what is filmed at each evaluation.

val windows at even distances → one pass under observe → a Shot of each: the last target's forecast as a line of blocks,
                                beside what came, and the maps, in blocks of steps where these are many
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from jumok.data.series.scaling import Values
from jumok.data.series.windows import Windows
from jumok.inspection.film import Shot
from jumok.inspection.observe import observe
from jumok.inspection.record import AttentionMap
from jumok.inspection.series_tokens import Sides, forecaster_sides, window_maps
from jumok.nn.model import SeriesReader
from jumok.nn.threads import one_thread_for
from jumok.tasks.window_batches import batch_of

# L look-back · H horizon · V targets

MOST_QUERIES, MOST_KEYS = 24, 48  # lines and columns of a map: more are tedious to look at, and large on disk
BLOCKS = "▁▂▃▄▅▆▇█"
MOST_BLOCKS = 32  # of a forecast in one line

Probe = tuple[Windows, int]  # windows, and the number of one of them


def forecast_probes(splits: Sequence[Windows], *, count: int) -> list[Probe]:
    """Return so many windows of val at even distances; of several corpora each has its turn."""
    places = {id(windows): np.linspace(0, len(windows) - 1, count).astype(int) for windows in splits if len(windows)}
    turns = [(windows, int(places[id(windows)][turn])) for turn in range(count) for windows in splits if len(windows)]
    return turns[:count]


class ForecastCamera:
    """Show where a model looks in the probes."""

    def __init__(self, probes: Sequence[Probe]) -> None:
        self.probes = probes

    @torch.inference_mode()
    def __call__(self, model: SeriesReader) -> tuple[Shot, ...]:
        """Return a shot of each probe."""
        return tuple(self._shot(model, windows, number) for windows, number in self.probes)

    def _shot(self, model: SeriesReader, windows: Windows, number: int) -> Shot:
        data, numbers = windows.data, np.array([number])
        arrays = windows.arrays(numbers)
        batch = batch_of(arrays).to(model.device)
        with one_thread_for(1, model), observe(model) as record:
            point = model.head.point(model(batch)).numpy(force=True)
        target = len(data.targets) - 1
        sides = _sides(model, windows, context=bool(batch.known.shape[-1] or batch.static.shape[-1]))
        kind = next(iter(sides))  # of steps, where the forecast looks
        maps = window_maps(record, {kind: sides[kind]}, target if model.tokens == "patches" else 0)
        (series,), (row,) = windows.locate(numbers)
        name, column = windows.store.names[series], windows.store.columns[target]
        came = windows.values(numbers)[0, data.look_back :, target]
        forecast = windows.scaling.undo(point, arrays.level)[0, :, target]
        shown = [filmed(found) for found in maps]
        return Shot(
            " · ".join(filter(None, [name, str(column), f"{row + 1:,}"])),
            drawn_line(came, came),
            drawn_line(forecast, came),
            tuple(shown),
            tuple(range(len(shown[0].keys))),
            tuple(range(len(shown[0].queries))),
            sides=(sides[kind][0].name, sides[kind][1].name),
            answer_is="forecast",
        )


def _sides(model: SeriesReader, windows: Windows, *, context: bool) -> Sides:
    """Return what looks at what, steps counted from the last one known: −1, −2, … before it, +1, +2, … after it."""
    data = windows.data
    return forecaster_sides(
        model.tokens,
        [f"−{data.look_back - place}" for place in range(data.look_back)],
        [f"+{place + 1}" for place in range(data.horizon)],
        windows.store.columns,
        patch=model.patch,
        stride=model.stride,
        context=context,
    )


def filmed(found: AttentionMap) -> AttentionMap:
    """Return a map in blocks of neighbours, each called by its first: it looks as they do, and is looked at as they are."""
    across = -(-len(found.keys) // MOST_KEYS)
    down = across if found.queries == found.keys else -(-len(found.queries) // MOST_QUERIES)
    groups = [[n // size for n in range(len(side))] for side, size in ((found.queries, down), (found.keys, across))]
    return replace(found.merged(*groups), queries=found.queries[::down], keys=found.keys[::across])


def drawn_line(values: Values, beside: Values) -> str:
    """Return values as a line of blocks, at the heights of what came, and the first and last of them."""
    shown = values[:: -(-len(values) // MOST_BLOCKS)]
    there = beside[np.isfinite(beside)]
    low, high = (float(there.min()), float(there.max())) if len(there) else (0.0, 0.0)
    share = (np.nan_to_num(shown, nan=low) - low) / ((high - low) or 1.0)
    heights = np.clip((share * (len(BLOCKS) - 1)).round(), 0, len(BLOCKS) - 1).astype(int)
    line = "".join(BLOCKS[height] if there else " " for height, there in zip(heights, np.isfinite(shown), strict=True))
    return f"{line}  {values[0]:.4g} … {values[-1]:.4g}"
