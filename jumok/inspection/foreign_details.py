"""Details of layers that are not jumok's: believed only where the weights can be computed from them again.

queries, keys, values and output that were seen → softmax(q · k · scale) under a mask = weights? → AttentionDetails
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from jumok.inspection.details import AttentionDetails

# B batch · H heads · Q queries · K keys · d head width · v value width · D width


class Ingredients(NamedTuple):
    """What weights may have been computed from."""

    query: Tensor  # (B, H, Q, d)
    key: Tensor  # (B, H, K, d)
    value: Tensor  # (B, H, K, v)
    output: Tensor  # (B, Q, D): what the layer handed on, or the heads concatenated where it projects elsewhere
    scales: Sequence[float]  # factors of q · k that may have been used


def explain_weights(weights: Tensor, given: Ingredients) -> AttentionDetails | None:
    """Return the details of weights (B, H, Q, K), or None where they are not softmax(q · k · scale) under a mask.

    The mask is read off the weights: a key that has no weight in any head is hidden.
    """
    query, key, value, output, scales = given
    shape = weights.shape
    fits = query.shape[:3] == shape[:3] and key.shape[:3] == (*shape[:2], shape[3]) and value.shape[:3] == key.shape[:3]
    if not fits or query.shape[3] != key.shape[3] or output.shape[:2] != (shape[0], shape[2]):
        return None
    with torch.no_grad():
        seen = (weights != 0).any(dim=1)  # (B, Q, K)
        products = query.float() @ key.float().transpose(-2, -1)
        tolerance = 1e-4 if weights.dtype in (torch.float32, torch.float64) else 2e-2
        for scale in scales:
            scores = (products * scale).masked_fill(~seen[:, None], -math.inf)
            again = scores.softmax(dim=-1).nan_to_num()  # NaN: a query that may look at nothing
            if torch.allclose(again, weights.float(), atol=tolerance):
                return AttentionDetails(query, key, value, output, scale=scale, mask=None if seen.all() else seen)
    return None
