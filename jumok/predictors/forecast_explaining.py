"""How a forecast is explained: read again under observe, and with stretches of the past taken for missing.

Forecast and the window it was made of, (1, L, C) and what is known ahead → observe(model) → ForecastAttention
                                            └→ S copies, each without one stretch → Occlusion
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from jumok.config import SeriesData
from jumok.data.series.scaling import Scaling, Values
from jumok.data.series.windows import scaled
from jumok.inspection.observe import observe
from jumok.inspection.record import AttentionRecord
from jumok.inspection.series_tokens import Span, forecaster_sides, window_maps
from jumok.lens.forecast_look import ForecastAttention, Occlusion
from jumok.nn.batch import SeriesBatch
from jumok.nn.model import SeriesReader
from jumok.predictors.forecast import Forecast
from jumok.predictors.forecast_explanation import ForecastExplanation
from jumok.tasks.window_batches import PARTS, batch_of

# L look-back · H horizon · C columns · V targets · K known columns · F static features · S stretches

STRETCHES = 64  # into which a look-back is cut at most, where the model does not cut it itself
ROWS = 64  # windows that are read side by side


@torch.inference_mode()
def explain_forecast(
    model: SeriesReader,
    data: SeriesData,
    forecast: Forecast,
    history: Values,
    known: Values,
    static: Values,
    *,
    columns: Sequence[str],
    name: str = "",
    occlude: bool = True,
    stretch: int = 0,
) -> ForecastExplanation:
    """Return a forecast of H steps with where the model looked in the history (L, C) that it was made of.

    known (H, K) is what was known ahead, static (F,) what is constant. stretch is how many steps of the past are left out
    together (0: as the model cuts them); occlude=False leaves none out.
    """
    view = whole_history(forecast, data.look_back)
    scaling = Scaling.of(data)
    rows = np.full((1, data.look_back + data.horizon, history.shape[1]), np.nan)
    rows[0, : data.look_back] = history
    if known.shape[1]:
        rows[0, data.look_back :, -known.shape[1] :] = known
    arrays = scaled(rows, static[None], data, scaling)
    batch = batch_of(arrays).to(model.device)
    with observe(model) as record:
        model(batch)
    sides = forecaster_sides(
        model.tokens,
        view.history_labels,
        view.labels,
        columns,
        patch=model.patch,
        stride=model.stride,
        context=has_context(batch),
    )
    each = (
        range(len(data.targets)) if model.tokens == "patches" else range(1)
    )  # of patches, each target is read by itself
    occlusion = None
    if occlude:
        own = model.stride if model.tokens == "patches" else 0
        spans = stretches_of(data.look_back, stretch or own or -(-data.look_back // STRETCHES))
        occlusion = occluded(model, batch, arrays.level, scaling, spans)
    attention = ForecastAttention(
        tokens=model.tokens,
        sides=sides,
        records=tuple(AttentionRecord(window_maps(record, sides, row)) for row in each) if sides else (),
        occlusion=occlusion,
    )
    return ForecastExplanation(name, view, attention, data.season)


def has_context(batch: SeriesBatch) -> bool:
    """Return whether something is known of the time to come, or of the series."""
    return bool(batch.known.shape[-1] or batch.static.shape[-1])


def whole_history(forecast: Forecast, look_back: int) -> Forecast:
    """Return a forecast whose history has all steps of the look-back: what lies before its first is missing."""
    short = look_back - len(forecast.history)
    if short <= 0:
        return forecast
    dates = forecast.history_dates
    step = int(np.median(np.diff(dates))) if len(dates) > 1 else 1
    before = dates[0] - step * np.arange(short, 0, -1)
    missing = np.full((short, forecast.history.shape[1]), np.nan)
    return replace(
        forecast, history=np.concatenate([missing, forecast.history]), history_dates=np.concatenate([before, dates])
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
