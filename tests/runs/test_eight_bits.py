"""Weights of eight bits: near what they were, whole again under their names, a quarter of the file."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from jumok.runs.eight_bits import in_eight_bits, in_floats


@given(st.integers(1, 5), st.integers(1, 9), st.sampled_from([(), (3,), (2, 2)]), st.floats(1e-30, 1e30))
def test_every_number_lies_within_half_a_step_of_its_row(rows, columns, further, size):
    value = torch.randn(rows, columns, *further) * size
    again = in_floats(in_eight_bits({"w": value}))["w"]
    step = value.flatten(1).abs().amax(dim=1) / 127
    assert again.shape == value.shape
    assert ((again - value).flatten(1).abs() <= step[:, None] * 0.5001).all()


def test_a_row_of_zeros_stays_one_and_vectors_and_whole_numbers_are_untouched():
    weights = {"zeros": torch.zeros(2, 3), "bias": torch.randn(7), "places": torch.arange(6).view(2, 3)}
    again = in_floats(in_eight_bits(weights))
    assert again.keys() == weights.keys()
    assert all(torch.equal(again[name], value) for name, value in weights.items())
    assert in_eight_bits(weights)["zeros"].dtype == torch.int8


def test_plain_weights_pass_as_they_are():
    weights = {"w": torch.randn(3, 4), "half": torch.randn(3, 4).half()}
    assert all(found is weights[name] for name, found in in_floats(weights).items())
