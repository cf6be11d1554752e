"""LSTM and GRU over whole sequences with products in bf16, while states and cells stay fp32.

x (n, R, I) → gates of all inputs at once → [product with the state, step in C] × n → states (n, R, W)

torch's own cells in bf16 round their states at every step. Time comes first here: a step is one piece of memory.
nn/recurrent.py has the same step by step, in torch, where there is no C.
"""

from typing import Any

import torch
from torch import Tensor

from jumok.native import narrow as native
from jumok.nn.linear import narrow_linear, narrow_product
from jumok.nn.precision import NARROW, narrow_weight

# n steps · R rows · I input width · W width · G gates (3 or 4) · W


def run_layer(
    kind: str, x: Tensor, state: Tensor, cell: Tensor | None, weights: list[Tensor]
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return a layer's states (n, R, W) of inputs x (n, R, I) from a state (R, W) on, the last one, and an LSTM's last cell."""
    input_weight, weight, input_bias, bias = weights
    given = narrow_linear(x.to(NARROW), input_weight, input_bias)  # (n, R, G)
    function = _LSTM if kind == "lstm" else _GRU
    found: tuple[Tensor, Tensor, Tensor | None] = function.apply(  # type: ignore[no-untyped-call]
        given, weight, narrow_weight(weight), bias, state, cell
    )
    return found


class _LSTM(torch.autograd.Function):
    """All steps of a layer."""

    @staticmethod
    def forward(
        ctx: Any, given: Tensor, weight: Tensor, rounded: Tensor, bias: Tensor, state: Tensor, cell: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        steps, *sizes = len(given), *state.shape
        kept = given.new_empty(steps, sizes[0], 4 * sizes[1])
        cells, halves = state.new_empty(steps + 1, *sizes), given.new_empty(steps + 1, *sizes)
        states = state.new_empty(steps, *sizes)
        cells[0], halves[0] = cell, state
        for now in range(steps):
            back = narrow_product(halves[now], rounded, bias)
            native.lstm_step(
                given[now], back, cells[now], into=(kept[now], cells[now + 1], states[now], halves[now + 1])
            )
        ctx.save_for_backward(kept, cells, halves, rounded)
        ctx.set_materialize_grads(False)
        return states, states[-1].clone(), cells[-1].clone()

    @staticmethod
    def backward(
        ctx: Any, to_states: Tensor | None, to_last: Tensor | None, to_cell: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        kept, cells, halves, rounded = ctx.saved_tensors
        outward = _joined(to_states, to_last, kept)
        carried = (
            torch.zeros_like(cells[0]) if to_cell is None else to_cell.clone(memory_format=torch.contiguous_format)
        )
        to_gates, later = torch.empty_like(kept), None
        for now in range(len(kept) - 1, -1, -1):
            native.lstm_back(
                kept[now], cells[now], cells[now + 1], outward[now], later, into=(carried, to_gates[now])
            )  # fmt: skip
            later = to_gates[now] @ rounded
        assert later is not None
        return to_gates, _of_weight(to_gates, halves), None, native.sums(to_gates.flatten(0, 1)), later.float(), carried


class _GRU(torch.autograd.Function):
    """All steps of a layer; a cell is none."""

    @staticmethod
    def forward(
        ctx: Any, given: Tensor, weight: Tensor, rounded: Tensor, bias: Tensor, state: Tensor, cell: None
    ) -> tuple[Tensor, Tensor, None]:
        steps, *sizes = len(given), *state.shape
        kept = given.new_empty(steps, sizes[0], 4 * sizes[1])
        states, halves = state.new_empty(steps + 1, *sizes), given.new_empty(steps + 1, *sizes)
        states[0], halves[0] = state, state
        for now in range(steps):
            back = narrow_product(halves[now], rounded, bias)
            native.gru_step(given[now], back, states[now], into=(kept[now], states[now + 1], halves[now + 1]))
        ctx.save_for_backward(kept, states, halves, rounded)
        ctx.set_materialize_grads(False)
        return states[1:], states[-1].clone(), None

    @staticmethod
    def backward(
        ctx: Any, to_states: Tensor | None, to_last: Tensor | None, to_cell: None
    ) -> tuple[Tensor | None, ...]:
        kept, states, halves, rounded = ctx.saved_tensors
        outward = _joined(to_states, to_last, kept)
        carried, later = torch.zeros_like(states[0]), None
        to_given, to_back = (kept.new_empty(*kept.shape[:2], 3 * states.shape[2]) for _ in range(2))
        for now in range(len(kept) - 1, -1, -1):
            native.gru_back(kept[now], states[now], outward[now], later, into=(carried, to_given[now], to_back[now]))
            later = to_back[now] @ rounded
        assert later is not None
        to_bias = native.sums(to_back.flatten(0, 1))
        return to_given, _of_weight(to_back, halves), None, to_bias, carried + later, None


def _joined(to_states: Tensor | None, to_last: Tensor | None, kept: Tensor) -> list[Tensor | None]:
    """Return the gradient of each step's state as an output, or None."""
    outward: list[Tensor | None] = [None] * len(kept) if to_states is None else list(to_states.contiguous())
    if to_last is not None:
        last = outward[-1]
        outward[-1] = to_last.contiguous() if last is None else last + to_last
    return outward


def _of_weight(to_gates: Tensor, halves: Tensor) -> Tensor:
    """Return the gradient of the weight that states are multiplied with: one product for all steps."""
    return (to_gates.flatten(0, 1).t() @ halves[:-1].flatten(0, 1)).float()
