"""A forecast as an SVG inside a notebook's cell: drawn without matplotlib, readable on white and on black.

ForecastView → history, forecast and bands as lines and shapes → one text
"""

from collections.abc import Sequence
from html import escape

import numpy as np

from jumok.lens.axes import Values, date_ticks, round_ticks, tick_labels, value_range
from jumok.lens.forecast_chart import likely_ways, shown_history, truth_of
from jumok.lens.forecast_view import ForecastView

WIDTH, HEIGHT, PATH_HEIGHT = 680, 190, 380  # of a chart, in pixels
LEFT, RIGHT, TOP, BOTTOM = 64, 14, 24, 24  # around it
MOST_TICKS, MOST_DATES = 5, 5
HISTORY, FORECAST, TRUTH = "#5b8dc9", "#e08a1e", "#4a9d5b"


def forecast_svg(view: ForecastView, target: int) -> str:
    """Return the chart of one target, or of a path."""
    return _path(view) if view.paths else _against_time(view, target)


def _against_time(view: ForecastView, target: int) -> str:
    seen, bands = shown_history(view), view.bands()
    history, point, truth = view.history[-seen:, target], view.point[:, target], truth_of(view)[:, target]
    quantiles = {level: values[:, target] for level, values in view.quantiles.items()}
    ways = [way[:, target] for way in likely_ways(view)]
    edges = [quantiles[level] for level in bands[0]] if bands else []
    low, high = value_range([history, point, truth, *edges, *ways])
    x = np.linspace(LEFT, WIDTH - RIGHT, seen + len(point))

    def y(values: Values) -> Values:
        return TOP + (high - values) / (high - low) * (HEIGHT - TOP - BOTTOM)

    last, ahead = history[-1:], x[seen - 1 :]
    parts = _ticks(round_ticks(low, high, MOST_TICKS), y, upwards=True)
    for place, label in date_ticks([*view.history_labels[-seen:], *view.labels], MOST_DATES).items():
        anchor = "start" if x[place] < 2 * LEFT else "end" if x[place] > WIDTH - LEFT else "middle"
        parts.append(_text(x[place], HEIGHT - 6, label, anchor=anchor))
    for lower, upper in bands:
        edge = np.concatenate([np.append(last, quantiles[upper]), np.append(last, quantiles[lower])[::-1]])
        both = zip(np.concatenate([ahead, ahead[::-1]]).tolist(), y(edge).tolist(), strict=True)
        points = " ".join(f"{across:.1f},{down:.1f}" for across, down in both if np.isfinite(down))
        parts.append(f'<polygon points="{points}" fill="{FORECAST}" fill-opacity="0.18"/>')
    parts.append(
        f'<line x1="{x[seen - 1]:.1f}" x2="{x[seen - 1]:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="currentColor" '
        'stroke-opacity="0.35" stroke-dasharray="2 3"/>'
    )
    parts += [_line(ahead, y(np.append(last, way)), FORECAST, opacity=0.3) for way in ways]
    parts.append(_line(x[:seen], y(history), HISTORY))
    parts.append(_line(ahead, y(np.append(last, truth)), TRUTH))
    parts.append(_line(ahead, y(np.append(last, point)), FORECAST, width=2.0))
    parts.append(_dot(x[seen - 1], float(y(last)[0])))
    return _svg(HEIGHT, " · ".join(filter(None, [view.series, view.targets[target]])), parts)


def _path(view: ForecastView) -> str:
    """Return a path seen from above, a metre as long each way."""
    ways = likely_ways(view)
    lines = [view.history, view.point, truth_of(view), *ways]
    (left, right), (low, high) = (value_range([line[:, axis] for line in lines]) for axis in (0, 1))
    unit = min((WIDTH - LEFT - RIGHT) / (right - left), (PATH_HEIGHT - TOP - BOTTOM) / (high - low))

    def x(values: Values) -> Values:
        return LEFT + (values - left) * unit

    def y(values: Values) -> Values:
        return TOP + (high - values) * unit

    last = view.history[-1:]
    parts = _ticks(round_ticks(low, high, MOST_TICKS), y, upwards=True)
    parts += _ticks(round_ticks(left, right, MOST_TICKS), x, upwards=False)
    for line, colour, opacity in [
        *((np.concatenate([last, way]), FORECAST, 0.3) for way in ways),
        (view.history, HISTORY, 1.0),
        (np.concatenate([last, truth_of(view)]), TRUTH, 1.0),
        (np.concatenate([last, view.point]), FORECAST, 1.0),
    ]:
        parts.append(_line(x(line[:, 0]), y(line[:, 1]), colour, opacity=opacity))
    parts.append(_dot(float(x(last[:, 0])[0]), float(y(last[:, 1])[0])))
    return _svg(PATH_HEIGHT, " · ".join(filter(None, [view.series, *view.targets])), parts)


def _svg(height: int, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" style="max-width: 100%; display: block" '
        f'font-family="sans-serif" font-size="11" fill="none" role="img" aria-label="{escape(title, quote=True)}">'
        f"{_text(LEFT, 14, title, anchor='start', bold=True)}{''.join(parts)}</svg>"
    )


def _ticks(ticks: Sequence[float], place: object, *, upwards: bool) -> list[str]:
    assert callable(place)
    parts = []
    for at, label in zip(place(np.array(ticks)).tolist(), tick_labels(ticks), strict=True):
        if upwards:
            line = f'x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"'
            parts.append(f'<line {line} stroke="currentColor" stroke-opacity="0.12"/>')
            parts.append(_text(LEFT - 6, at + 4, label, anchor="end"))
        else:
            parts.append(_text(at, PATH_HEIGHT - 6, label, anchor="middle"))
    return parts


def _line(x: Values, y: Values, colour: str, *, width: float = 1.3, opacity: float = 1.0) -> str:
    """Return a line, broken where a value is missing."""
    commands, pen_down = [], False
    for across, down in zip(x.tolist(), y.tolist(), strict=True):
        there = bool(np.isfinite(across) and np.isfinite(down))
        if there:
            commands.append(f"{'L' if pen_down else 'M'}{across:.1f} {down:.1f}")
        pen_down = there
    style = f'stroke="{colour}" stroke-width="{width:g}" stroke-opacity="{opacity:g}" stroke-linejoin="round"'
    return f'<path d="{"".join(commands)}" {style}/>' if len(commands) > 1 else ""


def _dot(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{HISTORY}"/>' if np.isfinite([x, y]).all() else ""


def _text(x: float, y: float, text: str, *, anchor: str, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ' fill-opacity="0.7"'
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor"{weight}>{escape(text)}</text>'
