"""Adam and AdamW, fused; weight decay for matrices only. Their state is named tensors, so that no pickle is needed."""

from torch import Tensor, nn
from torch.optim import Adam, AdamW

from jumok.config import TrainingConfig


def make_optimizer(model: nn.Module, config: TrainingConfig) -> Adam:
    """Return the optimizer of a model's parameters."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": config.weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},  # biases and norms
    ]
    kind = AdamW if config.optimizer == "adamw" else Adam
    first, second = config.betas
    return kind(groups, lr=config.learning_rate, betas=(first, second), eps=config.epsilon, fused=True)


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
