"""Maps of several calls that belong together: the steps of a text written with a key-value cache, heads that are modules.

prompt (Q, K), then one query per step (1, K + 1), (1, K + 2), … → one map (Q + n, K + n) per layer and kind
blocks.2.heads.0, blocks.2.heads.1, … with one head each         → one map of blocks.2.heads
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import torch
from torch import Tensor

from jumok.errors import ConfigError
from jumok.inspection.details import AttentionDetails
from jumok.inspection.record import AttentionMap, AttentionRecord

# B batch · H heads · Q queries · K keys

OVER_ANOTHER = ("cross", "recurrent")  # kinds of attention whose keys are another sequence than their queries
_HEAD = re.compile(r"(.*\.)?(\w*head\w*)\.\d+")
Group = tuple[str, str, int]  # path, kind, layer


def join_maps(record: AttentionRecord) -> list[AttentionMap]:
    """Return the maps of a record, the calls of each layer joined into one map, and so heads that are modules."""
    groups: dict[Group, list[AttentionMap]] = {}
    for found in record.maps:
        groups.setdefault((found.path, found.kind, found.layer), []).append(found)
    if all(len(calls) == 1 for calls in groups.values()):
        return _join_heads(record.maps)
    _refuse_beams(record)
    return _join_heads([_join_calls(calls) for calls in groups.values()])


def _refuse_beams(record: AttentionRecord) -> None:
    """Raise ConfigError where rows of one call are not those of the next."""
    rows = sorted({len(found.weights) for found in record.maps if found.weights.dim() == 4})
    if record.followed_beams or len(rows) > 1:
        what = (
            "the rows were reordered between steps"
            if record.followed_beams
            else f"calls had {rows[0]} to {rows[-1]} rows"
        )
        raise ConfigError(
            f"the record is of a beam search, or of calls with different batches ({what}): which row went on from which is "
            "not recorded. Generate with one beam (num_beams=1; beam=1 for jumok's models), or observe one call of the model over the finished text"
        )


def _join_calls(calls: Sequence[AttentionMap]) -> AttentionMap:
    """Return one map of a layer's calls, each of which goes on where the last ended, or repeats it with one token more."""
    if len(calls) == 1:
        return calls[0]
    if all(_begins_with(later, one) for one, later in pairwise(calls)):
        return calls[-1]  # without a cache each step reads the whole text again
    ends = _find_ends(calls)
    if ends is None:
        raise ConfigError(
            f"the maps of kind '{calls[0].kind}' are of different sequences: observe one call of the model at a time, or "
            "one text that it writes step by step"
        )
    return _stack_calls(calls, ends)


def _find_ends(calls: Sequence[AttentionMap]) -> list[int] | None:
    """Return how many keys there were at the end of each call, or None where a call does not go on from the last."""
    shapes = [(one.weights.shape[-2], one.weights.shape[-1]) for one in calls]
    if calls[0].kind in OVER_ANOTHER:
        goes_on = all(shape == (1, shapes[0][1]) for shape in shapes[1:])
        return [shapes[0][1]] * len(calls) if goes_on else None
    ends = [shapes[0][1]]
    for queries, keys in shapes[1:]:
        if not 0 < keys - queries <= ends[-1]:
            return None
        ends.append(ends[-1] + queries)  # of more keys than these a sliding window keeps the last
    return ends


def _begins_with(later: AttentionMap, one: AttentionMap) -> bool:
    """Return whether a call looked at one token more than the call before, which it repeats."""
    queries, keys = one.weights.shape[-2:]
    same = later.weights[..., :queries, :keys]
    grows = later.weights.shape[-2] == queries + 1
    return grows and same.shape == one.weights.shape and torch.allclose(same, one.weights, atol=1e-3)


def _stack_calls(calls: Sequence[AttentionMap], ends: Sequence[int]) -> AttentionMap:
    """Return the map of all queries; a key that a call did not have has no weight in it."""
    last = calls[-1]
    weights = torch.cat([_place(one.weights, end, ends[-1]) for one, end in zip(calls, ends, strict=True)], dim=-2)
    details = [one.details for one in calls if one.details is not None]
    has_all_keys = last.weights.shape[-1] == ends[-1]
    joined = _stack_details(details, ends) if len(details) == len(calls) and has_all_keys else None
    return replace(last, weights=weights, details=joined)


def _stack_details(details: Sequence[AttentionDetails], ends: Sequence[int]) -> AttentionDetails:
    masks = []
    for one, end in zip(details, ends, strict=True):
        rows, _, queries, _ = one.query.shape
        mask = one.query.new_ones(rows, queries, one.key.shape[2], dtype=torch.bool) if one.mask is None else one.mask
        masks.append(_place(mask, end, ends[-1]))
    return replace(
        details[-1],
        query=torch.cat([one.query for one in details], dim=2),
        output=torch.cat([one.output for one in details], dim=1),
        mask=torch.cat(masks, dim=1),
    )


def _place(x: Tensor, end: int, keys: int) -> Tensor:
    """Return x (…, keys), given its columns up to the key at end; the others are zero."""
    return torch.nn.functional.pad(x, (end - x.shape[-1], keys - end))


def _join_heads(maps: Sequence[AttentionMap]) -> list[AttentionMap]:
    """Return the maps with those of single heads, as modules of one list have them, joined into one per list."""
    joined: dict[object, list[AttentionMap]] = {}
    for number, found in enumerate(maps):
        head = _HEAD.fullmatch(found.path)
        whole = (found.path[: head.end(2)], found.kind, found.weights.shape) if head else number
        joined.setdefault(whole, []).append(found)
    return [
        one[0]
        if len(one) == 1
        else replace(
            one[0],
            path=one[0].path.rpartition(".")[0],
            weights=torch.cat([found.weights for found in one], dim=-3),
            details=None,
        )
        for one in joined.values()
    ]
