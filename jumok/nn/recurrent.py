"""Recurrent layers: vanilla RNN, GRU, LSTM, over whole sequences or one step at a time.

x (B, S, I) → [cell over time, one or two directions] × layers → states (B, S, W) and each layer's last vectors (B, W)

Whole sequences run in torch's own kernels. Where lengths differ, rows stand longest first and leave when they are over:
each span of time runs with the rows that are still there, so that no state ever sees padding, in either direction.
(torch's packed sequences do the same slice by slice, several times slower; docs/log.md has the figures.)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import torch
from torch import Tensor, nn

from jumok.native import kernels as native
from jumok.nn.dropout import Dropout
from jumok.nn.linear import linear
from jumok.nn.narrow_cells import run_layer
from jumok.nn.precision import narrow, narrowed

# B batch · R rows · S source · n steps · I input width · W width · G gates (1, 3 or 4) · L layers

CellKind = Literal["rnn", "gru", "lstm"]
CELLS: dict[str, type[nn.RNN] | type[nn.GRU] | type[nn.LSTM]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
KERNELS: dict[str, Callable[..., tuple[Tensor, ...]]] = {"rnn": torch.rnn_tanh, "gru": torch.gru, "lstm": torch.lstm}


@dataclass(frozen=True)
class Spans:
    """Stretches of time in which the same rows go on, of rows that stand longest first."""

    order: Tensor  # (B,) rows, longest first
    back: Tensor  # (B,) where each row of the batch stands in that order
    reverse: Tensor  # (B, S, 1) places that read each ordered row from its end
    ends: list[tuple[int, int]]  # (first place after the span, rows that take part in it)

    @classmethod
    def of(cls, mask: Tensor) -> Self:
        """Return the spans of a batch with this mask (B, S): True, then padding."""
        lengths, order = mask.sum(dim=1).sort(descending=True, stable=True)
        places = torch.arange(mask.shape[1], device=mask.device)
        last = lengths[:, None] - 1
        reverse = torch.where(places <= last, last - places, places)
        counts: dict[int, int] = {}
        for rows, length in enumerate(lengths.tolist(), start=1):
            counts[length] = rows  # rows at least so long
        ends = [(length, rows) for length, rows in sorted(counts.items()) if length]
        return cls(order, order.argsort(), reverse[..., None], ends)

    def reversed(self, x: Tensor) -> Tensor:
        """Return ordered rows x (B, S, W) read backwards; padding stays behind. It undoes itself."""
        return x.gather(1, self.reverse.expand_as(x))


def run_cells(
    kind: CellKind,
    x: Tensor,
    vectors: Sequence[Tensor],
    weights: Sequence[Tensor],
    *,
    layers: int = 1,
    dropout: float = 0.0,
    learning: bool,
) -> tuple[Tensor, list[Tensor]]:
    """Return the top layer's states (R, n, W) of inputs x (R, n, I), and vectors (L, R, W) after the last step.

    vectors are what layers begin with: states, and an LSTM's cells. Products in bf16 leave those of LSTM and GRU in fp32.
    """
    if narrow() and kind != "rnn":
        return _run_narrow(kind, x, vectors, weights, layers=layers, dropout=dropout if learning else 0.0)
    own = x.dtype
    x, vectors, weights = narrowed(x), list(map(narrowed, vectors)), list(map(narrowed, weights))
    begun = vectors if kind == "lstm" else vectors[0]
    output, *last = KERNELS[kind](x, begun, weights, True, layers, dropout, learning, False, True)
    return output.to(own), [vector.to(own) for vector in last]


def _run_narrow(
    kind: CellKind, x: Tensor, vectors: Sequence[Tensor], weights: Sequence[Tensor], *, layers: int, dropout: float
) -> tuple[Tensor, list[Tensor]]:
    """The same of an LSTM or a GRU with products in bf16, a layer at a time, in C where it serves."""
    between = Dropout(dropout)
    states = x.transpose(0, 1).contiguous()  # (n, R, I)
    served = native.serves(states) and bool(states.numel())
    ended: list[list[Tensor]] = []
    for layer in range(layers):
        given = [vector[layer] for vector in vectors]
        own = list(weights[4 * layer : 4 * layer + 4])
        states = between(states) if layer else states
        if served:
            states, last, cell = run_layer(kind, states, given[0], given[1] if kind == "lstm" else None, own)
            ended.append([last] if cell is None else [last, cell])
        else:
            states, given = _step_by_step(kind, states, given, own)
            ended.append(given)
    return states.transpose(0, 1), [torch.stack(each) for each in zip(*ended, strict=True)]


def _step_by_step(
    kind: CellKind, x: Tensor, vectors: list[Tensor], weights: list[Tensor]
) -> tuple[Tensor, list[Tensor]]:
    """Return a layer's states (n, R, W) of x (n, R, I), and the vectors after the last step."""
    input_weight, weight, input_bias, bias = weights
    states = []
    for gates in linear(x, input_weight, input_bias):
        back = linear(vectors[0], weight, bias)
        vectors = list(lstm_step(gates + back, vectors[1])) if kind == "lstm" else [gru_step(gates, back, vectors[0])]
        states.append(vectors[0])
    return torch.stack(states) if states else x.new_zeros(0, *vectors[0].shape), vectors


class RecurrentEncoder(nn.Module):
    """Read a sequence; hand over all states and what each layer remembers at the end."""

    def __init__(
        self, cell: CellKind, input_width: int, width: int, *, layers: int, bidirectional: bool, dropout: float
    ) -> None:
        super().__init__()
        self.kind, self.layers, self.directions = cell, layers, 2 if bidirectional else 1
        self.each = width // self.directions
        # The cells of torch hold the weights; _run hands them to the kernels a layer and a direction at a time.
        self.cells = CELLS[cell](input_width, self.each, layers, batch_first=True, bidirectional=bidirectional)
        self.between = Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return states (B, S, W), zero at padding, and vectors (B, W): each layer's state, then each LSTM cell."""
        spans = Spans.of(mask)
        x = x.to(next(self.parameters()).dtype)[spans.order]
        last: list[list[Tensor]] = []  # [layer][state, or state and cell]
        for layer in range(self.layers):
            x, vectors = self._read(self.between(x) if layer else x, layer, spans)
            last.append(vectors)
        return x[spans.back], [vector[spans.back] for kind in zip(*last, strict=True) for vector in kind]

    def _read(self, x: Tensor, layer: int, spans: Spans) -> tuple[Tensor, list[Tensor]]:
        """Return a layer's states (B, S, W) of ordered rows x, and its last vectors, both directions side by side."""
        states, vectors = self._run(x, f"l{layer}", spans)
        if self.directions == 1:
            return states, vectors
        backwards, first = self._run(spans.reversed(x), f"l{layer}_reverse", spans)
        states = torch.cat([states, spans.reversed(backwards)], dim=2)
        return states, [torch.cat(both, dim=1) for both in zip(vectors, first, strict=True)]

    def _run(self, x: Tensor, name: str, spans: Spans) -> tuple[Tensor, list[Tensor]]:
        """Return the states (B, S, W) of one direction and the vectors (B, W) with which each row ended."""
        weights = [getattr(self.cells, f"{part}_{name}") for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        kinds = 2 if self.kind == "lstm" else 1
        now = [x.new_zeros(1, len(x), self.each)] * kinds
        outputs: list[Tensor] = []
        ended: list[list[Tensor]] = []
        start = 0
        for end, rows in spans.ends:
            ended.append([vector[0, rows:] for vector in now])
            now = [vector[:, :rows].contiguous() for vector in now]
            output, now = run_cells(self.kind, x[:rows, start:end], now, weights, learning=self.training)
            outputs.append(nn.functional.pad(output, (0, 0, 0, 0, 0, len(x) - rows)))
            start = end
        ended.append([vector[0] for vector in now])
        outputs.append(x.new_zeros(len(x), x.shape[1] - start, self.each))
        return torch.cat(outputs, dim=1), [torch.cat(kind) for kind in zip(*reversed(ended), strict=True)]


class RecurrentStack(nn.Module):
    """The decoder's layers: over many steps at once, or one step from given vectors."""

    def __init__(self, cell: CellKind, input_width: int, width: int, *, layers: int, dropout: float) -> None:
        super().__init__()
        self.kind, self.layers = cell, layers
        self.cells = CELLS[cell](input_width, width, layers, batch_first=True, dropout=dropout if layers > 1 else 0.0)
        self.between = Dropout(dropout)

    @property
    def vectors(self) -> int:
        """How many vectors a hypothesis carries: a state for each layer, and a cell for each of an LSTM."""
        return self.layers * (2 if self.kind == "lstm" else 1)

    def run(self, x: Tensor, vectors: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """Return the top layer's states (R, n, W) of inputs x (R, n, I), and the vectors after the last step."""
        dtype = self._weight("weight_ih", 0).dtype
        x, states = x.to(dtype), torch.stack(vectors[: self.layers]).to(dtype)
        given = [states, torch.stack(vectors[self.layers :]).to(dtype)] if self.kind == "lstm" else [states]
        output, last = run_cells(
            self.kind,
            x,
            given,
            [weight for layer in self.cells.all_weights for weight in layer],
            layers=self.layers,
            dropout=self.cells.dropout,
            learning=self.training,
        )
        return output, [vector for kind in last for vector in kind]

    def input_gates(self, x: Tensor) -> Tensor:
        """Return what the first layer needs of all inputs x (R, n, I) at once: (R, n, G · W)."""
        return linear(x, self._weight("weight_ih", 0), self._weight("bias_ih", 0))

    def gates_of_first(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gates (R, n, G · W) of the first features x (R, n, J) of all inputs, and the weights of the rest.

        What is known before the first step is multiplied at once; each step adds the gates of what it has found out.
        """
        first, rest = self._weight("weight_ih", 0).tensor_split((x.shape[-1],), dim=1)
        return linear(x, first, self._weight("bias_ih", 0)), rest

    def step(self, gates: Tensor, vectors: list[Tensor]) -> list[Tensor]:
        """Return the vectors after one step, given the first layer's input gates (R, G · W)."""
        states, cells = vectors[: self.layers], vectors[self.layers :]
        new_states: list[Tensor] = []
        new_cells: list[Tensor] = []
        for layer, state in enumerate(states):
            if layer:
                below = self.between(new_states[-1])
                gates = linear(below, self._weight("weight_ih", layer), self._weight("bias_ih", layer))
            back = linear(state, self._weight("weight_hh", layer), self._weight("bias_hh", layer))
            if self.kind == "lstm":
                state, cell = lstm_step(gates + back, cells[layer])
                new_cells.append(cell)
            elif self.kind == "gru":
                state = gru_step(gates, back, state)
            else:
                state = torch.tanh(gates + back)
            new_states.append(state)
        return new_states + new_cells

    def _weight(self, name: str, layer: int) -> Tensor:
        weight: Tensor = getattr(self.cells, f"{name}_l{layer}")
        return weight


def gru_step(gates: Tensor, back: Tensor, state: Tensor) -> Tensor:
    """Return the new state (R, W) of input and recurrent gates (R, 3W): reset, update, candidate (Cho et al. 2014)."""
    width = state.shape[1]
    reset, update = torch.sigmoid(gates[:, : 2 * width] + back[:, : 2 * width]).chunk(2, dim=1)
    candidate = torch.tanh(gates[:, 2 * width :] + reset * back[:, 2 * width :])
    return torch.lerp(candidate, state, update)


def lstm_step(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Return the new state and cell (R, W) of gates (R, 4W): input, forget, candidate, output."""
    entry, keep, candidate, output = gates.chunk(4, dim=1)
    cell = torch.sigmoid(keep) * cell + torch.sigmoid(entry) * torch.tanh(candidate)
    return torch.sigmoid(output) * torch.tanh(cell), cell
