"""Scheduled sampling (Bengio et al. 2015): train a decoder on a mix of true tokens and of its own.

first input → extend → logits → next input: the true token with probability ratio, else the likeliest one → extend …

It costs a step of the decoder for every target token; with a ratio of 1 the task takes the fast path instead.
"""

from typing import Protocol, TypeVar

import torch
from torch import Tensor

from jumok.config import TrainingConfig
from jumok.nn.model import Decoder, StateT

# B batch · T target · V vocabulary


class TargetBatch(Protocol):
    """A batch whose answers are sequences of tokens."""

    @property
    def inputs(self) -> Tensor:
        """(B, T) start token, then the target."""

    @property
    def targets(self) -> Tensor:
        """(B, T) the target, then the end token."""

    @property
    def target_mask(self) -> Tensor:
        """(B, T) True where a target is real."""


TargetT = TypeVar("TargetT", bound=TargetBatch)


def teacher_forcing_ratio(step: int, config: TrainingConfig) -> float:
    """Return the share of true tokens among a step's inputs: a straight line from step 1 to the last, never below 0."""
    progress = min(max(step - 1, 0) / max(config.steps - 1, 1), 1.0)
    return max(config.teacher_forcing - config.teacher_forcing_decay * progress, 0.0)


def sampled_logits(model: Decoder[TargetT, StateT], batch: TargetT, ratio: float) -> Tensor:
    """Return logits (B, T, V) of batch.targets, where each input after the first is the true one with this ratio."""
    given = torch.rand(batch.inputs.shape) < ratio  # torch's own generator on the CPU: a checkpoint holds its state
    given = given.to(batch.inputs.device)
    state = model.start(model.encode(batch))
    tokens = batch.inputs[:, :1]
    steps: list[Tensor] = []  # each (B, 1, V)
    for place in range(batch.inputs.shape[1]):
        if place:
            own = steps[-1].argmax(dim=2)
            tokens = torch.where(given[:, place : place + 1], batch.inputs[:, place : place + 1], own)
        logits, state = model.extend(tokens, state)
        steps.append(logits)
    return torch.cat(steps, dim=1)
