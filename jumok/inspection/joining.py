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
    starts: dict[int, list[int]] = {}  # of each call's queries, by number of calls, as self-attention tells them
    for (_, kind, _), calls in groups.items():
        if kind not in OVER_ANOTHER:
            starts.setdefault(len(calls), [one.weights.shape[-1] - one.weights.shape[-2] for one in calls])
    return _join_heads([_join_calls(calls, starts.get(len(calls))) for calls in groups.values()])


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
            "not recorded. Generate with one beam (num_beams=1), or observe one call of the model over the finished text"
        )


def _join_calls(calls: Sequence[AttentionMap], starts: Sequence[int] | None) -> AttentionMap:
    """Return one map of a layer's calls, given where each call's queries begin, if that is known."""
    first, last = calls[0], calls[-1]
    if len(calls) == 1:
        return first
    counts = [one.weights.shape[-2] for one in calls]
    if starts is None:  # over another sequence, and no self-attention to tell: each call goes on, or begins again
        grows = all(later == count + 1 for count, later in pairwise(counts))
        starts = [0] * len(calls) if grows else [sum(counts[:place]) for place in range(len(calls))]
    if first.kind in OVER_ANOTHER and len({one.weights.shape[-1] for one in calls}) > 1:
        raise _different_sequences(first)
    ends = [start + count for start, count in zip(starts, counts, strict=True)]
    if list(starts) == [0, *ends[:-1]]:
        return _stack_calls(calls)
    if any(starts) or any(not _begins_with(later, one) for one, later in pairwise(calls)):
        raise _different_sequences(first)
    return last  # without a cache each step reads the whole text again


def _begins_with(later: AttentionMap, one: AttentionMap) -> bool:
    """Return whether a call looked at one token more than the call before, which it repeats."""
    queries, keys = one.weights.shape[-2:]
    same = later.weights[..., :queries, :keys]
    grows = later.weights.shape[-2] == queries + 1
    return grows and same.shape == one.weights.shape and torch.allclose(same, one.weights, atol=1e-3)


def _stack_calls(calls: Sequence[AttentionMap]) -> AttentionMap:
    """Return the map of all queries; a key that a call did not have yet has no weight in it."""
    keys = calls[-1].weights.shape[-1]
    weights = torch.cat([_widen(one.weights, keys) for one in calls], dim=-2)
    details = [one.details for one in calls if one.details is not None]
    joined = _stack_details(details, keys) if len(details) == len(calls) else None
    return replace(calls[-1], weights=weights, details=joined)


def _stack_details(details: Sequence[AttentionDetails], keys: int) -> AttentionDetails:
    masks = []
    for one in details:
        rows, _, queries, _ = one.query.shape
        mask = one.query.new_ones(rows, queries, one.key.shape[2], dtype=torch.bool) if one.mask is None else one.mask
        masks.append(_widen(mask, keys))
    return replace(
        details[-1],
        query=torch.cat([one.query for one in details], dim=2),
        output=torch.cat([one.output for one in details], dim=1),
        mask=torch.cat(masks, dim=1),
    )


def _widen(x: Tensor, keys: int) -> Tensor:
    """Return x (…, keys) with zeros for the keys that it does not have."""
    return torch.nn.functional.pad(x, (0, keys - x.shape[-1]))


def _different_sequences(found: AttentionMap) -> ConfigError:
    return ConfigError(
        f"the maps of kind '{found.kind}' are of different sequences: observe one call of the model at a time, or one "
        "text that it writes step by step with a cache that keeps all keys"
    )


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
