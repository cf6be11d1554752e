"""Averages of the weights: what is scored and saved for use is often better than the newest weights.

'last' averages the newest k saves (Vaswani et al. 2017, section 6.1); 'ema' lets every step fade in.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from jumok.config import TrainingConfig


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return a model's parameters and buffers by name; tied ones once, under their first name."""
    return dict(model.named_parameters()) | dict(model.named_buffers())


class WeightAverage:
    """Keep the average that the recipe asks for."""

    def __init__(self, model: nn.Module, config: TrainingConfig) -> None:
        self.model, self.config = model, config
        self.snapshots: list[dict[str, Tensor]] = []  # 'last': newest at the end; 'ema': the one average

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after a step."""
        if self.config.average == "ema":
            fresh = dict(self.model.named_parameters())
            if not self.snapshots:
                self.snapshots = [{name: value.clone() for name, value in fresh.items()}]
            # A short memory at first, so that the random start is soon forgotten.
            decay = min(self.config.average_decay, (1 + step) / (10 + step))
            torch._foreach_lerp_(list(self.snapshots[0].values()), list(fresh.values()), 1 - decay)
        elif self.config.average == "last" and (step % self.config.save_every == 0 or step == self.config.steps):
            self.snapshots.append({name: value.detach().clone() for name, value in self.model.named_parameters()})
            del self.snapshots[: -self.config.average_last]

    def weights(self) -> dict[str, Tensor]:
        """Return the tensors to score and to save for use: averaged parameters, newest buffers."""
        tensors = {name: value.detach() for name, value in model_tensors(self.model).items()}
        if self.snapshots:
            for name in self.snapshots[0]:
                tensors[name] = torch.stack([snapshot[name] for snapshot in self.snapshots]).mean(dim=0)
        return tensors

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Lend the averaged weights to the model for the length of the block."""
        own = {name: value.detach().clone() for name, value in self.model.named_parameters()} if self.snapshots else {}
        load_tensors(self.model, self.weights() if own else {}, partly=True)
        try:
            yield
        finally:
            load_tensors(self.model, own, partly=True)

    def state_tensors(self) -> dict[str, Tensor]:
        """Return what a checkpoint must hold of the average."""
        return {
            f"{number}.{name}": value
            for number, snapshot in enumerate(self.snapshots)
            for name, value in snapshot.items()
        }

    def load_state_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Put back what state_tensors returned; what does not fit the model is a ValueError."""
        snapshots: dict[int, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            number, _, name = key.partition(".")
            snapshots.setdefault(int(number) if number.isdecimal() else -1, {})[name] = value
        own = list(self.model.named_parameters())
        shapes = {name: parameter.shape for name, parameter in own}
        for snapshot in snapshots.values():
            odd = sorted(shapes.keys() ^ snapshot.keys()) or [n for n in shapes if shapes[n] != snapshot[n].shape]
            if odd:
                raise ValueError(f"averages do not fit the model: {', '.join(odd[:5])}")
        self.snapshots = [
            {name: snapshots[number][name].to(parameter.device) for name, parameter in own}
            for number in sorted(snapshots)
        ]


@torch.no_grad()
def load_tensors(model: nn.Module, tensors: dict[str, Tensor], *, partly: bool = False) -> None:
    """Copy tensors into the model's own of the same names; all must be there unless partly."""
    own = model_tensors(model)
    if not partly and (own.keys() != tensors.keys() or any(own[name].shape != tensors[name].shape for name in own)):
        odd = sorted(own.keys() ^ tensors.keys()) or [name for name in own if own[name].shape != tensors[name].shape]
        raise ValueError(f"weights do not fit the model: {', '.join(odd[:5])}")
    for name, value in tensors.items():
        own[name].copy_(value)
