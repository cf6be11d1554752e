"""Scores of forecasts, summed chunk by chunk: what came, where it is observed, and what was said of it.

future (B, H, V), observed (B, H, V), Said (point, quantiles, ways) → Tally.add → Tally.scores

mse, mae      over every value that is observed
mase          mean absolute error of each series and target, in units of its seasonal naive error before the split; their mean
pinball       at each level, and the mean over levels
crps          of the distribution that has the mass between levels at the quantiles; of a point it is the absolute error
coverage      the share of values in each central interval that the levels allow
ade, fde      of paths: mean distance over all steps, and at the last one, in the data's units
best of K     of paths: the same of each window's best way, for each of the two

A value that is missing counts nowhere. Beside the sums of all windows stand those of each: tests and stretches of time need
them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# B windows · N all windows · H horizon · V targets · Q levels · K ways · S series

Values = NDArray[np.float64]
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Said:
    """What is said of some windows."""

    point: Values  # (B, H, V)
    quantiles: Values | None = None  # (B, H, V, Q), rising
    ways: Values | None = None  # (B, K, H, V)


@dataclass
class PerWindow:
    """Losses of each window, summed over its values, and how many there are."""

    total: Values  # (N,)
    count: Values  # (N,)

    @classmethod
    def nothing(cls, windows: int) -> "PerWindow":
        """Return the losses of windows that are still to come."""
        return cls(np.zeros(windows), np.zeros(windows))

    def put(self, numbers: Numbers, loss: Values, observed: Mask) -> None:
        """Take in losses (B, …), which are 0 where nothing is observed."""
        self.total[numbers] = loss.reshape(len(loss), -1).sum(axis=1)
        self.count[numbers] = observed.reshape(len(observed), -1).sum(axis=1)

    @property
    def mean(self) -> float:
        """The mean over all values; NaN where there is none."""
        return float(self.total.sum() / self.count.sum()) if self.count.any() else float("nan")


class Tally:
    """The scores of one forecaster, while they are summed."""

    def __init__(
        self,
        windows: int,
        *,
        unit: Values,
        scale: Values,
        horizon: int,
        levels: Sequence[float] = (),
        paths: bool = False,
    ) -> None:
        """Take unit (V,), in which errors count, and scale (S, V), the seasonal naive error of each series.

        Both are in the units in which forecasts are given; distances of paths stay in those.
        """
        self.unit, self.scale, self.paths = unit, scale, paths
        self.levels = np.asarray(levels, dtype=np.float64)
        targets = len(unit)
        self.count = np.zeros((horizon, targets))
        self.squared, self.absolute = np.zeros((horizon, targets)), np.zeros((horizon, targets))
        self.series_absolute, self.series_count = np.zeros_like(scale), np.zeros_like(scale)
        self.pinball, self.crps = np.zeros((horizon, len(self.levels))), np.zeros(horizon)
        self.intervals = central_intervals(self.levels)
        self.inside = np.zeros((horizon, len(self.intervals)))
        self.distance, self.distances = np.zeros(horizon), np.zeros(horizon)
        self.best_of = 0
        self.losses = {"mse": PerWindow.nothing(windows), "mae": PerWindow.nothing(windows)}

    def add(self, numbers: Numbers, series: Numbers, future: Values, observed: Mask, said: Said) -> None:
        """Take in windows: their numbers (B,), their series (B,), what came (B, H, V), and what was said of it."""
        error = np.where(observed, said.point - future, 0.0)
        np.add.at(self.series_absolute, series, np.abs(error).sum(axis=1))
        np.add.at(self.series_count, series, observed.sum(axis=1))
        if self.paths:
            self._add_paths(numbers, error, future, observed, said.ways)
        error /= self.unit
        squared, absolute = error**2, np.abs(error)
        self.count += observed.sum(axis=0)
        self.squared += squared.sum(axis=0)
        self.absolute += absolute.sum(axis=0)
        self.losses["mse"].put(numbers, squared, observed)
        self.losses["mae"].put(numbers, absolute, observed)
        if said.quantiles is not None:
            self._add_quantiles(numbers, future, observed, said.quantiles)

    def _add_quantiles(self, numbers: Numbers, future: Values, observed: Mask, quantiles: Values) -> None:
        above = (future[..., None] - quantiles) / self.unit[:, None]  # (B, H, V, Q)
        above = np.where(observed[..., None], above, 0.0)
        loss = pinball(above, self.levels)
        self.pinball += loss.sum(axis=(0, 2))
        self.crps += crps(above, self.levels).sum(axis=(0, 2))
        for place, (low, high) in enumerate(self.intervals):
            inside = (above[..., low] >= 0) & (above[..., high] <= 0) & observed
            self.inside[:, place] += inside.sum(axis=(0, 2))
        self._put("pinball", numbers, loss.mean(axis=-1), observed)

    def _add_paths(self, numbers: Numbers, error: Values, future: Values, observed: Mask, ways: Values | None) -> None:
        there = np.asarray(observed.all(axis=-1))  # (B, H)
        distance = np.where(there, np.linalg.norm(error, axis=-1), 0.0)
        self.distance += distance.sum(axis=0)
        self.distances += there.sum(axis=0)
        self._put("ade", numbers, distance, there)
        self._put("fde", numbers, distance[:, -1:], there[:, -1:])
        if ways is None:
            return
        self.best_of = ways.shape[1]
        of_ways = np.linalg.norm(np.where(there[:, None, :, None], ways - future[:, None], 0.0), axis=-1)  # (B, K, H)
        best = of_ways.sum(axis=-1).argmin(axis=1)
        self._put("best_ade", numbers, np.take_along_axis(of_ways, best[:, None, None], axis=1)[:, 0], there)
        self._put("best_fde", numbers, of_ways[..., -1].min(axis=1)[:, None], there[:, -1:])

    def _put(self, name: str, numbers: Numbers, loss: Values, observed: Mask) -> None:
        if name not in self.losses:
            self.losses[name] = PerWindow.nothing(len(self.losses["mse"].total))
        self.losses[name].put(numbers, loss, observed)

    @property
    def mase(self) -> float | None:
        """The mean over series and targets; None where no series has rows before the split to be measured by."""
        known = (self.series_count > 0) & (self.scale > 0)
        if not known.any():
            return None
        return float((self.series_absolute[known] / self.series_count[known] / self.scale[known]).mean())

    def scores(self) -> dict[str, Any]:
        """Return all scores as plain values."""
        steps = self.count.sum(axis=1)
        found: dict[str, Any] = {name: number(loss.mean) for name, loss in self.losses.items()}
        by_step = {"mse": ratio(self.squared.sum(axis=1), steps), "mae": ratio(self.absolute.sum(axis=1), steps)}
        if self.mase is not None:
            found["mase"] = self.mase
        if "pinball" in self.losses:
            found["crps"] = number(self.crps.sum() / max(self.count.sum(), 1))
            found["levels"] = self.levels.tolist()
            found["pinball_by_level"] = ratio(self.pinball.sum(axis=0), self.count.sum())
            names = [interval_name(self.levels[low], self.levels[high]) for low, high in self.intervals]
            found["coverage"] = dict(zip(names, ratio(self.inside.sum(axis=0), self.count.sum()), strict=True))
            by_step |= {"pinball": ratio(self.pinball.mean(axis=1), steps), "crps": ratio(self.crps, steps)}
            for place, name in enumerate(names):
                by_step[f"coverage {name}"] = ratio(self.inside[:, place], steps)
        if self.paths:
            by_step["distance"] = ratio(self.distance, self.distances)
        if self.best_of:
            found["best_of"] = self.best_of
        found["by_step"] = by_step
        found["by_target"] = {
            "mse": ratio(self.squared.sum(axis=0), self.count.sum(axis=0)),
            "mae": ratio(self.absolute.sum(axis=0), self.count.sum(axis=0)),
        }
        return found


def pinball(above: Values, levels: Values) -> Values:
    """Return the pinball loss of what came above the quantile at each level, (…, Q)."""
    return np.asarray(np.maximum(levels * above, (levels - 1) * above))


def crps(above: Values, levels: Values) -> Values:
    """Return the continuous ranked probability score (…,) of what came above each quantile (…, Q).

    A quantile stands for the levels nearer to it than to the others, and its pinball loss is taken at their middle: that is
    the score of the distribution with so much mass at each quantile (Gneiting & Raftery 2007, section 4.2).
    """
    borders = np.concatenate([[0.0], (levels[:-1] + levels[1:]) / 2, [1.0]])
    return np.asarray(2 * (pinball(above, (borders[:-1] + borders[1:]) / 2) * np.diff(borders)).sum(axis=-1))


def central_intervals(levels: Values) -> list[tuple[int, int]]:
    """Return the places of two levels each that leave as much below as above, the widest first."""
    return [
        (low, high)
        for low, below in enumerate(levels)
        for high, above in enumerate(levels)
        if below < above and abs(below + above - 1) < 1e-9
    ]


def interval_name(low: float, high: float) -> str:
    """Return how much an interval should cover: 80 %."""
    return f"{100 * (high - low):.6g} %"


def ratio(total: Values, count: Values | float) -> list[float | None]:
    """Return totals by counts as plain values; None where nothing is counted."""
    counts = np.broadcast_to(np.asarray(count, dtype=np.float64), total.shape)
    return [float(each / many) if many else None for each, many in zip(total, counts, strict=True)]


def number(value: float) -> float | None:
    """Return a score as JSON has it: None where there is none."""
    return float(value) if np.isfinite(value) else None
