"""The recurrent layers against torch's own, step by step and whole, and what padding must not do."""

import math

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.testing import assert_close

from jumok.nn.masks import padding_mask
from jumok.nn.precision import products
from jumok.nn.recurrent import RecurrentEncoder, RecurrentStack, gru_step, lstm_step

CLOSE = {"atol": 1e-5, "rtol": 1e-5}
CELLS = ["rnn", "gru", "lstm"]
TORCH = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
LENGTHS = [(3, 7, 1, 5), (7, 7, 2, 7), (6, 6, 6, 6)]


def copied(ours, theirs):
    theirs.load_state_dict(ours.state_dict())
    return theirs.eval()


def random_vectors(stack, rows, width):
    return [torch.randn(rows, width) for _ in range(stack.vectors)]


def as_torch(kind, vectors, layers):
    states = torch.stack(vectors[:layers])
    return (states, torch.stack(vectors[layers:])) if kind == "lstm" else states


def flat(last):
    return list(torch.cat(last)) if isinstance(last, tuple) else list(last)


# --- the decoder's stack


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("kind", CELLS)
def test_stepping_and_running_equal_torch(kind, layers):
    torch.manual_seed(layers)
    stack = RecurrentStack(kind, 5, 7, layers=layers, dropout=0.4).eval()
    theirs = copied(stack.cells, TORCH[kind](5, 7, layers, batch_first=True))
    x, vectors = torch.randn(4, 6, 5), random_vectors(stack, 4, 7)
    wanted, last = theirs(x, as_torch(kind, vectors, layers))

    states, after = stack.run(x, vectors)
    assert_close(states, wanted, **CLOSE)
    assert_close(after, flat(last), **CLOSE)

    gates = stack.input_gates(x)
    for place in range(6):
        vectors = stack.step(gates[:, place], vectors)
        assert_close(vectors[layers - 1], wanted[:, place], **CLOSE)
    assert len(vectors) == stack.vectors == layers * (2 if kind == "lstm" else 1)
    assert_close(vectors, flat(last), **CLOSE)


@pytest.mark.parametrize("kind", CELLS)
def test_gradients_through_steps_equal_torchs(kind):
    torch.manual_seed(2)
    stack = RecurrentStack(kind, 3, 4, layers=2, dropout=0.0)
    theirs = TORCH[kind](3, 4, 2, batch_first=True)
    theirs.load_state_dict(stack.cells.state_dict())
    x, vectors = torch.randn(2, 5, 3), random_vectors(stack, 2, 4)
    theirs(x, as_torch(kind, vectors, 2))[0].square().sum().backward()
    tops = []
    for place in range(5):
        vectors = stack.step(stack.input_gates(x[:, place]), vectors)
        tops.append(vectors[1])
    torch.stack(tops).square().sum().backward()
    for name, parameter in stack.cells.named_parameters():
        assert_close(parameter.grad, theirs.get_parameter(name).grad, **CLOSE)


@pytest.mark.parametrize("kind", CELLS)
def test_a_run_can_be_cut_anywhere(kind):
    torch.manual_seed(3)
    stack = RecurrentStack(kind, 5, 7, layers=2, dropout=0.0).eval()
    x, start = torch.randn(3, 6, 5), random_vectors(stack, 3, 7)
    whole, last = stack.run(x, start)
    for cut in range(1, 6):
        first, middle = stack.run(x[:, :cut], start)
        second, end = stack.run(x[:, cut:], middle)
        assert_close(torch.cat([first, second], dim=1), whole, **CLOSE)
        assert_close(end, last, **CLOSE)


def test_the_gates_are_those_of_the_papers():
    """One unit, numbers by hand: a GRU that half keeps its state, an LSTM that half forgets."""
    log3 = math.log(3.0)  # its sigmoid is 3/4, its tanh 4/5
    gates, back = torch.tensor([[0.0, log3, 0.5 * log3]]), torch.tensor([[0.0, 0.0, log3]])
    # reset 1/2, update 3/4, candidate tanh(log3/2 + log3/2) = 4/5; new = 1/4 · 4/5 + 3/4 · 2
    assert_close(gru_step(gates, back, torch.tensor([[2.0]])), torch.tensor([[0.2 + 1.5]]))
    # input 3/4, forget 1/2, candidate 4/5, output 3/4: cell = 1/2 · 2 + 3/4 · 4/5
    state, cell = lstm_step(torch.tensor([[log3, 0.0, log3, log3]]), torch.tensor([[2.0]]))
    assert_close(cell, torch.tensor([[1.6]]))
    assert_close(state, torch.tensor([[0.75 * math.tanh(1.6)]]))


def test_dropout_stands_between_layers_in_steps_as_in_runs():
    torch.manual_seed(4)
    x, rows = torch.randn(1, 1, 5).expand(4000, 1, 5), 4000
    for layers in (1, 2):
        stack = RecurrentStack("gru", 5, 7, layers=layers, dropout=0.5).train()
        vectors = [torch.randn(1, 7).expand(rows, 7) for _ in range(layers)]
        ran = stack.run(x, vectors)[0][:, 0]
        stepped = stack.step(stack.input_gates(x[:, 0]), vectors)[-1]
        assert (ran.std(dim=0).max() > 1e-4) == (stepped.std(dim=0).max() > 1e-4) == (layers == 2)
        assert_close(ran.mean(dim=0), stepped.mean(dim=0), atol=0.02, rtol=0.0)


# --- the encoder


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("bidirectional", [False, True], ids=["one way", "two ways"])
@pytest.mark.parametrize("kind", CELLS)
def test_the_encoder_equals_torchs_packed_sequences(kind, bidirectional, layers, lengths):
    torch.manual_seed(layers)
    encoder = RecurrentEncoder(kind, 5, 8, layers=layers, bidirectional=bidirectional, dropout=0.3).eval()
    each = 4 if bidirectional else 8
    theirs = copied(encoder.cells, TORCH[kind](5, each, layers, batch_first=True, bidirectional=bidirectional))
    x = torch.randn(4, 7, 5)
    states, vectors = encoder(x, padding_mask(torch.tensor(lengths), 7))
    packed, last = theirs(pack_padded_sequence(x, torch.tensor(lengths), batch_first=True, enforce_sorted=False))
    assert_close(states, pad_packed_sequence(packed, batch_first=True, total_length=7)[0], **CLOSE)
    kinds = last if isinstance(last, tuple) else (last,)
    wanted = []
    for part in kinds:
        for layer in range(layers):
            wanted.append(torch.cat([part[2 * layer], part[2 * layer + 1]], dim=1) if bidirectional else part[layer])
    assert_close(vectors, wanted, **CLOSE)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True], ids=["one way", "two ways"])
@pytest.mark.parametrize("kind", CELLS)
def test_each_sentence_is_read_as_if_alone_whatever_stands_in_padding(kind, bidirectional, layers):
    torch.manual_seed(layers)
    encoder = RecurrentEncoder(kind, 5, 8, layers=layers, bidirectional=bidirectional, dropout=0.0).eval()
    lengths = (3, 7, 1, 5)
    x, mask = torch.randn(4, 7, 5), padding_mask(torch.tensor(lengths), 7)
    for filling in (0.0, 1e3, math.nan):
        for extra in (0, 4):
            padded = x.masked_fill(~mask[..., None], filling)
            padded = torch.cat([padded, torch.full((4, extra, 5), filling)], dim=1)
            states, vectors = encoder(padded, padding_mask(torch.tensor(lengths), 7 + extra))
            assert states.shape == (4, 7 + extra, 8)
            for row, length in enumerate(lengths):
                alone, last = encoder(x[row : row + 1, :length], torch.ones(1, length, dtype=torch.bool))
                assert_close(states[row, :length], alone[0], **CLOSE)
                assert (states[row, length:] == 0).all()
                assert_close([vector[row] for vector in vectors], [vector[0] for vector in last], **CLOSE)


def test_no_gradient_reaches_padding_and_the_last_vectors_stand_at_the_right_ends():
    torch.manual_seed(5)
    encoder = RecurrentEncoder("gru", 5, 8, layers=1, bidirectional=True, dropout=0.0)
    x, mask = torch.randn(3, 6, 5, requires_grad=True), padding_mask(torch.tensor([2, 6, 4]), 6)
    states, vectors = encoder(x, mask)
    assert_close(vectors[0][:, :4], states[[0, 1, 2], [1, 5, 3], :4])  # forward: at the last word
    assert_close(vectors[0][:, 4:], states[:, 0, 4:])  # backward: at the first
    (states.sum() + vectors[0].sum()).backward()
    assert (x.grad[~mask] == 0).all()
    assert (x.grad[mask].abs().sum(dim=1) > 0).all()


@pytest.mark.parametrize("kind", CELLS)
def test_half_precision_training_runs_and_stays_near(kind):
    """torch has no bf16 LSTM kernel for many CPUs, and bf16 gates once met an fp32 state."""
    torch.manual_seed(6)
    encoder = RecurrentEncoder(kind, 5, 8, layers=2, bidirectional=True, dropout=0.0)
    stack = RecurrentStack(kind, 5, 8, layers=2, dropout=0.0)
    x, ways = torch.randn(3, 6, 5), ([6, 6, 6], [2, 6, 4])

    def everything():
        found = []
        for lengths in ways:
            states, vectors = encoder(x, padding_mask(torch.tensor(lengths), 6))
            run, after = stack.run(x, vectors)
            stepped = stack.step(stack.input_gates(x[:, 0]), after)
            found += [states, run, *after, *stepped]
        return torch.cat([part.flatten() for part in found])

    plain = everything()
    with products("bf16"):
        half = everything()
    half.float().sum().backward()
    assert_close(half.float(), plain, atol=0.03, rtol=0.03)
