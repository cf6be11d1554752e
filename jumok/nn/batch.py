"""What a model is fed. One class a kind of example; tasks fill them, models read them.

Padding is marked by masks (True = real), never by a magic id.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

# B batch · S source · T target


@dataclass(frozen=True)
class PairBatch:
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
class TextBatch:
    """Stretches of text without padding, and what comes next at each place."""

    inputs: Tensor  # (B, T) ids
    targets: Tensor  # (B, T) the ids one place later
    documents: Tensor | None = None  # (B, T) number of each token's document, where they must not see each other

    @property
    def cells(self) -> int:
        """Tokens, of which none is padding."""
        return self.inputs.numel()

    def to(self, device: torch.device) -> Self:
        """Return the batch on device."""
        documents = None if self.documents is None else self.documents.to(device)
        return type(self)(self.inputs.to(device), self.targets.to(device), documents)


@dataclass(frozen=True)
class LabelBatch:
    """Sequences and the class of each."""

    source: Tensor  # (B, S) ids
    source_mask: Tensor  # (B, S)
    labels: Tensor  # (B,)
    segments: Tensor | None = None  # (B, S) 0 in the first sentence, 1 in the second; None: there is only one

    @property
    def cells(self) -> int:
        """Tokens, padding included."""
        return self.source.numel()

    def to(self, device: torch.device) -> Self:
        """Return the batch on device."""
        segments = None if self.segments is None else self.segments.to(device)
        return type(self)(self.source.to(device), self.source_mask.to(device), self.labels.to(device), segments)


@dataclass(frozen=True)
class GapBatch:
    """Sequences with gaps, and what stood in them."""

    source: Tensor  # (B, S) ids, some of them hidden
    source_mask: Tensor  # (B, S)
    gaps: Tensor  # (B, S) True where a word must be found
    answers: Tensor  # (G,) the ids that stood in the gaps, row by row
    segments: Tensor | None = None  # (B, S) as in LabelBatch
    follows: Tensor | None = None  # (B,) 1 where the second sentence really follows the first; None: nobody asks

    @property
    def cells(self) -> int:
        """Tokens, padding included."""
        return self.source.numel()

    def to(self, device: torch.device) -> Self:
        """Return the batch on device."""
        return type(self)(
            self.source.to(device),
            self.source_mask.to(device),
            self.gaps.to(device),
            self.answers.to(device),
            None if self.segments is None else self.segments.to(device),
            None if self.follows is None else self.follows.to(device),
        )
