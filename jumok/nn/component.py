"""A trained model that another run is made of, beside its own weights: a captioner's encoder.

The recipe names it; runs/components.py finds it, checks its hash and loads it; the task uses it.
"""

from dataclasses import dataclass
from typing import Any

from jumok.nn.model import Model


@dataclass(frozen=True)
class Component:
    """A model in the service of another, never trained by it."""

    model: Model[Any]
    hash: str  # sha256 of the file of its weights
    config: dict[str, Any]  # its own [model], where it is a run
    size: int = 0  # an encoder's: pixels per side that it sees
    channels: int = 3
    mean: tuple[float, ...] = ()  # an encoder's: how its pixels are normalised
    deviation: tuple[float, ...] = ()
