"""A forecast drawn in the terminal: what was, what is forecast and how sure that is, in dots of Braille.

ForecastView → one chart for each target: value against step, the band between two quantiles shaded; of a path y against x
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text

from jumok.lens.axes import Values, round_ticks, tick_labels, value_range
from jumok.lens.forecast_view import ForecastView
from jumok.lens.terminal import Drawing
from jumok.texts import localized, localized_word

PIPE, WIDEST, NARROWEST = 80, 132, 30  # columns: where the output is no terminal; at most; at least
ROWS, PATH_ROWS = 10, 18  # lines of a chart, and at most of one of a path
MOST_TICKS = 4
SHOWN = 3  # times the steps ahead that history is shown for, so that a short forecast can be seen beside a long past
FEWEST = 48  # steps of history that are shown, where there are so many
MOST_WAYS = 8  # of a mixture, the likeliest
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of Braille, by row and column
BLANK, SHADE, ORIGIN, MARK = 0x2800, "░", "┊", "●"

# What is drawn, the later over the earlier.
WAY, HISTORY, TRUTH, FORECAST = range(4)
STYLES = {
    WAY: Style(color="rgb(150,110,60)"),
    HISTORY: Style(color="rgb(110,160,220)"),
    TRUTH: Style(color="rgb(120,190,130)"),
    FORECAST: Style(color="rgb(240,160,60)"),
}
BAND, FAINT = Style(color="rgb(150,105,50)"), Style(dim=True)


class Canvas:
    """Dots of Braille, two across and four down in each cell."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.dots = np.zeros((rows, columns), dtype=np.int64)
        self.layer = np.full((rows, columns), -1)
        self.below: dict[tuple[int, int], tuple[str, Style]] = {}  # what stands in cells that have no dots
        self.marks: dict[tuple[int, int], Style] = {}

    @property
    def width(self) -> int:
        """Dots across."""
        return 2 * self.columns

    @property
    def height(self) -> int:
        """Dots down."""
        return 4 * self.rows

    def line(self, across: Values, down: Values, layer: int) -> None:
        """Draw a line through places in dots, broken where one is NaN."""
        places = np.stack([across, down], axis=1)
        there = np.isfinite(across + down)
        for number in np.flatnonzero(there).tolist():
            here = places[number]
            after = places[number + 1] if number + 1 < len(places) and there[number + 1] else here
            count = int(np.abs(after - here).max()) + 2
            for x, y in np.linspace(here, after, count).round().astype(int).tolist():
                if 0 <= x < self.width and 0 <= y < self.height:
                    self.dots[y // 4, x // 2] |= DOTS[y % 4][x % 2]
                    self.layer[y // 4, x // 2] = max(self.layer[y // 4, x // 2], layer)

    def shade(self, across: Values, top: Values, bottom: Values) -> None:
        """Shade what lies between two lines."""
        for column in range(int(across[0]) // 2 + 1, min(int(across[-1]) // 2 + 1, self.columns)):
            upper, lower = (float(np.interp(2 * column + 0.5, across, line)) for line in (top, bottom))
            if not np.isnan([upper, lower]).any():
                for row in range(max(int(upper // 4), 0), min(int(lower // 4) + 1, self.rows)):
                    self.below[row, column] = (SHADE, BAND)

    def mark(self, across: float, down: float, layer: int) -> None:
        """Mark a place."""
        if not np.isnan([across, down]).any():
            self.marks[round(down) // 4, round(across) // 2] = STYLES[layer]

    def lines(self) -> Iterable[Text]:
        """Yield the rows as text."""
        for row in range(self.rows):
            line = Text()
            for cell in ((row, column) for column in range(self.columns)):
                if cell in self.marks:
                    line.append(MARK, style=self.marks[cell])
                elif self.dots[cell]:
                    line.append(chr(BLANK + int(self.dots[cell])), style=STYLES[int(self.layer[cell])])
                else:
                    line.append(*self.below.get(cell, (" ", "")))
            yield line


class TimeCanvas(Canvas):
    """A canvas of values against steps, as wide as the ticks of its values leave room for."""

    def __init__(self, lines: Sequence[Values], *, steps: int, width: int) -> None:
        self.low, self.high = value_range(lines)
        self.ticks = round_ticks(self.low, self.high, MOST_TICKS)
        super().__init__(width - ticks_width(self.ticks) - 1, ROWS)
        self.places = np.linspace(0.0, self.width - 1, steps)

    def down(self, values: Values) -> Values:
        """Return where values stand, in dots from the top."""
        return (self.high - values) / (self.high - self.low) * (self.height - 1)

    def column(self, step: int) -> int:
        """Return the column of a step."""
        return int(round(self.places[step]) // 2)

    def stand(self, step: int) -> None:
        """Let a dotted line stand at a step, behind all others."""
        self.below |= {(row, self.column(step)): (ORIGIN, FAINT) for row in range(self.rows)}

    def framed(self, heading: Text, view: ForecastView, seen: int) -> Text:
        """Return it with its heading, ticks and the dates of the first step seen, the last one known, and the last."""
        labels = {0: view.history_labels[-seen], self.column(seen - 1): view.history_labels[-1]}
        labels[self.columns - 1] = view.labels[-1]
        return framed(self, heading, self.ticks, self.down(np.array(self.ticks)), labels)


@dataclass(frozen=True)
class TargetChart(Drawing):
    """One target of a forecast against time."""

    view: ForecastView
    target: int

    def fitted(self, width: int | None) -> Text:
        """Return the chart in at most so many columns."""
        view, seen, target = self.view, shown_history(self.view), self.target
        width = fitting_width(width)
        history, point, truth = view.history[-seen:, target], view.point[:, target], truth_of(view)[:, target]
        ways = [way[:, target] for way in likely_ways(view)]
        bands = view.bands()
        edges = [view.quantiles[level][:, target] for level in bands[0]] if bands else []
        canvas = TimeCanvas([history, point, truth, *edges, *ways], steps=seen + len(point), width=width)
        canvas.stand(seen - 1)
        ahead, down = canvas.places[seen - 1 :], canvas.down
        if edges:
            canvas.shade(ahead, *(down(np.append(history[-1:], edge)) for edge in reversed(edges)))
        for way in ways:
            canvas.line(ahead, down(np.append(history[-1:], way)), WAY)
        canvas.line(canvas.places[:seen], down(history), HISTORY)
        canvas.line(ahead, down(np.append(history[-1:], truth)), TRUTH)
        canvas.line(ahead, down(np.append(history[-1:], point)), FORECAST)
        canvas.mark(ahead[0], float(down(history[-1:])[0]), HISTORY)
        return canvas.framed(heading_of(view.targets[target], view, width), view, seen)


@dataclass(frozen=True)
class PathChart(Drawing):
    """A path and the ways it may go, seen from above: x across, y upwards, a metre as long each way."""

    view: ForecastView

    def fitted(self, width: int | None) -> Text:
        """Return the chart in at most so many columns."""
        view, ways = self.view, likely_ways(self.view)
        width = fitting_width(width)
        lines = [view.history, view.point, truth_of(view), *ways]
        (left, right), (low, high) = (value_range([line[:, axis] for line in lines]) for axis in (0, 1))
        ticks = round_ticks(low, high, MOST_TICKS)
        room = width - ticks_width(ticks) - 1
        unit = max((right - left) / (2 * room - 1), (high - low) / (4 * PATH_ROWS - 1))  # of a dot, both ways
        columns, rows = int((right - left) / unit) // 2 + 1, int((high - low) / unit) // 4 + 1
        canvas = Canvas(min(columns, room), min(rows, PATH_ROWS))
        last = view.history[-1:]
        drawn = [(WAY, np.concatenate([last, way])) for way in ways]
        drawn += [(HISTORY, view.history), (TRUTH, np.concatenate([last, truth_of(view)]))]
        for layer, line in [*drawn, (FORECAST, np.concatenate([last, view.point]))]:
            canvas.line((line[:, 0] - left) / unit, (high - line[:, 1]) / unit, layer)
        canvas.mark(float(last[0, 0] - left) / unit, float(high - last[0, 1]) / unit, HISTORY)
        across = round_ticks(left, right, MOST_TICKS)
        labels = {int((tick - left) / unit) // 2: text for tick, text in zip(across, tick_labels(across), strict=True)}
        heading = heading_of(" · ".join(view.targets), view, width)
        return framed(canvas, heading, ticks, (high - np.array(ticks)) / unit, labels)


def draw_forecast(view: ForecastView) -> list[Drawing]:
    """Return the chart of each target of a forecast; a path is one chart."""
    return [PathChart(view)] if view.paths else [TargetChart(view, target) for target in range(len(view.targets))]


def fitting_width(width: int | None) -> int:
    """Return how many columns a chart has, in a terminal of so many; None: where the output is no terminal."""
    return max(min(width or PIPE, WIDEST), NARROWEST)


def ticks_width(ticks: Sequence[float]) -> int:
    """Return the columns before a canvas: the longest number, and a space."""
    return max(map(len, tick_labels(ticks))) + 1


def shown_history(view: ForecastView) -> int:
    """Return how many steps of history a chart shows."""
    return min(len(view.history), max(SHOWN * len(view), FEWEST))


def likely_ways(view: ForecastView) -> list[Values]:
    """Return the likeliest ways (H, V) of a mixture, the likeliest last."""
    if view.ways is None or view.likelihood is None:
        return []
    return [view.ways[place] for place in np.argsort(-view.likelihood)[:MOST_WAYS][::-1]]


def truth_of(view: ForecastView) -> Values:
    """Return what came (H, V), NaN where that is not known."""
    return np.full_like(view.point, np.nan) if view.truth is None else view.truth


def band_name(band: tuple[float, float]) -> str:
    """Return what the band between two levels is called: 10 % to 90 %."""
    low, high = (f"{100 * level:g}" for level in band)
    return localized(f"{low} % to {high} %")


def heading_of(name: str, view: ForecastView, width: int) -> Text:
    """Return the first line: what is drawn, and what its colours mean."""
    words = Text()
    meanings = {HISTORY: localized_word("history"), FORECAST: localized_word("forecast")}
    if np.isfinite(truth_of(view)).any():
        meanings[TRUTH] = localized("what came")
    if view.ways is not None:
        meanings[WAY] = localized("ways it may go")
    for layer, meaning in meanings.items():
        words.append("   ⣀⡠ ", style=STYLES[layer]).append(meaning, style=FAINT)
    if (bands := view.bands()) and not view.paths:
        words.append(f"   {SHADE}{SHADE} ", style=BAND).append(band_name(bands[0]), style=FAINT)
    room = max(width - words.cell_len, 8)
    fitting = name if cell_len(name) <= room else set_cell_size(name, room - 1) + "…"
    return Text().append(fitting, style="bold").append_text(words).append("\n")


def framed(canvas: Canvas, heading: Text, ticks: Sequence[float], down: Values, below: dict[int, str]) -> Text:
    """Return a canvas with its heading, the ticks of its values at places down, and labels below at columns."""
    numbers, width = tick_labels(ticks), ticks_width(ticks) - 1
    at = {int(place) // 4: number for place, number in zip(down.tolist(), numbers, strict=True)}
    drawing = heading.copy()
    for row, line in enumerate(canvas.lines()):
        drawing.append(f"{at.get(row, ''):>{width}} {'┤' if row in at else '│'}", style=FAINT)
        drawing.append_text(line).append("\n")
    drawing.append(" " * (width + 1) + "└" + "─" * canvas.columns + "\n", style=FAINT)
    return drawing.append(_in_line(below, canvas.columns, before=width + 2) + "\n", style=FAINT)


def _in_line(labels: dict[int, str], columns: int, *, before: int) -> str:
    """Return labels below their columns, inside the chart; one that has no room beside a later one is left out."""
    line, free = [" "] * (before + columns), before + columns
    for place, label in sorted(labels.items(), reverse=True):
        first = min(max(before + place - len(label) // 2, before), free - len(label))
        if before <= first <= before + place:
            line[first : first + len(label)] = label
            free = first - 2
    return "".join(line).rstrip()
