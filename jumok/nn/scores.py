"""How well a decoder's state agrees with each state of the memory: dot product, bilinear form or a small network.

query (B, Q, D) and keys (B, S, A) → scores (B, Q, S); what depends on the memory alone is computed once (remember)
"""

from typing import Literal

import torch
from torch import Tensor, nn

from jumok.nn.attention import masked_softmax

# B sentences · R rows (hypotheses) · Q queries · S source · D width · E width of the memory · A width of the keys

ScoreKind = Literal["dot", "bilinear", "mlp"]


class DotScore(nn.Module):
    """q · k (Luong et al. 2015): nothing to learn, equal widths needed."""

    def remember(self, memory: Tensor) -> Tensor:
        """Return the keys: the memory itself."""
        return memory

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return (B, Q, S) of query (B, Q, D) and keys (B, S, D)."""
        return query @ keys.transpose(1, 2)


class BilinearScore(nn.Module):
    """q · W k (Luong et al. 2015, “general”)."""

    def __init__(self, width: int, memory_width: int) -> None:
        super().__init__()
        self.form = nn.Linear(memory_width, width, bias=False)

    def remember(self, memory: Tensor) -> Tensor:
        """Return the keys W k (B, S, D)."""
        keys: Tensor = self.form(memory)
        return keys

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return (B, Q, S) of query (B, Q, D) and keys (B, S, D)."""
        return query @ keys.transpose(1, 2)


class MLPScore(nn.Module):
    """v · tanh(W q + U k) (Bahdanau et al. 2015): additive attention."""

    def __init__(self, width: int, memory_width: int) -> None:
        super().__init__()
        self.of_query = nn.Linear(width, width)
        self.of_key = nn.Linear(memory_width, width, bias=False)
        self.vector = nn.Linear(width, 1, bias=False)

    def remember(self, memory: Tensor) -> Tensor:
        """Return the keys U k (B, S, D)."""
        keys: Tensor = self.of_key(memory)
        return keys

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return (B, Q, S) of query (B, Q, D) and keys (B, S, D)."""
        mixed = torch.tanh(self.of_query(query)[:, :, None] + keys[:, None])  # (B, Q, S, D)
        scores: Tensor = self.vector(mixed)
        return scores.squeeze(-1)


def make_score(kind: ScoreKind, width: int, memory_width: int) -> DotScore | BilinearScore | MLPScore:
    """Return the score of a kind."""
    if kind == "dot":
        assert width == memory_width, "a dot product needs equal widths"
        return DotScore()
    return BilinearScore(width, memory_width) if kind == "bilinear" else MLPScore(width, memory_width)


class StateAttention(nn.Module):
    """Let decoder states look at the memory: score, softmax under the mask, weighted sum."""

    def __init__(self, kind: ScoreKind, width: int, memory_width: int) -> None:
        super().__init__()
        self.score = make_score(kind, width, memory_width)

    def forward(self, query: Tensor, memory: Tensor, keys: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return contexts (R, Q, E) and weights (R, Q, S) of query (R, Q, D), where R is B or B · group.

        Hypotheses of one sentence become more queries to the same memory (B, S, E), which is never copied.
        """
        rows, queries = query.shape[:2]
        grouped = query.reshape(len(memory), -1, query.shape[2])  # (B, group · Q, D)
        weights = masked_softmax(self.score(grouped, keys), mask[:, None])
        context = weights @ memory
        return context.view(rows, queries, -1), weights.view(rows, queries, -1)
