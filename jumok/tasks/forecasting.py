"""Forecasting: from the steps of a window to those that come next.

training   table → windows → SeriesBatch → model → what it says of each value → the head's loss
answering  the last steps of a table → scaled → model → point and quantiles → the data's own units
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from jumok.config import SeriesData, SeriesModelConfig
from jumok.config.recipe import Recipe
from jumok.data.series.series_corpora import SeriesCorpora
from jumok.data.series.windows import Windows
from jumok.inspection.film import Shot
from jumok.nn.batch import SeriesBatch
from jumok.nn.model import SeriesReader
from jumok.tasks.base import Direction, Scores, Task
from jumok.tasks.forecast_film import ForecastCamera, forecast_probes
from jumok.tasks.losses import Loss
from jumok.tasks.ridge import fit_ridge
from jumok.tasks.series_problems import series_problems
from jumok.tasks.survey import Survey
from jumok.tasks.window_batches import PendingWindows, WindowBatches, batch_of

# B windows · L look-back · H horizon · V targets · P parameters of a value

BATCH_SIZE = 128  # where the recipe does not say
ROWS = 512  # windows read side by side in an evaluation


class Forecasting(Task[SeriesReader, SeriesBatch, Windows]):
    """The task of telling what comes next."""

    Data = SeriesData
    Corpora = SeriesCorpora
    unit = "windows"
    filmed = True
    corpora: SeriesCorpora

    @property
    def scores(self) -> Mapping[str, Direction]:
        """The val scores taken during training: smaller is better."""
        paths: dict[str, Direction] = {"ade": "smaller", "fde": "smaller"} if self.data.paths else {}
        return {"loss": "smaller", "mse": "smaller", "mae": "smaller", **paths}

    @property
    def data(self) -> SeriesData:
        """The recipe's [data]."""
        return self.corpora.data

    @property
    def model_config(self) -> SeriesModelConfig:
        """The recipe's [model]."""
        assert isinstance(self.recipe.model, SeriesModelConfig)
        return self.recipe.model

    @property
    def sizes(self) -> dict[str, int]:
        """What the model takes from [data] alone."""
        data = self.data
        return {
            "look_back": data.look_back,
            "horizon": data.horizon,
            "targets": len(data.targets),
            "past": len(data.past),
            "relative": data.relative,
            "joint": data.paths,
        }

    @property
    def size(self) -> str:
        """How much there is to learn from."""
        windows = self.corpora.train
        series = f"{len(windows.store):,} series of " if len(windows.store) > 1 else ""
        return (
            f"{len(windows):,} windows of {series}{windows.store.rows:,} steps, {self.data.look_back} steps in, "
            f"{self.data.horizon} out"
        )

    def notes(self) -> list[str]:
        """Return what a user should know of the tables before a run, one line each."""
        return list(self.corpora.train.store.notes)

    def complete(self, recipe: Recipe) -> Recipe:
        """Return the recipe with the columns and the scaling of the data, and the model's sizes."""
        data = self.corpora.filled_in
        self.corpora.data = data
        store = self.corpora.train.store
        full = recipe.with_sizes(
            **self.sizes,
            known=len(store.columns) - len(data.targets) - len(data.past),
            static=store.static.shape[1],
        )
        self.recipe = replace(full, data=data)
        return self.recipe

    def initialise(self, model: SeriesReader) -> list[str]:
        """Find the ridge regression that the model begins from."""
        notes = super().initialise(model)
        if model.shortcut:
            ridge = fit_ridge(self.corpora.train, self.model_config.ridge)
            model.set_ridge(ridge.weight)
            notes.append("the model begins as a ridge regression, to which the Transformer learns to add")
        return notes

    def batches(self) -> WindowBatches:
        """Return the stream of training batches."""
        training = self.recipe.training
        return WindowBatches(self.corpora.train, batch_size=training.batch_size or BATCH_SIZE, seed=training.seed)

    def loss(self, model: SeriesReader, batch: SeriesBatch, step: int) -> Loss:
        """Return the summed loss over the batch's windows, each the mean over its values."""
        parameters, scale = model.forecast(batch)
        if self.model_config.units == "scaled":
            scale = torch.ones_like(scale)
        total = model.head.loss(parameters, batch.future, batch.future_observed, scale)
        return Loss(total / batch.future[0].numel(), len(batch.past))

    @torch.inference_mode()
    def forecasts(
        self, model: SeriesReader, windows: Windows, progress: Callable[[int], None] = lambda done: None
    ) -> Tensor:
        """Return what the head says of each value to come, (N, H, V, P), of all windows in their order."""
        found = []
        for numbers in windows.in_order(ROWS):
            found.append(model(batch_of(windows.arrays(numbers)).to(model.device)).float().cpu())
            progress(len(numbers))
        return torch.cat(found)

    def evaluate(self, model: SeriesReader) -> Scores:
        """Return the val scores that are taken during training."""
        totals: dict[str, float] = {}
        count = 0
        for windows in self.open_split("val").values():
            for numbers in windows.in_order(ROWS):
                found = self._sums(model, windows, numbers)
                totals = {name: totals.get(name, 0.0) + value for name, value in found.items()}
                count += len(numbers)
        return {name: value / count for name, value in totals.items()}

    @torch.inference_mode()
    def _sums(self, model: SeriesReader, windows: Windows, numbers: np.ndarray) -> dict[str, float]:
        """Return the scores of some windows, summed over them."""
        batch = batch_of(windows.arrays(numbers)).to(model.device)
        loss = self.loss(model, batch, 0)
        error = (model.head.point(model(batch)) - batch.future) * batch.future_observed
        there = batch.future_observed.sum(dim=(1, 2)).clamp(min=1)
        found = {
            "loss": loss.total,
            "mse": (error.square().sum(dim=(1, 2)) / there).sum(),
            "mae": (error.abs().sum(dim=(1, 2)) / there).sum(),
        }
        if self.data.paths:
            distance = (error * error.new_tensor(self.data.deviation[:2])).norm(dim=-1)  # (B, H)
            found |= {"ade": distance.mean(dim=1).sum(), "fde": distance[:, -1].sum()}
        return {name: float(value) for name, value in found.items()}

    def camera(self, model: SeriesReader, *, count: int) -> Callable[[SeriesReader], tuple[Shot, ...]] | None:
        """Return what shows where a model looks in so many val windows; None where nothing is known of its tokens."""
        probes = forecast_probes(list(self.open_split("val").values()), count=count)
        return ForecastCamera(probes) if probes and model.tokens else None

    def survey(self) -> Survey[PendingWindows]:
        """Return the data at a glance, for `check`."""
        windows, held_out, batches = self.corpora.train, self.open_split("val"), self.batches()
        return Survey(
            unit="windows",
            largest_batch=batches.take(),
            largest=(batches.batch_size, self.data.look_back, self.data.horizon),
            batches_per_epoch=batches.batches_per_epoch,
            tokens_per_epoch=batches.batches_per_epoch * batches.batch_size,
            counts={
                name: {"kept": len(found), "series": len(found.store), "steps": int((found.end - found.begin).sum())}
                for name, found in {"train": windows, **held_out}.items()
            },
            problems=series_problems(windows, held_out),
        )
