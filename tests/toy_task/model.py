"""A small network that counts bits: bits (B, n) → hidden (B, D) → how many are set (B, n + 1)."""

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field
from torch import Tensor, nn

from jumok.config import ModelConfig
from jumok.nn.batch import Batch
from jumok.nn.model import Model


@dataclass(frozen=True)
class BitsBatch(Batch):
    """Rows of bits, and how many are set."""

    bits: Tensor  # (B, n)
    counts: Tensor  # (B,)


class CounterConfig(ModelConfig):
    """Sizes of the network."""

    FILLED_IN: ClassVar[tuple[str, ...]] = ("bits",)

    width: int = Field(32, ge=1)
    bits: int = Field(0, ge=0, description="filled in from the data")


class Counter(Model[BitsBatch]):
    """Count the bits that are set."""

    Config = CounterConfig
    tasks = ("counting", "toy_task:COUNTING")

    def __init__(self, config: CounterConfig) -> None:
        super().__init__()
        self.hidden = nn.Linear(config.bits, config.width)
        self.project = nn.Linear(config.width, config.bits + 1)

    def features(self, batch: BitsBatch) -> Tensor:
        return self.hidden(batch.bits).tanh()
