"""A recipe's model with fresh weights, or with those of a run.

recipe → build_model → weights drawn by its seed; a run → load_weights → tensors by the names of today
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from jumok.catalogue import model_class
from jumok.config import ModelConfig
from jumok.config.recipe import Recipe
from jumok.errors import ConfigError
from jumok.nn.model import Model
from jumok.runs.eight_bits import in_floats
from jumok.runs.formats import FORMAT, upgrade_tensors
from jumok.runs.room import room_for
from jumok.runs.run import Run
from jumok.training.average import model_tensors
from jumok.training.checkpoint import Checkpoints


def build_model(recipe: Recipe, *, copies: int = 1) -> Model[Any]:
    """Return the recipe's model with fresh weights, a pure function of recipe and seed; so many copies of them must fit."""
    torch.manual_seed(recipe.training.seed)
    with room_for(recipe.model, copies=copies):
        return model_class(recipe.model.name)(recipe.model)


class WithoutDraws(TorchFunctionMode):
    """Leave out the random numbers of a model that is made inside the block: its weights are loaded afterwards.

    Tied weights and computed buffers come out as always, and torch's own generator is not touched. Helper tensors, as
    nn.init.trunc_normal_ makes until all of its numbers lie inside its bounds, are drawn by a generator of our own.
    """

    INITIALISERS = frozenset({nn.init.uniform_, nn.init.normal_, nn.init.kaiming_uniform_})
    DRAWS = frozenset({Tensor.uniform_, Tensor.normal_})

    def __init__(self) -> None:
        super().__init__()
        self.generators: dict[torch.device, torch.Generator] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call func, or hand its tensor back without random numbers."""
        kwargs = kwargs or {}
        if func in self.INITIALISERS:
            return args[0] if args else kwargs["tensor"]
        if func in self.DRAWS:
            tensor: Tensor = args[0]
            if isinstance(tensor, nn.Parameter) or tensor._is_view():
                return tensor
            own = self.generators.setdefault(tensor.device, torch.Generator(tensor.device))
            kwargs = kwargs | {"generator": own}
        return func(*args, **kwargs)


def build_empty_model(config: ModelConfig) -> Model[Any]:
    """Return a model before its weights are loaded: what training starts from random numbers is left empty."""
    with room_for(config), WithoutDraws():
        return model_class(config.name)(config)


def load_weights(run: Run, checkpoint: str = "best") -> dict[str, Tensor]:
    """Return the weights to use of a run's checkpoint."""
    weights = in_floats(Checkpoints(run.folder).load_weights(checkpoint))
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
