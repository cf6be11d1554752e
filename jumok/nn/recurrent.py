"""Recurrent layers: vanilla RNN, GRU, LSTM, over whole sequences or one step at a time.

x (B, S, I) → [cell over time, one or two directions] × layers → states (B, S, W) and each layer's last vectors (B, W)

Whole sequences run in torch's own kernels. A batch without padding goes in as it is; otherwise it is packed, so that no
state ever sees padding, in either direction.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

# B batch · R rows · S source · n steps · I input width · W width · G gates (1, 3 or 4) · L layers

CellKind = Literal["rnn", "gru", "lstm"]
CELLS: dict[str, type[nn.RNN] | type[nn.GRU] | type[nn.LSTM]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


class RecurrentEncoder(nn.Module):
    """Read a sequence; hand over all states and what each layer remembers at the end."""

    def __init__(
        self, cell: CellKind, input_width: int, width: int, *, layers: int, bidirectional: bool, dropout: float
    ) -> None:
        super().__init__()
        each = width // 2 if bidirectional else width
        between = dropout if layers > 1 else 0.0
        self.cells = CELLS[cell](
            input_width, each, layers, batch_first=True, bidirectional=bidirectional, dropout=between
        )

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return states (B, S, W), zero at padding, and vectors (B, W): each layer's state, then each LSTM cell."""
        x = x.to(next(self.parameters()).dtype)
        with torch.autocast("cpu", enabled=False):  # many CPUs have no LSTM in bf16
            if bool(mask.all()):
                states, last = self.cells(x)
            else:
                packed = pack_padded_sequence(x, mask.sum(dim=1).cpu(), batch_first=True, enforce_sorted=False)
                output, last = self.cells(packed)
                states, _ = pad_packed_sequence(output, batch_first=True, total_length=x.shape[1])
        kinds = last if isinstance(last, tuple) else (last,)
        return states, [vector for kind in kinds for vector in self._by_layer(kind)]

    def _by_layer(self, last: Tensor) -> list[Tensor]:
        """Return the last vectors (B, W) of each layer, both directions side by side."""
        directions = 2 if self.cells.bidirectional else 1
        by_layer = last.view(-1, directions, *last.shape[1:]).transpose(1, 2).flatten(2)  # (L, B, W)
        return list(by_layer)


class RecurrentStack(nn.Module):
    """The decoder's layers: over many steps at once, or one step from given vectors."""

    def __init__(self, cell: CellKind, input_width: int, width: int, *, layers: int, dropout: float) -> None:
        super().__init__()
        self.kind, self.layers = cell, layers
        self.cells = CELLS[cell](input_width, width, layers, batch_first=True, dropout=dropout if layers > 1 else 0.0)
        self.between = nn.Dropout(dropout)

    @property
    def vectors(self) -> int:
        """How many vectors a row carries: a state a layer, and a cell each for an LSTM."""
        return self.layers * (2 if self.kind == "lstm" else 1)

    def run(self, x: Tensor, vectors: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """Return the top layer's states (R, n, W) of inputs x (R, n, I), and the vectors after the last step."""
        dtype = self._weight("weight_ih", 0).dtype
        x, states = x.to(dtype), torch.stack(vectors[: self.layers]).to(dtype)
        with torch.autocast("cpu", enabled=False):  # many CPUs have no LSTM in bf16
            if self.kind == "lstm":
                output, last = self.cells(x, (states, torch.stack(vectors[self.layers :]).to(dtype)))
                return output, [*last[0], *last[1]]
            output, hidden = self.cells(x, states)
            return output, list(hidden)

    def input_gates(self, x: Tensor) -> Tensor:
        """Return what the first layer needs of all inputs x (R, n, I) at once: (R, n, G · W)."""
        return nn.functional.linear(x, self._weight("weight_ih", 0), self._weight("bias_ih", 0))

    def step(self, gates: Tensor, vectors: list[Tensor]) -> list[Tensor]:
        """Return the vectors after one step, given the first layer's input gates (R, G · W)."""
        states, cells = vectors[: self.layers], vectors[self.layers :]
        new_states: list[Tensor] = []
        new_cells: list[Tensor] = []
        for layer, state in enumerate(states):
            if layer:
                below = self.between(new_states[-1])
                gates = nn.functional.linear(below, self._weight("weight_ih", layer), self._weight("bias_ih", layer))
            back = nn.functional.linear(state, self._weight("weight_hh", layer), self._weight("bias_hh", layer))
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
    return torch.lerp(candidate.to(state.dtype), state, update.to(state.dtype))  # bf16 gates may meet an fp32 state


def lstm_step(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Return the new state and cell (R, W) of gates (R, 4W): input, forget, candidate, output."""
    entry, keep, candidate, output = gates.chunk(4, dim=1)
    cell = torch.sigmoid(keep) * cell + torch.sigmoid(entry) * torch.tanh(candidate)
    return torch.sigmoid(output) * torch.tanh(cell), cell
