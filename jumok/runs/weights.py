"""A recipe's model with fresh weights, or with those of a run.

recipe → build_model → weights drawn by its seed; a run → load_weights → tensors by the names of today
"""

from typing import Any

import torch
from torch import Tensor

from jumok.catalogue import model_class
from jumok.config.recipe import Recipe
from jumok.errors import ConfigError
from jumok.nn.model import Model
from jumok.runs.formats import FORMAT, upgrade_tensors
from jumok.runs.run import Run
from jumok.training.average import model_tensors
from jumok.training.checkpoint import Checkpoints


def build_model(recipe: Recipe) -> Model[Any]:
    """Return the recipe's model with fresh weights, a pure function of recipe and seed."""
    torch.manual_seed(recipe.training.seed)
    return model_class(recipe.model.name)(recipe.model)


def load_weights(run: Run, checkpoint: str = "best") -> dict[str, Tensor]:
    """Return the weights to use of a run's checkpoint."""
    weights = Checkpoints(run.folder).load_weights(checkpoint)
    return weights if run.format == FORMAT else upgrade_tensors(weights)


def start_from(model: Model[Any], earlier: Run) -> list[str]:
    """Copy the best weights of an earlier run where names and shapes agree; return what was taken and what is new."""
    weights, own = load_weights(earlier), model_tensors(model)
    taken = {name: value for name, value in weights.items() if name in own and own[name].shape == value.shape}
    if not taken:
        raise ConfigError(
            f"training.init = '{earlier.folder}': none of its {len(weights)} tensors fits this model; "
            "are model.name, layers and width the same?"
        )
    with torch.no_grad():
        for name, value in taken.items():
            own[name].copy_(value)
    fresh = [name for name in own if name not in taken]
    left = [name for name in weights if name not in taken]
    notes = [f"{len(taken)} of {len(own)} tensors start from {earlier.folder}"]
    notes += [f"new: {', '.join(fresh)}"] if fresh else []
    notes += [f"not used: {', '.join(left)}"] if left else []
    return notes
