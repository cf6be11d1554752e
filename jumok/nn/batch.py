"""What a model is fed. One class a kind of example; tasks fill them, models read them.

Padding is marked by masks (True = real), never by a magic id.
"""

from dataclasses import dataclass, fields, replace
from typing import Self

import torch
from torch import Tensor

# B batch · S source · T target


@dataclass(frozen=True)
class Rows:
    """What all batches share: tensors with a row for each example."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def part(self, number: int, parts: int) -> Self:
        """Return every parts-th example, from number on."""
        chosen = {}
        for field in fields(self):
            value = getattr(self, field.name)
            chosen[field.name] = None if value is None else value[number::parts]
        return replace(self, **chosen)


@dataclass(frozen=True)
class PairBatch(Rows):
    """Source sentences and, for training, their targets shifted by one."""

    source: Tensor  # (B, S) ids, each row ends with the end token
    source_mask: Tensor  # (B, S)
    inputs: Tensor  # (B, T) start token, then the target
    targets: Tensor  # (B, T) the target, then the end token
    target_mask: Tensor  # (B, T)

    @property
    def cells(self) -> int:
        """Tokens of both sides, padding included."""
        return self.source.numel() + self.inputs.numel()

    def to(self, device: torch.device) -> Self:
        """Return the batch on device."""
        return type(self)(
            self.source.to(device),
            self.source_mask.to(device),
            self.inputs.to(device),
            self.targets.to(device),
            self.target_mask.to(device),
        )


@dataclass(frozen=True)
class LabelBatch(Rows):
    """Sequences and the class of each."""

    source: Tensor  # (B, S) ids
    source_mask: Tensor  # (B, S)
    labels: Tensor  # (B,)

    def to(self, device: torch.device) -> Self:
        """Return the batch on device."""
        return type(self)(self.source.to(device), self.source_mask.to(device), self.labels.to(device))
