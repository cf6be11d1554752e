"""A trained model that another run is made of, beside its own weights: a captioner's encoder.

The recipe names it; runs/components.py finds it, checks its hash and loads it; the task uses it.
"""

from dataclasses import dataclass
from typing import Any

from torch import nn

from jumok.nn.model import Model


@dataclass(frozen=True)
class Component:
    """A model in the service of another, never trained by it: what is finetuned is a copy."""

    model: Model[Any]
    hash: str  # sha256 of the file of its weights
    config: dict[str, Any]  # its own [model], where it is a run
    size: int = 0  # an encoder's: pixels per side that it sees
    channels: int = 3
    mean: tuple[float, ...] = ()  # an encoder's: how its pixels are normalised
    deviation: tuple[float, ...] = ()

    def start(self, part: nn.Module) -> None:
        """Let a part of another model start from these weights; it may lack some of what this model has."""
        own = self.model.state_dict()
        part.load_state_dict({name: own[name] for name in part.state_dict()})
