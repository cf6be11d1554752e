"""How well a decoder's state agrees with each state of the memory: dot product, bilinear form or a small network.

query (B, Q, D) and keys (B, S, A) → scores (B, Q, S); what depends on the memory alone is computed once (remember)
"""

from collections.abc import Iterator
from typing import Any, Literal

import torch
from torch import Tensor, nn

from jumok.nn.attention import masked_softmax
from jumok.nn.linear import Linear
from jumok.nn.recording import recorder_for

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
        self.form = Linear(memory_width, width, bias=False)

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
        self.of_query = Linear(width, width)
        self.of_key = Linear(memory_width, width, bias=False)
        self.vector = nn.Linear(width, 1, bias=False)

    def remember(self, memory: Tensor) -> Tensor:
        """Return the keys U k (B, S, D)."""
        keys: Tensor = self.of_key(memory)
        return keys

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return (B, Q, S) of query (B, Q, D) and keys (B, S, D)."""
        scores: Tensor = _AdditiveScore.apply(self.of_query(query), keys, self.vector.weight[0])  # type: ignore[no-untyped-call]
        return scores


class _AdditiveScore(torch.autograd.Function):
    """v · tanh(q + k) for all pairs, a block at a time, recomputed for the gradient.

    All pairs at once are (B, Q, S, D) numbers: for 16 sentences of 240 words a gigabyte, and even for short ones too many
    for the processor's cache. On a CPU tanh takes four times as long as the logistic function σ, so tanh x = 2 σ(2x) − 1
    is used. docs/log.md has the figures.
    """

    @staticmethod
    def forward(context: Any, query: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
        context.save_for_backward(query, keys, vector)
        scores = query.new_empty(*query.shape[:2], keys.shape[1])
        for rows, queries in _blocks(query, keys):
            logistic = _logistic(query[rows, queries], keys[rows])
            scores[rows, queries] = logistic @ (2 * vector).to(logistic.dtype)
        return scores - vector.sum().to(scores.dtype)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, keys, vector = context.saved_tensors
        of_query, of_keys, of_vector = torch.zeros_like(query), torch.zeros_like(keys), torch.zeros_like(vector)
        for rows, queries in _blocks(query, keys):
            logistic = _logistic(query[rows, queries], keys[rows])
            gradient = gradients[0][rows, queries]
            of_vector += (gradient.flatten() @ logistic.flatten(0, 2)).to(vector.dtype)
            slope = logistic.addcmul_(logistic, logistic, value=-1.0).mul_(gradient[..., None])
            of_query[rows, queries] = slope.sum(dim=2)
            of_keys[rows] += slope.sum(dim=1)
        slope_of_tanh = 4 * vector  # 1 − tanh² = 4 (σ − σ²)
        of_vector = 2 * of_vector - gradients[0].sum().to(vector.dtype)
        return of_query * slope_of_tanh.to(query.dtype), of_keys * slope_of_tanh.to(keys.dtype), of_vector


BLOCK = 1 << 19  # numbers of (B, Q, S, D) worked on at once: what a core's own cache holds


def _logistic(query: Tensor, keys: Tensor) -> Tensor:
    """Return σ(2q + 2k) (B, Q, S, D) of query (B, Q, D) and keys (B, S, D)."""
    return ((2 * query)[:, :, None] + (2 * keys)[:, None]).sigmoid_()


def _blocks(query: Tensor, keys: Tensor) -> Iterator[tuple[slice, slice]]:
    """Yield rows and queries of blocks: some rows with all their queries, or some queries of one row."""
    pairs = max(1, BLOCK // (keys.shape[1] * keys.shape[2]))  # (query, row) pairs a block, each with S · D numbers
    rows, queries = max(1, pairs // query.shape[1]), min(pairs, query.shape[1])
    for row in range(0, query.shape[0], rows):
        for first in range(0, query.shape[1], queries):
            yield slice(row, row + rows), slice(first, first + queries)


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
        record = recorder_for(self)
        if record is not None:
            weights = record.ablated(self, "recurrent", weights[:, None])[:, 0]
        context = weights @ memory
        if record is not None and record.keeps_details:
            additive = self.score if isinstance(self.score, MLPScore) else None
            record.note(
                query=(grouped if additive is None else additive.of_query(grouped))[:, None],  # as one head
                key=keys[:, None],
                value=memory[:, None],
                output=context,
                mask=mask[:, None, None],
                vector=None if additive is None else additive.vector.weight[0],
                group=rows // len(memory),
            )
        return context.view(rows, queries, -1), weights.view(rows, queries, -1)
