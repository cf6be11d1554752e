"""Masks, with one convention everywhere: True = may look.

lengths (B,) → padding mask (B, S); a mask that hides nothing becomes None, so that the fastest kernel is used.
"""

import torch
from torch import Tensor

# B batch · S source · Q queries · K keys


def padding_mask(lengths: Tensor, longest: int) -> Tensor:
    """Return (B, longest): True at the first lengths[b] places of each row."""
    return torch.arange(longest, device=lengths.device) < lengths[:, None]


def causal_mask(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """Return (Q, K): query i may look at key j where j comes no later; the last query sees all keys."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def window_mask(queries: int, window: int, device: torch.device | None = None) -> Tensor:
    """Return (Q, Q): query i may look at keys no further than window places away."""
    places = torch.arange(queries, device=device)
    return (places[:, None] - places).abs() <= window


def over_keys(mask: Tensor | None) -> Tensor | None:
    """Return a key mask (B, K) as (B, 1, 1, K) for attention, or None where it hides nothing."""
    if mask is None or bool(mask.all()):
        return None
    return mask[:, None, None, :]


def shown_keys(mask: Tensor, sequences: int, keys: int) -> Tensor | None:
    """Return (B,): how many of its keys a mask (B or 1, 1, 1, K or 1) shows each sequence.

    None where it is of another shape, or the keys are not the first.
    """
    if mask.dim() != 4 or mask.shape[1:3] != (1, 1):
        return None
    rows = mask.expand(sequences, 1, 1, keys)[:, 0, 0]
    return rows.sum(dim=1) if bool((rows[:, :-1] >= rows[:, 1:]).all()) else None


def mean_of(states: Tensor, mask: Tensor) -> Tensor:
    """Return the mean (B, D) of the states (B, S, D) that a mask (B, S) shows."""
    shown = mask[..., None]
    return (states * shown).sum(dim=1) / shown.sum(dim=1)
