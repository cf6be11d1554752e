"""What was recorded of a model's attention: maps with labels, words for subwords, measures that tell heads apart.

AttentionMap     the weights of one attention layer in one call: (B, H, Q, K), or (H, Q, K) of one example
AttentionRecord  all maps of the calls made while observing (inspection/observe.py)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from jumok.inspection.ablation import Ablation
from jumok.inspection.details import AttentionDetails, PositionTable, expand_mask, join_queries
from jumok.inspection.labels import join_bytes
from jumok.inspection.layers import LayerDetails
from jumok.inspection.rows import refuse_other_rows

# B batch · H heads · Q queries · K keys

END = "[END]"  # the label of the end token, where heads with nothing to do put their weight
Measure = Literal["entropy", "distance", "on_end", "diagonality"]


class ModulePath(NamedTuple):
    """Where a module is in its model."""

    path: str  # its real name inside the model, e.g. "decoder.layers.2.cross"
    layer: int  # counted from 0


@dataclass(frozen=True)
class AttentionMap:
    """The weights of one attention layer in one call: (B, H, Q, K), or (H, Q, K) of one example."""

    path: str  # the module's real name inside the model, e.g. "decoder.layers.2.cross"
    kind: str  # encoder, decoder, cross, …
    layer: int
    weights: Tensor
    queries: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    grid: tuple[int, int] | None = None  # rows and columns, where keys are the cells of an image
    details: AttentionDetails | None = None  # what the weights were computed from: observe(model, details=True)

    def cut(self, queries: Sequence[str], keys: Sequence[str], row: int = 0) -> "AttentionMap":
        """Return the map of example row, cut to the queries and keys that have labels."""
        weights = self.weights[row, :, : len(queries), : len(keys)]
        details = None if self.details is None else self.details.cut(len(queries), len(keys), row)
        return replace(self, weights=weights, queries=tuple(queries), keys=tuple(keys), details=details)

    def merged(self, queries: Sequence[int], keys: Sequence[int]) -> "AttentionMap":
        """Return the map of words, given the number of the word that each query and key belongs to.

        A word is looked at as much as its subwords together, and looks where they do on average.
        """
        by_key = _sums(self.weights, keys, dim=-1)
        count = torch.bincount(torch.tensor(queries, device=by_key.device)).to(by_key.dtype)
        weights = _sums(by_key, queries, dim=-2) / count[:, None]
        return replace(
            self,
            weights=weights,
            queries=_joined(self.queries, queries),
            keys=_joined(self.keys, keys),
            grid=None,
            details=None,  # a word has no single query or key
        )

    def summaries(self) -> list["HeadSummary"]:
        """Return the measures of each head; the weights must be of one example (H, Q, K)."""
        heads, queries, keys = self.weights.shape
        weights = self.weights.float()
        diagonal = torch.arange(queries, device=weights.device)[:, None] * ((keys - 1) / max(queries - 1, 1))
        if queries == keys:
            diagonal = diagonal.round()
        apart = (torch.arange(keys, device=weights.device) - diagonal).abs()  # (Q, K), in keys
        entropy = -torch.special.xlogy(weights, weights).sum(dim=-1).mean(dim=-1)  # (H,)
        distance = (weights * apart).sum(dim=-1).mean(dim=-1)
        ends = [place for place, label in enumerate(self.keys) if label == END]
        on_end = weights[..., ends].sum(dim=-1).mean(dim=-1)
        return [
            HeadSummary(
                self.path,
                self.kind,
                self.layer,
                head,
                entropy=float(entropy[head]),
                distance=float(distance[head]),
                on_end=float(on_end[head]),
                diagonality=1 - float(distance[head]) / max(keys - 1, 1),
            )
            for head in range(heads)
        ]


@dataclass(frozen=True)
class HeadSummary:
    """The measures of one head, each a mean over queries."""

    path: str
    kind: str
    layer: int
    head: int
    entropy: float  # of its weights, in nats: 0 looks at one key, ln K at all keys alike
    distance: float  # in keys, from the diagonal on which the first query meets the first key and the last the last
    on_end: float  # weight on the end token
    diagonality: float  # 1 on the diagonal, 0 as far from it as can be


@dataclass
class AttentionRecord:
    """All maps of the calls made while observing one model."""

    maps: list[AttentionMap] = field(default_factory=list)
    observed: dict[nn.Module, ModulePath] = field(default_factory=dict, repr=False)  # the modules of the model
    ablation: Ablation = field(default_factory=Ablation, repr=False)
    keeps_maps: bool = True  # False: the calls are only ablated
    keeps_details: bool = False  # True: maps keep their details, and positions are kept
    positions: list[PositionTable] = field(default_factory=list)
    layers: list[LayerDetails] = field(default_factory=list)  # with details: jumok's own Transformer layers, whole
    why_empty: str = field(default="", repr=False)  # a sentence, where the model was called and nothing was recognised
    followed_beams: bool = field(default=False, repr=False)  # whether a beam search reordered rows between the calls
    _noted: list[AttentionDetails] = field(default_factory=list, repr=False)  # since the last map was filed

    def watches(self, module: nn.Module) -> bool:
        """Return whether the calls of a module are recorded."""
        return module in self.observed

    @property
    def without_positions(self) -> bool:
        """Whether the ablation leaves out positions."""
        return self.ablation.without_positions

    def ablated(self, module: nn.Module, kind: str, weights: Tensor) -> Tensor:
        """Return weights (B, H, Q, K) without what the ablation leaves out."""
        return self.ablation.apply(weights, path=self.observed[module].path, kind=kind)

    def note(
        self,
        *,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        output: Tensor,
        scale: float = 1.0,
        mask: Tensor | None = None,
        vector: Tensor | None = None,
        group: int = 1,
    ) -> None:
        """Keep details for the map that is filed next (nn/recording.py has the shapes)."""
        if self.keeps_maps and self.keeps_details:
            expanded = expand_mask(mask, (*query.shape[:3], key.shape[2]))
            details = AttentionDetails(query, key, value, output, scale=scale, mask=expanded, vector=vector)
            self._noted.append(details.per_hypothesis(group).detached())

    def file(
        self,
        module: nn.Module,
        kind: str,
        weights: Tensor,
        *,
        grid: tuple[int, int] | None = None,
        repeat: int = 0,
        checked: bool = True,
    ) -> None:
        """Keep weights (B, H, Q, K) under the module's path; grid is the rows and columns of keys in an image.

        repeat counts the calls of a module that serves as several layers. Rows that neither sum to 1 nor are empty are
        refused, unless the weights are ablated or, checked=False, after dropout; over a grid they may sum to less,
        because padding around it is cut off.
        """
        if self.keeps_maps:
            path, layer = self.observed[module]
            details = join_queries(self._noted) if self._noted else None
            self._noted.clear()
            if checked and self.ablation == Ablation():
                refuse_other_rows(weights, name=name_of(module, path), partial=grid is not None)
            self.maps.append(AttentionMap(path, kind, layer + repeat, weights.detach(), grid=grid, details=details))

    def file_positions(self, module: nn.Module, kind: str, join: str, encoding: Tensor) -> None:
        """Keep the encoding (T, P) of positions from 0 on; of several of one module, the longest."""
        if self.keeps_maps and self.keeps_details:
            table = PositionTable(self.observed[module].path, kind, join, encoding.detach())
            known = next((place for place, one in enumerate(self.positions) if one.path == table.path), None)
            if known is None:
                self.positions.append(table)
            elif len(table.table) > len(self.positions[known].table):
                self.positions[known] = table

    def of_kind(self, kind: str) -> list[AttentionMap]:
        """Return the maps of one kind, lowest layer first."""
        return [found for found in self.maps if found.kind == kind]

    @property
    def kinds(self) -> list[str]:
        """The kinds of attention recorded, in order of first use."""
        return list(dict.fromkeys(found.kind for found in self.maps))

    def ranked(self, measure: Measure = "entropy", *, kind: str = "") -> list[HeadSummary]:
        """Return the heads of all maps, or of one kind, in ascending order of a measure."""
        maps = self.of_kind(kind) if kind else self.maps
        heads = (head for found in maps for head in found.summaries())
        return sorted(heads, key=lambda head: float(getattr(head, measure)))

    def rolled_out(self, kind: str) -> Tensor:
        """Return how much of each input reaches each output (Q, K) through all layers of a kind; maps are (H, Q, K).

        Cross-attention sees encoder states, so its weights are followed through the encoder as well.
        """
        maps = self.of_kind(kind)
        assert maps, f"there is no attention of kind {kind}"
        if kind not in ("cross", "recurrent"):
            return rollout(maps)
        mean = mean_over_heads(maps)
        encoder = self.of_kind("encoder")
        return mean @ rollout(encoder) if encoder else mean


def name_of(module: nn.Module, path: str) -> str:
    """Return how a module is called in messages: path and class."""
    return f"{path} ({type(module).__name__})" if path else type(module).__name__


def rollout(maps: Sequence[AttentionMap]) -> Tensor:
    """Return how much of each input reaches each output through all layers (Q, K), given maps (H, Q, K).

    Attention rollout (Abnar, Zuidema 2020): half of a state comes through the residual connection, half through the
    mean of its heads.
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


def _sums(x: Tensor, groups: Sequence[int], *, dim: int) -> Tensor:
    """Return x with the members of each group added up along dim."""
    shape = list(x.shape)
    shape[dim] = max(groups) + 1
    return x.new_zeros(shape).index_add_(dim, torch.tensor(groups, device=x.device), x)


def _joined(labels: Sequence[str], groups: Sequence[int]) -> tuple[str, ...]:
    """Return the label of each group: its members' labels written together."""
    words = [""] * (max(groups) + 1)
    for label, group in zip(labels, groups, strict=True):
        words[group] += label
    return tuple(map(join_bytes, words))
