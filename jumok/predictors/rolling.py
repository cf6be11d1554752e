"""Forecasts of any number of steps by a model that was trained for H: blocks of H, each made of those before it.

history (B, L, C), known columns ahead (B, S, K) → the model, block after block → point (B, S, V), quantiles (B, S, V, Q)

A block's point forecast becomes history for the next. Its quantiles alone would take that history for sure, so they are
made of N paths that histories may have taken. Each path goes on at G levels of what the head says of it, and a later
block's quantiles are those of all N × G together; of these, N are kept, at even distances of the values that they reach.
Variances add up where steps do, and do not where the model returns to a level. The ways of a mixture are its paths, each
going on from itself. Besides, no step is told more surely than the same step of the block before.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from jumok.config import SeriesData
from jumok.data.series.scaling import Scaling
from jumok.data.series.windows import scaled
from jumok.nn.model import SeriesReader
from jumok.tasks.window_batches import batch_of

# B series · L look-back · H horizon of the model · S steps wanted · C columns · V targets · K known columns
# Q levels wanted · N paths · G levels of a path's distribution

Values = NDArray[np.float64]
PATHS = 16  # N and G, of heads that have no ways of their own
ROWS = 512  # windows read side by side


@dataclass(frozen=True)
class Rolled:
    """What is forecast of some series, in the data's own units."""

    point: Values  # (B, S, V)
    quantiles: Values  # (B, S, V, Q)
    ways: Values | None  # (B, N, S, V), of a mixture
    likelihood: Values | None  # (B, N)


@dataclass
class Paths:
    """The ways that histories may have gone on."""

    history: Values  # (B · N, L, C)
    weight: Values  # (B, N)
    future: list[Values]  # (B, N, H, V) of each block


class Roller:
    """A model that forecasts on and on."""

    def __init__(self, model: SeriesReader, data: SeriesData) -> None:
        self.model, self.data, self.scaling = model, data, Scaling.of(data)
        self.levels = (np.arange(PATHS) + 0.5) / PATHS

    def at_once(self, steps: int, levels: int) -> int:
        """Return how many series are to be forecast together: a bound on memory."""
        if steps <= self.data.horizon or not (levels or self.model.head.kind == "mixture"):
            return ROWS
        return max(ROWS // self._paths, 1)

    @property
    def _paths(self) -> int:
        return int(getattr(self.model.head, "count", PATHS))

    @torch.inference_mode()
    def forecast(self, history: Values, known: Values, static: Values, *, steps: int, levels: list[float]) -> Rolled:
        """Return what comes after histories (B, L, C), of which known (B, S or more, K) is known already.

        known has a row for each step of every block that is begun.
        """
        horizon, head = self.data.horizon, self.model.head
        follow = bool(levels) or head.kind == "mixture"
        paths: Paths | None = None
        points: list[Values] = []
        bands: list[Values] = []
        for first in range(0, steps, horizon):
            ahead = known[:, first : first + horizon]
            parameters, level = self._read(history, ahead, static)
            points.append(self.scaling.undo(head.point(parameters), level))
            if not follow:
                bands.append(np.zeros((*points[-1].shape, 0)))
            elif paths is None:
                bands.append(self._quantiles(parameters, level, levels))
                paths = self._begin(parameters, level, history, ahead)
            else:
                bands.append(self._go_on(paths, ahead, static, levels))
                bands[-1] = self._not_surer(bands[-1], points[-1], bands[-2], points[-2], levels)
            history = self._extended(history, points[-1], ahead)
        mixture = paths if head.kind == "mixture" else None
        return Rolled(
            np.concatenate(points, axis=1)[:, :steps],
            np.concatenate(bands, axis=1)[:, :steps],
            None if mixture is None else np.concatenate(mixture.future, axis=2)[:, :, :steps],
            None if mixture is None else mixture.weight,
        )

    def _read(self, history: Values, known: Values, static: Values) -> tuple[torch.Tensor, Values]:
        """Return the parameters (B, H, V, P) of the next block, and the levels (B, V) that it starts from."""
        rows = np.full((len(history), history.shape[1] + self.data.horizon, history.shape[2]), np.nan)
        rows[:, : history.shape[1]] = history
        if known.shape[2]:
            rows[:, history.shape[1] :, -known.shape[2] :] = known
        parameters, levels = [], []
        for first in range(0, len(rows), ROWS):
            arrays = scaled(rows[first : first + ROWS], static[first : first + ROWS], self.data, self.scaling)
            parameters.append(self.model(batch_of(arrays).to(self.model.device)).float().cpu())
            levels.append(arrays.level)
        return torch.cat(parameters), np.concatenate(levels)

    def _quantiles(self, parameters: torch.Tensor, level: Values, levels: list[float] | Values) -> Values:
        """Return (B, H, V, levels) in the data's own units."""
        if not len(levels):
            return np.zeros((*parameters.shape[:3], 0))
        found = self.model.head.quantiles(parameters, [float(one) for one in levels]).movedim(-1, 0)
        return np.moveaxis(self.scaling.undo(found.numpy(), level), 0, -1)

    def _begin(self, parameters: torch.Tensor, level: Values, history: Values, known: Values) -> Paths:
        """Return the paths of the first block."""
        found = self.model.head.ways(parameters)
        if found is None:
            future = np.moveaxis(self._quantiles(parameters, level, self.levels), -1, 1)
            weight = np.full(future.shape[:2], 1 / PATHS)
        else:
            future = self.scaling.undo(found[0].numpy(), level[:, None])
            weight = found[1].double().numpy()
        spread = np.repeat(history, future.shape[1], axis=0)
        paths = Paths(spread, weight, [future])
        paths.history = self._extended(spread, future.reshape(-1, *future.shape[2:]), self._each(known, paths))
        return paths

    def _go_on(self, paths: Paths, known: Values, static: Values, levels: list[float]) -> Values:
        """Let paths go on by a block, and return the quantiles (B, H, V, Q) of all of them together."""
        known, static = self._each(known, paths), self._each(static, paths)
        parameters, level = self._read(paths.history, known, static)
        shape = (*paths.weight.shape, *parameters.shape[1:3])  # (B, N, H, V)
        each = self._quantiles(parameters, level, self.levels).reshape(*shape, PATHS)
        if self.model.head.kind == "mixture":
            future = self.scaling.undo(self.model.head.point(parameters), level).reshape(shape)
        else:
            future = self._kept(paths, each)
        paths.future.append(future)
        paths.history = self._extended(paths.history, future.reshape(-1, *shape[2:]), known)
        weight = np.repeat(paths.weight / PATHS, PATHS, axis=1)  # (B, N · G)
        pooled = np.moveaxis(each, 1, 3).reshape(shape[0], *shape[2:], -1)
        return weighted_quantiles(pooled, weight[:, None, None], levels)

    @staticmethod
    def _kept(paths: Paths, each: Values) -> Values:
        """Return N of all continuations (B, N, H, V, G), for each target its own; paths get the histories they come from."""
        batch, count, _, targets, _ = each.shape
        ends = np.moveaxis(each[:, :, -1], 1, 2).reshape(batch, targets, -1)  # (B, V, N · G)
        chosen = np.argsort(ends, axis=-1)[..., PATHS // 2 :: PATHS]  # (B, V, N)
        row, target = np.arange(batch)[:, None, None], np.arange(targets)[None, :, None]
        path, level = chosen // PATHS, chosen % PATHS
        history = paths.history.reshape(batch, count, *paths.history.shape[1:])
        history[..., :targets] = history[row, path, :, target].transpose(0, 2, 3, 1)  # from (B, V, N, L)
        paths.history = history.reshape(paths.history.shape)
        return each[row, path, :, target, level].transpose(0, 2, 3, 1)

    def _not_surer(
        self, band: Values, point: Values, before: Values, point_before: Values, levels: list[float]
    ) -> Values:
        """Return quantiles (B, H, V, Q) at least as far from their point forecast as those of the block before."""
        logarithm = self.scaling.transform in ("log", "log-return")
        place = np.log if logarithm else np.asarray
        far, far_before = place(band) - place(point)[..., None], place(before) - place(point_before)[..., None]
        side = np.sign(np.asarray(levels) - 0.5)
        far = np.where(side < 0, np.minimum(far, far_before), np.where(side > 0, np.maximum(far, far_before), far))
        found = place(point)[..., None] + far
        return np.exp(found) if logarithm else found

    def _extended(self, history: Values, future: Values, known: Values) -> Values:
        """Return histories (B, L, C) that end with a block's targets (B, H, V) and known columns; others are missing."""
        rows = np.full((*future.shape[:2], history.shape[2]), np.nan)
        rows[..., : future.shape[2]] = future
        if known.shape[2]:
            rows[..., -known.shape[2] :] = known
        return np.concatenate([history, rows], axis=1)[:, -history.shape[1] :]

    @staticmethod
    def _each(values: Values, paths: Paths) -> Values:
        return np.repeat(values, paths.weight.shape[1], axis=0)


def weighted_quantiles(values: Values, weight: Values, levels: list[float]) -> Values:
    """Return (…, levels) of values (…, M) with weights (…, M) that add up to 1, each in the middle of its weight."""
    order = np.argsort(values, axis=-1)
    values = np.take_along_axis(values, order, axis=-1)
    weight = np.take_along_axis(np.broadcast_to(weight, values.shape), order, axis=-1)
    place = np.cumsum(weight, axis=-1) - weight / 2
    found = []
    for level in levels:
        right = np.clip((place < level).sum(axis=-1, keepdims=True), 1, values.shape[-1] - 1)
        (low, high), (below, above) = (
            (np.take_along_axis(array, right - 1, axis=-1), np.take_along_axis(array, right, axis=-1))
            for array in (values, place)
        )
        share = np.clip((level - below) / np.maximum(above - below, 1e-12), 0.0, 1.0)
        found.append((low + share * (high - low))[..., 0])
    return np.stack(found, axis=-1) if found else np.zeros((*values.shape[:-1], 0))
