"""Adam, AdamW and Muon; weight decay for matrices only. Their state is named tensors, so that no pickle is needed."""

from typing import Any

from torch import Tensor, nn
from torch.optim import Adam, AdamW

from jumok.config import TrainingConfig
from jumok.training.muon import Muon, layer_matrices

KINDS: dict[str, type[Adam]] = {"adam": Adam, "adamw": AdamW, "muon": Muon}


def make_optimizer(model: nn.Module, config: TrainingConfig) -> Adam:
    """Return the optimizer of a model's parameters."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    layers = layer_matrices(model) if config.optimizer == "muon" else set()
    matrices = [p for p in parameters if p.dim() > 1]
    groups: list[dict[str, Any]] = [
        {"params": [p for p in matrices if p not in layers], "weight_decay": config.weight_decay, "orthogonal": False},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0, "orthogonal": False},  # biases, norms
    ]
    if layers:
        inside = [p for p in matrices if p in layers]
        groups.append({"params": inside, "weight_decay": config.weight_decay, "orthogonal": True})
    first, second = config.betas
    return KINDS[config.optimizer](
        groups, lr=config.learning_rate, betas=(first, second), eps=config.epsilon, fused=True
    )


def optimizer_tensors(optimizer: Adam) -> dict[str, Tensor]:
    """Return the optimizer's state under flat names like '12.exp_avg'."""
    state = optimizer.state_dict()["state"]
    return {f"{number}.{name}": value for number, entry in state.items() for name, value in entry.items()}


def load_optimizer_tensors(optimizer: Adam, tensors: dict[str, Tensor]) -> None:
    """Put back what optimizer_tensors returned."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
