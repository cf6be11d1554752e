"""Forecasts explained by small models that have hardly learnt: of steps, patches and variables, and of a path."""

import numpy as np
import torch

from jumok.config import SeriesData
from jumok.models.forecaster import Forecaster, ForecasterConfig
from jumok.predictors.forecast import Forecast
from jumok.predictors.forecast_explaining import explain_forecast
from jumok.predictors.rolling import Roller

HOUR = 3_600_000_000  # microseconds
START = 1_467_331_200_000_000  # 2016-07-01
LOOK_BACK, HORIZON = 61, 11


def series_data(**given):
    """Return the [data] of two targets by the hour, filled in."""
    facts = {"date": "date", "targets": ["HULL", "OT"], "look_back": LOOK_BACK, "horizon": HORIZON, "season": 24}
    width = 2 + len(given.get("past", [])) + len(given.get("known", []))
    return SeriesData(**(facts | {"mean": [0.5] * width, "deviation": [2.0] * width} | given))


def forecaster(tokens, data, **given):
    """Return a model with random weights, whose last projection says something, too."""
    torch.manual_seed(3)
    sizes = {"look_back": data.look_back, "horizon": data.horizon, "targets": len(data.targets)}
    columns = {"past": len(data.past), "known": len(data.known), "relative": data.relative}
    small = {"layers": 2, "width": 12, "heads": 3, "feedforward": 17, "patch": 13, "stride": 7}
    config = ForecasterConfig(tokens=tokens, **(sizes | columns | small | given))
    model = Forecaster(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:  # sharp looks
                spread = 0.5 if "project" in name else 2.5 if "query" in name or "key" in name else 1.2
                parameter.normal_(0, spread / parameter.shape[-1] ** 0.5)
    return model


def history_of(columns, *, steps=LOOK_BACK, seed=5):
    """Return (steps, columns) with a daily wave."""
    noise = np.random.default_rng(seed).normal(0, 0.4, (steps, columns))
    wave = 3 * np.sin(np.arange(steps) * 2 * np.pi / 24)
    return 10 + wave[:, None] * np.linspace(1, 1.6, columns) + noise


def explained(tokens="steps", *, paths=False, truth=True, steps_known=0, name="etth1", model=None, **given):
    """Return the explanation of one forecast; steps_known: of so many steps the history has values."""
    facts = (
        {"paths": True, "targets": ["x", "y"], "transform": "difference", "look_back": 8, "season": 0} if paths else {}
    )
    options = {key: given.pop(key) for key in list(given) if key in ("past", "known")}
    data = series_data(**(facts | options))
    model = model or forecaster(tokens, data, **given)
    width = 2 + len(data.past) + len(data.known)
    history, known = history_of(width, steps=data.look_back), history_of(len(data.known), steps=data.horizon, seed=6)
    if paths:
        history = np.cumsum(np.random.default_rng(2).normal(0.4, 0.2, (8, 2)), axis=0)
    known_from = data.look_back - (steps_known or data.look_back)
    history[:known_from] = np.nan
    dates = START + HOUR * np.arange(data.look_back + data.horizon)
    levels = [] if model.head.kind == "point" else [0.1, 0.25, 0.75, 0.9]
    rolled = Roller(model, data).forecast(
        history[None], known[None], np.zeros((1, 0)), steps=data.horizon, levels=levels
    )
    came = rolled.point[0] + np.random.default_rng(4).normal(0, 0.3, rolled.point[0].shape)
    forecast = Forecast(
        series="",
        targets=list(map(str, data.targets)),
        date_kind="date" if not paths else "row",
        history_dates=dates[known_from : data.look_back] if not paths else np.arange(8),
        history=history[known_from:, :2],
        dates=dates[data.look_back :] if not paths else np.arange(8, 8 + data.horizon),
        point=rolled.point[0],
        quantiles={level: rolled.quantiles[0, ..., place] for place, level in enumerate(levels)},
        ways=None if rolled.ways is None else rolled.ways[0],
        likelihood=None if rolled.likelihood is None else rolled.likelihood[0],
        truth=came if truth else None,
        paths=paths,
        trained_steps=data.horizon,
    )
    columns = [*map(str, data.targets), *map(str, data.past), *map(str, data.known)]
    return explain_forecast(model, data, forecast, history, known, np.zeros(0), columns=columns, name=name)
