"""What a caller may follow a training run by: a report of each step and of each evaluation.

trainer → StepReport, EvaluationReport → a function of the caller's; False as its answer stops the run after a checkpoint
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class StepReport:
    """A step that was taken."""

    step: int
    loss: float  # the mean over what the task counts: target tokens, texts, images, …
    learning_rate: float
    units_per_second: float  # how many of these the step learnt from per second


@dataclass(frozen=True)
class EvaluationReport:
    """An evaluation that was made."""

    step: int
    scores: dict[str, Any]  # by name; numbers, but for a few
    is_best: bool  # whether the score that decides (training.monitor) was never better


OnStep = Callable[[StepReport], bool | None]
OnEvaluation = Callable[[EvaluationReport], bool | None]
