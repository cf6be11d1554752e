"""Adam, AdamW and Muon; weight decay for matrices only. Their state is named tensors, so that no pickle is needed.

Parts of a model that have a learning rate of their own (nn/model.py, OwnRate) are groups of their own, behind the others.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Adam, AdamW

from jumok.config import TrainingConfig
from jumok.nn.model import Model, OwnRate
from jumok.training.muon import Muon, layer_matrices

STATES = ({"step", "exp_avg", "exp_avg_sq"}, {"step", "average"})  # of Adam, and of a matrix of Muon's
KINDS: dict[str, type[Adam]] = {"adam": Adam, "adamw": AdamW, "muon": Muon}


def make_optimizer(model: nn.Module, config: TrainingConfig) -> Adam:
    """Return the optimizer of a model's parameters; a group's `share` is that of the learning rate."""
    apart = parts_apart(model)
    elsewhere = {p for _, parameters in apart for p in parameters}
    parameters = [p for p in model.parameters() if p.requires_grad and p not in elsewhere]
    layers = layer_matrices(model) - elsewhere if config.optimizer == "muon" else set()
    groups = _groups([p for p in parameters if p not in layers], config)
    if layers:
        inside = [p for p in parameters if p in layers and p.dim() > 1]
        groups.append({"params": inside, "weight_decay": config.weight_decay, "orthogonal": True, "share": 1.0})
    for own, parameters in apart:
        groups += _groups(parameters, config, share=own.share)
    first, second = config.betas
    return KINDS[config.optimizer](
        groups, lr=config.learning_rate, betas=(first, second), eps=config.epsilon, fused=True
    )


def _groups(parameters: list[nn.Parameter], config: TrainingConfig, share: float = 1.0) -> list[dict[str, Any]]:
    """Return a group of matrices and one of biases and norms, which do not decay."""
    matrices, vectors = [p for p in parameters if p.dim() > 1], [p for p in parameters if p.dim() <= 1]
    return [
        {"params": matrices, "weight_decay": config.weight_decay, "orthogonal": False, "share": share},
        {"params": vectors, "weight_decay": 0.0, "orthogonal": False, "share": share},
    ]


def parts_apart(model: nn.Module) -> list[tuple[OwnRate, list[nn.Parameter]]]:
    """Return the parts of a model that have a learning rate of their own, with their parameters."""
    declared = model.own_rates if isinstance(model, Model) else ()
    return [(own, [p for name, p in model.named_parameters() if name.startswith(own.prefix)]) for own in declared]


def optimizer_tensors(optimizer: Adam) -> dict[str, Tensor]:
    """Return the optimizer's state under flat names like '12.exp_avg'."""
    state = optimizer.state_dict()["state"]
    return {f"{number}.{name}": value for number, entry in state.items() for name, value in entry.items()}


def load_optimizer_tensors(optimizer: Adam, tensors: dict[str, Tensor]) -> None:
    """Put back what optimizer_tensors returned; what does not fit the parameters is a ValueError."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.partition(".")
        if not (number.isdecimal() and int(number) < len(parameters)):
            raise ValueError(f"the optimizer has a tensor '{key}', which belongs to no parameter")
        parameter = parameters[int(number)]
        if value.shape != (() if name == "step" else parameter.shape):
            raise ValueError(f"the optimizer's tensor '{key}' has the shape {tuple(value.shape)}")
        state.setdefault(int(number), {})[name] = _laid_out(value, like=parameter)
    for place, entries in state.items():
        if entries.keys() not in STATES:
            raise ValueError(f"the optimizer's tensors of parameter {place} are {', '.join(sorted(entries))}")
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def _laid_out(value: Tensor, *, like: Tensor) -> Tensor:
    """Return numbers of a parameter's shape in its order in memory: a fused step reads both side by side."""
    return value if value.shape != like.shape else torch.empty_like(like, dtype=value.dtype).copy_(value)
