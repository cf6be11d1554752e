"""Look at the attention of any model, without changing how it runs the rest of the time.

with observe(model) as record:  every attention layer of that model computes its weights explicitly and files them here
    model(batch)
record.maps → one AttentionMap a call of a layer; record.example(i) → the same, cut to one example's real length

The recorder is a context variable that knows its model: other models and other threads keep their fast path. Layers of
torch's own and of Hugging Face's models are made to show their weights, too (nn/foreign.py).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from jumok.nn.foreign import shown

# B batch · H heads · Q queries · K keys

_records: ContextVar[tuple["AttentionRecord", ...]] = ContextVar("records", default=())  # the innermost last


@dataclass(frozen=True)
class AttentionMap:
    """The weights of one attention layer in one call: (B, H, Q, K), or (H, Q, K) once it is one example's."""

    path: str  # the module's real name inside the model, e.g. "decoder.layers.2.cross"
    kind: str  # encoder, decoder, cross, …
    layer: int
    weights: Tensor
    queries: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    grid: tuple[int, int] | None = None  # rows and columns, where keys are the cells of a picture

    def cut(self, queries: Sequence[str], keys: Sequence[str], row: int = 0) -> "AttentionMap":
        """Return the map of example row, cut to as many queries and keys as there are labels."""
        weights = self.weights[row, :, : len(queries), : len(keys)]
        return replace(self, weights=weights, queries=tuple(queries), keys=tuple(keys))


@dataclass
class AttentionRecord:
    """All maps of the calls made while observing one model."""

    maps: list[AttentionMap] = field(default_factory=list)
    sites: dict[nn.Module, tuple[str, int]] = field(default_factory=dict, repr=False)

    def file(self, module: nn.Module, kind: str, weights: Tensor, *, grid: tuple[int, int] | None = None) -> None:
        """Keep weights (B, H, Q, K) under the module's path; grid says how keys lie in a picture."""
        path, layer = self.sites[module]
        self.maps.append(AttentionMap(path, kind, layer, weights.detach(), grid=grid))

    def file_once(self, module: nn.Module, kind: str, weights: Tensor) -> None:
        """Keep weights unless the layer inside module has handed over the very same."""
        if not self.maps or self.maps[-1].weights.data_ptr() != weights.data_ptr():
            self.file(module, kind, weights)

    def of_kind(self, kind: str) -> list[AttentionMap]:
        """Return the maps of one kind, lowest layer first."""
        return [found for found in self.maps if found.kind == kind]

    @property
    def kinds(self) -> list[str]:
        """The kinds of attention seen, in order of first use."""
        return list(dict.fromkeys(found.kind for found in self.maps))


def recorder_for(module: nn.Module) -> AttentionRecord | None:
    """Return the record to file under, or None where nobody looks at this module's model."""
    if torch.compiler.is_compiling():  # compiled layers are passed by where somebody looks: see nn/compiling.py
        return None
    return next((record for record in reversed(_records.get()) if module in record.sites), None)


@contextmanager
def observe(model: nn.Module) -> Iterator[AttentionRecord]:
    """Record the attention of model's calls inside the block; outputs stay the same to rounding.

    Blocks may stand inside each other: a call is filed once, by the innermost that observes its model.
    """
    record = AttentionRecord(sites=_sites(model))
    token = _records.set((*_records.get(), record))
    try:
        with shown(model, records=lambda module: recorder_for(module) is record, file=record.file_once):
            yield record
    finally:
        _records.reset(token)
        record.sites.clear()  # a record neither keeps the model alive nor goes on in tasks begun inside the block


def _sites(model: nn.Module) -> dict[nn.Module, tuple[str, int]]:
    """Return each module's path and its layer: the last number in the path, counted from 0."""
    sites = {}
    for path, module in model.named_modules():
        numbers = [int(part) for part in path.split(".") if part.isdigit()]
        sites[module] = (path, numbers[-1] if numbers else 0)
    return sites


def rollout(maps: Sequence[AttentionMap]) -> Tensor:
    """Return how much of each input reaches each output through all layers (Q, K): attention rollout (Abnar, Zuidema 2020).

    Half of a state comes through the residual connection, half through the mean of its heads; maps are (H, Q, K).
    """
    whole: Tensor | None = None
    for found in maps:
        mean = found.weights.mean(dim=0)
        layer = (mean + torch.eye(len(mean), dtype=mean.dtype, device=mean.device)) / 2
        layer = layer / layer.sum(dim=1, keepdim=True)
        whole = layer if whole is None else layer @ whole
    assert whole is not None, "there is nothing to roll out"
    return whole


def mean_over_heads(maps: Sequence[AttentionMap]) -> Tensor:
    """Return the mean over layers and heads: (B, Q, K) or (Q, K)."""
    return torch.stack([found.weights.mean(dim=-3) for found in maps]).mean(dim=0)
