"""What a model is fed. One class for each kind of example; tasks fill them, models read them.

Padding is marked by masks (True = real), never by a magic id.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Self

import torch
from torch import Tensor

# B batch · S source · T target · G cells of an image's grid · L look-back · H horizon · C columns · V targets · F static features


@dataclass(frozen=True)
class Batch:
    """What all batches share: tensors with a row for each example."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def to(self, device: torch.device) -> Self:
        """Return the batch on device."""
        return self._each(lambda value: value.to(device))

    def part(self, number: int, parts: int) -> Self:
        """Return every parts-th example, from number on."""
        return self._each(lambda value: value[number::parts])

    def _each(self, change: Callable[[Tensor], Tensor]) -> Self:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: None if value is None else change(value) for name, value in values.items()})


@dataclass(frozen=True)
class PairBatch(Batch):
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


@dataclass(frozen=True)
class TextBatch(Batch):
    """Stretches of text without padding, and what comes next at each place."""

    inputs: Tensor  # (B, T) ids
    targets: Tensor  # (B, T) the ids one place later
    documents: Tensor | None = None  # (B, T) number of each token's document, where they must not see each other

    @property
    def cells(self) -> int:
        """Tokens, of which none is padding."""
        return self.inputs.numel()


@dataclass(frozen=True)
class LabelBatch(Batch):
    """Sequences and the class of each."""

    source: Tensor  # (B, S) ids
    source_mask: Tensor  # (B, S)
    labels: Tensor  # (B,)
    segments: Tensor | None = None  # (B, S) 0 in the first sentence, 1 in the second; None: there is only one

    @property
    def cells(self) -> int:
        """Tokens, padding included."""
        return self.source.numel()


@dataclass(frozen=True)
class ImageBatch(Batch):
    """Images and the class of each, or a mixture of classes where images were mixed."""

    images: Tensor  # (B, C, H, W), normalised
    labels: Tensor  # (B,)
    shares: Tensor | None = None  # (B, classes) how much of each class is in an image; None: all of its label

    @property
    def cells(self) -> int:
        """Pixels."""
        return self.images.numel() // self.images.shape[1]


@dataclass(frozen=True)
class CaptionBatch(Batch):
    """Images, as pixels or as a frozen encoder saw them, and for training their captions shifted by one."""

    inputs: Tensor  # (B, T) start token, then the caption
    targets: Tensor  # (B, T) the caption, then the end token
    target_mask: Tensor  # (B, T)
    images: Tensor | None = None  # (B, C, H, W), normalised
    feature_map: Tensor | None = None  # (B, h, w, E), in place of images
    numbers: Tensor | None = None  # (B,) the number of each image in its store

    @property
    def cells(self) -> int:
        """Tokens, padding included."""
        return self.inputs.numel()


@dataclass(frozen=True)
class DrawingBatch(Batch):
    """Texts, and for training the codes of the images that they describe."""

    text: Tensor  # (B, S) ids: start token, text, end token
    text_mask: Tensor  # (B, S), True = real
    codes: Tensor  # (B, G) of an image, row by row; (B, 0) where it is to be drawn
    without_text: Tensor | None = None  # (B,) True where the text was dropped, so that it is not to be foretold

    @property
    def cells(self) -> int:
        """Tokens of text and image, padding included."""
        return self.text.numel() + self.codes.numel()


@dataclass(frozen=True)
class SeriesBatch(Batch):
    """Windows of series: what was, what is known of the time to come, and for training what came."""

    past: Tensor  # (B, L, C) targets, then columns known only in the past, then those known ahead; 0 where missing
    observed: Tensor  # (B, L, C) True where a value is there
    known: Tensor  # (B, H, columns known ahead)
    static: Tensor  # (B, F) what is constant in a series
    future: Tensor  # (B, H, V) what the targets came to
    future_observed: Tensor  # (B, H, V)

    @property
    def cells(self) -> int:
        """Values of the past."""
        return self.past.numel()


@dataclass(frozen=True)
class MaskedBatch(Batch):
    """Sequences with masked tokens, and what stood in them."""

    source: Tensor  # (B, S) ids, some of them hidden
    source_mask: Tensor  # (B, S)
    masked: Tensor  # (B, S) True where a word must be found
    answers: Tensor  # (M,) the ids that stood in the masked tokens, row by row
    segments: Tensor | None = None  # (B, S) as in LabelBatch
    follows: Tensor | None = None  # (B,) 1 where the second sentence really follows the first; None: nobody asks

    @property
    def cells(self) -> int:
        """Tokens, padding included."""
        return self.source.numel()

    def part(self, number: int, parts: int) -> Self:
        """Return every parts-th example, from number on, with the answers of its own masked tokens."""
        whose = self.masked.nonzero()[:, 0]
        return replace(super().part(number, parts), answers=self.answers[whose % parts == number])
