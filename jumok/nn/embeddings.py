"""Tokens to vectors.

tokens (B, T) → row of the table · scale, joined with its position → (B, T, D)
"""

from torch import Tensor, nn

from jumok.nn.dropout import Dropout
from jumok.nn.positions import Positions


class Embedding(nn.Module):
    """Tokens to vectors: a row of the table times scale, joined with its position."""

    def __init__(self, table: nn.Embedding, positions: Positions, dropout: float, *, scale: float = 1.0) -> None:
        super().__init__()
        self.table, self.positions, self.dropout, self.scale = table, positions, Dropout(dropout), scale

    def forward(self, tokens: Tensor, first: Tensor | int = 0) -> Tensor:
        """Return (B, T, D) of tokens (B, T) whose first stands at place first."""
        embedded: Tensor = self.dropout(self.positions(self.table(tokens) * self.scale, first))
        return embedded
