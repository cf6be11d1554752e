"""Where a token stands: five ways to say it, added to the embedding or concatenated with it.

tokens' places (T,) or (B, T) → encoding (…, P) → joined with the embedding (B, T, E) → (B, T, D)

Places start at 0. In the sinusoid the first pair of features has the shortest period (2π), the last the longest.
"""

import math
from typing import Literal

import torch
from torch import Tensor, nn

from jumok.nn.recording import recorder_for

# B batch · T tokens · E embedding width · P width of the position · D width of the model

PositionKind = Literal["none", "index", "sinusoidal", "sinusoidal-halves", "learned"]
Join = Literal["add", "concatenate"]
SHOWN = 64  # positions that a record has at least, however short the sequence


def sinusoid(places: Tensor, width: int, *, halves: bool = False) -> Tensor:
    """Return sin and cos (…, width) of places (…): interleaved (even sin, odd cos) or a sin block, then a cos block."""
    pairs = (width + 1) // 2
    periods = torch.exp(torch.arange(pairs, device=places.device) * (-2 * math.log(10_000.0) / width))
    angles = places[..., None].float() * periods  # (…, pairs)
    if halves:
        return torch.cat([angles.sin(), angles.cos()], dim=-1)[..., :width]
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[..., :width]


class Positions(nn.Module):
    """Join a sequence of embeddings with the places of its tokens."""

    def __init__(
        self, kind: PositionKind, width: int, *, join: Join = "add", position_width: int = 0, longest: int = 0
    ):
        super().__init__()
        self.kind, self.join, self.longest = kind, join, longest
        if join == "add" or kind == "none":
            self.position_width = 1 if kind == "index" else width
            self.embedding_width = width
        else:
            self.position_width = 1 if kind == "index" else position_width or max(width // 4, 2)
            self.embedding_width = width - self.position_width
        if kind == "learned":
            self.table = nn.Parameter(torch.empty(longest, self.position_width))
            nn.init.normal_(self.table, std=0.02 if join == "add" else 1.0)

    @property
    def limit(self) -> int:
        """The longest sequence that can be told apart, or 0 where there is no end."""
        return self.longest if self.kind == "learned" else 0

    def encode(self, places: Tensor) -> Tensor:
        """Return (…, P) of integer places (…)."""
        if self.kind == "index":
            return places[..., None].float()
        if self.kind == "learned":
            assert int(places.max()) < self.longest, "callers keep sequences within Positions.limit"
            return self.table[places]
        return sinusoid(places, self.position_width, halves=self.kind == "sinusoidal-halves")

    def forward(self, embeddings: Tensor, first: Tensor | int = 0) -> Tensor:
        """Return (B, T, D) of embeddings (B, T, E) whose first token stands at place first, one number or (B,)."""
        if self.kind == "none":
            return embeddings
        places = torch.arange(embeddings.shape[1], device=embeddings.device)
        places = places + (first[:, None] if isinstance(first, Tensor) else first)  # (B, T) or (T,)
        encoding = self.encode(places).to(embeddings.dtype)
        if (record := recorder_for(self)) is not None:
            count = max(places.max().item() + 1 if places.numel() else 0, min(SHOWN, self.limit or SHOWN))
            table = self.encode(torch.arange(count, device=places.device)).to(embeddings.dtype)
            factor = 0.0 if record.without_positions else 1.0
            encoding = encoding * factor
            record.file_positions(self, self.kind, self.join, table * factor)
        if self.join == "add":
            return embeddings + encoding
        return torch.cat([embeddings, encoding.expand(*embeddings.shape[:2], -1)], dim=-1)

    def extra_repr(self) -> str:
        return f"{self.kind}, {self.join}, width={self.position_width}"
