"""Rows that stay in place are the rows that were asked for, whatever leaves, comes, splits and grows."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from jumok.decoding.row_buffers import RowBuffers

ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("select"), st.lists(st.integers(0, 99), min_size=1, max_size=9)),
        st.tuples(st.just("join"), st.integers(1, 5)),
        st.tuples(st.just("write"), st.just(1)),
    ),
    max_size=25,
)


def fresh(rows, places, first):
    """Return tensors whose every number is unlike all others."""
    size = rows * places * 2
    return [(first + sign * torch.arange(float(size))).view(rows, places, 2) for sign in (1.0, -1.0)]


@given(ACTIONS)
def test_rows_are_those_of_plain_copies(actions):
    places, number = 2, 1000.0
    buffers, plain = RowBuffers(fresh(3, places, 0.0), 3), fresh(3, places, 0.0)
    for kind, value in actions:
        if kind == "select":
            rows = torch.tensor([choice % buffers.rows for choice in value])
            buffers.select(rows, places)
            plain = [tensor[rows] for tensor in plain]
        elif kind == "join":
            number += 1000.0
            buffers.join(RowBuffers(fresh(value, places, number), value), places)
            plain = [torch.cat(both) for both in zip(plain, fresh(value, places, number), strict=True)]
        else:
            places, number = places + 1, number + 1000.0
            new = fresh(buffers.rows, 1, number)
            for index in range(2):
                buffers.make_room(index, places)[: buffers.rows, places - 1 : places] = new[index]
            plain = [torch.cat(both, dim=1) for both in zip(plain, new, strict=True)]
        for index in range(2):
            assert buffers.used(index, places).equal(plain[index])


def test_a_row_that_stays_is_not_copied():
    buffers = RowBuffers(fresh(4, 3, 0.0), 4)
    place = buffers.tensors[0].data_ptr()
    buffers.select(torch.tensor([0, 3, 2]), 3)
    assert buffers.tensors[0].data_ptr() == place
    buffers.join(RowBuffers(fresh(1, 3, 50.0), 1), 3)
    assert buffers.tensors[0].data_ptr() == place, "there was room for one"
