"""What the axes of a chart need: round numbers, as fine as they must be, and places at even distances."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
DATE, MONTH = len("2016-07-01"), len("2016-07")


def value_range(lines: Sequence[Values]) -> tuple[float, float]:
    """Return the least and the greatest of some values, a little apart where they are the same."""
    values = np.concatenate([line.ravel() for line in lines])
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if high - low > 1e-9 * max(abs(low), abs(high)):
        return low, high
    room = abs(high) * 0.05 or 1.0
    return low - room, high + room


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers (1, 2 or 5 times a power of ten apart) from low to high, at most so many."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (factor * power for factor in (1, 2, 5, 10, 20, 50)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if 0 <= last - first < most:
            return [number * step for number in range(first, last + 1)]
    return [low]


def tick_labels(ticks: Sequence[float]) -> list[str]:
    """Return the numbers of an axis, as fine as the distance between two of them."""
    step = ticks[1] - ticks[0] if len(ticks) > 1 else abs(ticks[0]) / 10 or 1.0
    digits = max(0, math.ceil(-math.log10(step) - 1e-9))
    plain = digits <= 6 and max(map(abs, ticks)) < 1e9
    return [f"{tick:,.{digits}f}" if plain else f"{tick:.3g}" for tick in ticks]


def date_ticks(labels: Sequence[str], most: int) -> dict[int, str]:
    """Return at most so many places of an axis of dates, at even distances, and their labels.

    Where there are enough of them, times are told where a day begins, and days where a month does.
    """
    times = len(labels[0]) > DATE
    same = DATE if times else MONTH  # letters that stay the same until it begins
    begins = [place for place in range(1, len(labels)) if labels[place][:same] != labels[place - 1][:same]]
    if len(labels[0]) >= DATE and len(begins) > 2:
        return {place: labels[place][:DATE] for place in _spread(begins, most)}
    return {place: labels[place] for place in _spread(range(len(labels)), most)}


def _spread(places: Sequence[int], most: int) -> list[int]:
    """Return some of the places, at even distances."""
    return list(places[:: -(-len(places) // most)])
