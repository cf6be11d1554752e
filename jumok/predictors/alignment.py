"""One grid of attention weights chosen from a record: a kind, a layer and a head, or means over them.

AttentionRecord of one example → alignment_of → Alignment → the terminal, a PNG, JSON
"""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from jumok.errors import ConfigError
from jumok.inspection.record import AttentionRecord
from jumok.lens.figure import save_alignment
from jumok.lens.terminal import Drawing, draw_alignment

# Q queries · K keys

OVER_SOURCE = ("cross", "recurrent")  # kinds of attention over a source, which are shown first


@dataclass(frozen=True)
class Alignment:
    """Weights (Q, K) with their labels, and what they are of."""

    weights: Tensor
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    title: str

    def draw(self, *, colour: bool = True) -> Drawing:
        """Return the drawing for a terminal, which folds it to its width."""
        return draw_alignment(self.weights, self.queries, self.keys, colour=colour)

    def save_png(self, path: Path) -> None:
        """Draw it to a file."""
        save_alignment(self.weights, self.queries, self.keys, path, title=self.title)


def alignment_of(
    record: AttentionRecord, *, kind: str = "", layer: int | None = None, head: int | None = None
) -> Alignment:
    """Return the weights of one layer and head, both counted from 1, or the mean of all; kind "": over the source."""
    kinds = record.kinds
    kind = kind or next((name for name in OVER_SOURCE if name in kinds), kinds[0])
    maps = record.of_kind(kind)
    if not maps:
        raise ConfigError(f"--kind {kind}: this model has {', '.join(kinds)}")
    if layer is not None and layer > len(maps):
        raise ConfigError(f"--layer {layer}: there are {len(maps)}")
    chosen = [maps[layer - 1]] if layer else maps
    heads = len(chosen[0].weights)
    if head is not None and head > heads:
        raise ConfigError(f"--head {head}: there are {heads}")
    grids = [found.weights[head - 1] if head else found.weights.mean(dim=0) for found in chosen]
    title = f"{kind} attention, {_which('layer', layer, len(maps))}, {_which('head', head, heads)}"
    return Alignment(torch.stack(grids).mean(dim=0), chosen[0].queries, chosen[0].keys, title)


def _which(what: str, number: int | None, count: int) -> str:
    """Return the chosen one's name, or what the mean is of."""
    return f"{what} {number}" if number else f"mean of {count} {what}s" if count > 1 else f"its one {what}"
