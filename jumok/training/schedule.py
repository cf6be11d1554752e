"""The learning rate of each step: a linear warm-up to the peak, then a curve."""

import math

from jumok.config import TrainingConfig


def learning_rate(step: int, config: TrainingConfig) -> float:
    """Return the rate of a step, counted from 1.

    inverse_sqrt is the paper's: peak · √(warmup / step). Its formula d^-0.5 · min(step^-0.5, step · warmup^-1.5) is the
    same with learning_rate = (d · warmup)^-0.5.
    """
    peak, warmup = config.learning_rate, config.warmup
    if step <= warmup:
        return peak * step / warmup
    if config.schedule == "constant":
        return peak
    if config.schedule == "inverse_sqrt":
        return peak * math.sqrt(max(warmup, 1) / step)
    progress = min((step - warmup) / max(config.steps - warmup, 1), 1.0)
    left = 1 - progress if config.schedule == "linear" else (1 + math.cos(math.pi * progress)) / 2
    return config.final_learning_rate + (peak - config.final_learning_rate) * left
