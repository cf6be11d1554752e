"""Weights of eight bits: a quarter of the file, for models that ship inside the package.

tensor (rows, …) → each row in whole numbers of −127 to 127, and its scale → a tensor again, near the first

A row's numbers lie at most half a step of its largest / 127 from what they were. Vectors stay as they are: they are small,
and norms and biases feel every digit.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

SCALE = ":scale"  # of the rows of the tensor that is called as what stands before it
LARGEST = 127


def in_eight_bits(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return weights with every matrix and kernel of floats as whole numbers and the scale of each row."""
    found: dict[str, Tensor] = {}
    for name, value in weights.items():
        if value.dim() < 2 or not value.is_floating_point():
            found[name] = value
            continue
        rows = value.flatten(1)
        scale = rows.abs().amax(dim=1, keepdim=True).clamp(min=torch.finfo(torch.float32).tiny) / LARGEST
        found[name] = (rows / scale).round().to(torch.int8).view_as(value)
        found[name + SCALE] = scale.flatten()
    return found


def in_floats(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return weights as floats again; those that were never in eight bits as they are."""
    scales = {name.removesuffix(SCALE): scale for name, scale in weights.items() if name.endswith(SCALE)}
    found = {name: value for name, value in weights.items() if not name.endswith(SCALE)}
    for name, scale in scales.items():
        numbers = found[name].float()
        found[name] = numbers * scale.float().view(-1, *[1] * (numbers.dim() - 1))
    return found
