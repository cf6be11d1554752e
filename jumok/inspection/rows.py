"""What may be filed as attention: rows that are distributions over keys, or empty.

weights (…, Q, K) → nothing, or a RecordError that names the module and what was found
"""

import torch
from torch import Tensor

from jumok.errors import RecordError

# Q queries · K keys

TOLERANCE, HALF_TOLERANCE = 1e-4, 1e-2  # of a row's sum; numbers of 16 bits are rounded more coarsely


def are_distributions(weights: Tensor) -> bool:
    """Return whether each row of weights (…, Q, K) sums to 1 or is empty, and one at least is not empty."""
    return _find_bad_sum(weights, partial=False) is None and bool(weights.any())


def refuse_other_rows(weights: Tensor, *, name: str, partial: bool = False) -> None:
    """Raise RecordError unless each row of weights (…, Q, K) sums to 1 or is empty; partial rows may sum to less."""
    found = _find_bad_sum(weights, partial=partial)
    if found is not None:
        raise RecordError(
            f"{name} gave numbers {tuple(weights.shape)} that are no attention weights: {found}. "
            "Each row of weights sums to 1, or is empty where a query may look at nothing; "
            "hand over the result of the softmax, before dropout"
        )


def _find_bad_sum(weights: Tensor, *, partial: bool) -> str | None:
    """Return what is wrong with the first row that is no distribution, or None where all are."""
    if not weights.numel():
        return None
    weights, half = weights.detach(), weights.dtype in (torch.float16, torch.bfloat16)
    tolerance = HALF_TOLERANCE if half else TOLERANCE
    sums = weights.sum(dim=-1, dtype=torch.float32 if half else None)
    fine = (sums - 1).abs() <= tolerance
    fine |= (sums >= 0) & (sums <= 1) if partial else sums == 0
    if not fine.all():
        return f"a row sums to {float(sums[~fine][0]):.4g}"
    lowest = float(weights.min())
    return f"one of them is {lowest:.4g}, below 0" if lowest < -tolerance else None
