"""Products with packed weights: the numbers of torch, the same to the bit however many rows there are."""

import ctypes

import pytest
import torch
from torch.testing import assert_close

from jumok.decoding.native_weights import packed
from jumok.native.build import kernels
from jumok.native.kernels import PACKED, PACKED_NARROW, address, floats

library = kernels()
kinds = library.packings() if library is not None else 0
KINDS = [
    pytest.param(
        kind,
        id=name,
        marks=pytest.mark.skipif(not kinds >> kind & 1, reason="this processor has no such products, or no compiler"),
    )
    for kind, name in ((PACKED, "fp32"), (PACKED_NARROW, "bf16"))
]


def multiply(kind, x, weight, bias=None, base=None):
    """Return [base +] x · weightᵀ [+ bias]."""
    outside, inside = weight.shape
    room, rows = torch.empty(x.numel() + len(x), dtype=torch.float32), packed(weight, kind)
    out = torch.full((len(x), outside + 1), torch.nan).flatten()[: len(x) * outside] if base is None else base.clone()
    library.prepared.restype = ctypes.c_void_p
    ready = library.prepared(kind, floats(x), len(x), inside, address(room))
    library.multiply_packed(
        kind, ctypes.c_void_p(ready), len(x), inside, address(rows), None if bias is None else floats(bias), outside,
        address(out), int(base is not None),
    )  # fmt: skip
    return out.view(len(x), outside)


def seen(kind, x):
    """Return x as products take it."""
    return x.bfloat16().float() if kind == PACKED_NARROW else x


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("inside", "outside"), [(128, 384), (16, 24), (13, 7), (96, 200), (1, 1), (31, 130)])
def test_products_are_those_of_torch(kind, inside, outside):
    generator = torch.Generator().manual_seed(inside)
    weight, bias = torch.randn(outside, inside, generator=generator), torch.randn(outside, generator=generator)
    for rows in (1, 2, 5, 6, 7, 13):
        x = torch.randn(rows, inside, generator=generator)
        expected = seen(kind, x) @ seen(kind, weight).t()
        assert_close(multiply(kind, x, weight), expected, atol=1e-4, rtol=1e-5)
        base = torch.randn(rows, outside, generator=generator)
        assert_close(multiply(kind, x, weight, bias, base), base + expected + bias, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_does_not_depend_on_its_neighbours(kind):
    generator = torch.Generator().manual_seed(1)
    weight, x = torch.randn(200, 96, generator=generator), torch.randn(23, 96, generator=generator)
    together = multiply(kind, x, weight)
    for row in range(len(x)):
        assert torch.equal(multiply(kind, x[row : row + 1], weight)[0], together[row])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_number_stays_none(kind):
    x = torch.ones(2, 8)
    x[1, 3] = torch.nan
    found = multiply(kind, x, torch.ones(20, 8))
    assert torch.equal(found[0], torch.full((20,), 8.0))
    assert found[1].isnan().all()
