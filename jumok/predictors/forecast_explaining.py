"""How a forecast is explained: made as always, but under observe, and again with stretches of the past taken for missing.

table, series and row of the first step to forecast → one window (1, L + H, C) → observe(model) → ForecastExplanation
                                                    └→ S copies, each without one stretch → Occlusion
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jumok.config import SeriesData
from jumok.data.series.scaling import Scaling, Values
from jumok.data.series.series_store import SeriesStore
from jumok.data.series.windows import scaled
from jumok.errors import DataError
from jumok.inspection.observe import observe
from jumok.inspection.record import AttentionRecord
from jumok.inspection.series_tokens import Sides, Span, forecaster_sides, window_maps
from jumok.lens.forecast_look import ForecastAttention, Occlusion
from jumok.lens.forecast_view import ForecastView
from jumok.nn.batch import SeriesBatch
from jumok.nn.forecast_heads import ForecastHead, QuantileHead
from jumok.nn.model import SeriesReader
from jumok.predictors.base import ModelPredictor
from jumok.predictors.forecast_explanation import ForecastExplanation
from jumok.tasks.window_batches import PARTS, batch_of

# L look-back · H horizon · C columns · V targets · P parameters · Q levels · K ways · S stretches

BANDS = (0.1, 0.25, 0.75, 0.9)  # levels of a head that has all of them
STRETCHES = 64  # into which a look-back is cut at most, where the model does not cut it itself
ROWS = 64  # windows that are read side by side

Dates = NDArray[np.int64]


@torch.inference_mode()
def explain_forecast(
    predictor: ModelPredictor[Any, SeriesReader, Any],
    store: SeriesStore,
    series: int,
    row: int,
    *,
    occlude: bool = True,
    stretch: int = 0,
) -> ForecastExplanation:
    """Return the forecast from row on, counted in the series' own rows, with what it was made of.

    row may be one behind the last: then nobody knows yet what comes. stretch is how many steps of the past are left out
    together (0: as the model cuts them); occlude=False leaves none out.
    """
    data, model, config = predictor.run.recipe.data, predictor.model, predictor.run.recipe.model
    assert isinstance(data, SeriesData)
    scaling = Scaling.of(data)
    values, dates = window_of(store, data, series, row)
    arrays = scaled(values[None], store.static[series : series + 1], data, scaling)
    batch = batch_of(arrays).to(model.device)
    with observe(model) as record:
        parameters = model(batch)
    view = view_of(model.head, parameters, values, dates, store, series, data=data, level=arrays.level)
    kind = getattr(config, "tokens", "")
    sides = sides_of(config, view.history_labels, view.labels, store.columns, context=has_context(batch))
    rows = range(len(data.targets)) if kind == "patches" else range(1)  # each target is read by itself
    occlusion = None
    if occlude:
        own = getattr(config, "stride", 0) if kind == "patches" else 0
        spans = stretches_of(data.look_back, stretch or own or -(-data.look_back // STRETCHES))
        occlusion = occluded(model, batch, arrays.level, scaling, spans)
    attention = ForecastAttention(
        tokens=kind if sides else "",
        sides=sides,
        records=tuple(AttentionRecord(window_maps(record, sides, number)) for number in rows) if sides else (),
        occlusion=occlusion,
    )
    return ForecastExplanation(predictor.run.folder.name, view, attention, data.season)


def sides_of(
    config: object, dates: Sequence[str], ahead: Sequence[str], columns: Sequence[str], *, context: bool
) -> Sides:
    """Return what looks at what in a model of a configuration."""
    facts = {name: getattr(config, name, 0) for name in ("patch", "stride")}
    return forecaster_sides(getattr(config, "tokens", ""), dates, ahead, columns, context=context, **facts)


def has_context(batch: SeriesBatch) -> bool:
    """Return whether something is known of the time to come, or of the series."""
    return bool(batch.known.shape[-1] or batch.static.shape[-1])


def view_of(
    head: ForecastHead,
    parameters: Tensor,
    values: Values,
    dates: Dates,
    store: SeriesStore,
    series: int,
    *,
    data: SeriesData,
    level: Values,
) -> ForecastView:
    """Return what a head says of one window (1, H, V, P), in the data's own units, beside what was and what came."""
    scaling, count = Scaling.of(data), len(data.targets)

    def undone(found: Tensor) -> Values:
        return scaling.undo(found.numpy(force=True), level[0])

    quantiles, ways = {}, head.ways(parameters)
    if head.kind != "point":
        levels = head.levels if isinstance(head, QuantileHead) else BANDS
        found = head.quantiles(parameters, levels)[0]  # (H, V, Q)
        quantiles = {each: undone(found[..., place]) for place, each in enumerate(levels)}
    truth = values[data.look_back :, :count]
    return ForecastView(
        series=store.names[series],
        targets=list(store.columns[:count]),
        date_kind=store.date_kind,
        history_dates=dates[: data.look_back],
        history=values[: data.look_back, :count],
        dates=dates[data.look_back :],
        point=undone(head.point(parameters)[0]),
        quantiles=quantiles,
        ways=None if ways is None else undone(ways[0][0]),
        likelihood=None if ways is None else ways[1][0].numpy(force=True).astype(np.float64),
        truth=truth if np.isfinite(truth).any() else None,
        paths=data.paths,
        trained_steps=data.horizon,
    )


@torch.inference_mode()
def occluded(
    model: SeriesReader, batch: SeriesBatch, level: Values, scaling: Scaling, spans: Sequence[Span]
) -> Occlusion:
    """Return how the point forecast of one window changes without each stretch of its past, in the data's own units."""

    def forecast(some: Sequence[Span | None]) -> Values:
        return scaling.undo(model.head.point(model(without(batch, some))).numpy(force=True), level)  # (n, H, V)

    changes = []
    for first in range(0, len(spans), ROWS):
        found = forecast([None, *spans[first : first + ROWS]])  # beside the whole, so that nothing else differs
        changes.append(found[1:] - found[:1])
    return Occlusion(tuple(spans), torch.from_numpy(np.concatenate(changes)))


def without(batch: SeriesBatch, spans: Sequence[Span | None]) -> SeriesBatch:
    """Return copies of the one window of a batch, each with a stretch of its past taken for missing; None: with none."""
    parts = [getattr(batch, name) for name in PARTS]
    many = SeriesBatch(*(part.repeat(len(spans), *[1] * (part.dim() - 1)) for part in parts))
    for row, span in enumerate(spans):
        if span is not None:
            stretch = slice(max(span[0], 0), max(span[1], 0))
            many.past[row, stretch] = 0.0
            many.observed[row, stretch] = False
    return many


def stretches_of(look_back: int, steps: int) -> list[Span]:
    """Return the past cut into stretches of so many steps; the last ends with it, the first may be shorter."""
    firsts = range(look_back - steps, -steps, -steps)
    return [(max(first, 0), first + steps) for first in reversed(firsts)]


def window_of(store: SeriesStore, data: SeriesData, series: int, row: int) -> tuple[Values, Dates]:
    """Return the rows (L + H, C) and dates (L + H,) around a series' row; behind the table's end they are missing."""
    begin, end = int(store.offsets[series]), int(store.offsets[series + 1])
    length, name = end - begin, f" of {store.names[series]}" if store.names[series] else ""
    if not data.look_back <= row <= length:
        raise DataError(
            f"a forecast needs the {data.look_back} steps before it, and step {row + 1}{name} has {min(row, length)}; "
            f"choose one from {data.look_back + 1} to {length + 1}"
        )
    first, last = begin + row - data.look_back, min(begin + row + data.horizon, end)
    values = np.full((data.look_back + data.horizon, store.values.shape[1]), np.nan)
    values[: last - first] = store.values[first:last]
    dates = np.array(store.dates[first:last])
    if missing := len(values) - len(dates):
        if store.values.shape[1] > len(data.targets) + len(data.past):
            raise DataError(
                f"the table ends {missing} steps before the forecast does, and what is known ahead of them is missing; "
                f"add rows with their {', '.join(map(str, [*data.known, *data.calendar]))}, or look at an earlier date"
            )
        step = int(np.median(np.diff(dates)))
        dates = np.concatenate([dates, dates[-1] + step * np.arange(1, missing + 1)])
    return values, dates
