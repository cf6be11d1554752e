"""Dropout in C draws the same numbers as dropout in torch, and has the same gradient."""

import pytest
import torch
import torch.nn.functional as F

from jumok.native import kernels
from jumok.nn.dropout import Dropout

pytestmark = pytest.mark.skipif(kernels.kernels() is None, reason="no C compiler: torch does it all")

WAYS = {
    "alone": lambda dropout, base, x: dropout(x),
    "added": lambda dropout, base, x: dropout.added(base, x),
    "of relu": lambda dropout, base, x: dropout.of_relu(x),
}
PLAIN = {
    "alone": lambda kept, base, x: x * kept,
    "added": lambda kept, base, x: base + x * kept,
    "of relu": lambda kept, base, x: F.relu(x) * kept,
}


def run(function, rate, *, native, monkeypatch):
    """Return what comes out, and the gradients of both inputs."""
    monkeypatch.setattr("jumok.nn.dropout.native.serves", kernels_serve if native else lambda x: False)
    torch.manual_seed(7)
    base, x = (torch.randn(3, 37, 5, requires_grad=True) for _ in range(2))
    out = function(Dropout(rate).train(), base, x)
    out.backward(torch.randn(3, 37, 5))
    return [out.detach(), x.grad, base.grad]


kernels_serve = kernels.serves


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.999])
@pytest.mark.parametrize("way", WAYS)
def test_the_same_as_in_torch(way, rate, monkeypatch):
    ours = run(WAYS[way], rate, native=True, monkeypatch=monkeypatch)
    theirs = run(WAYS[way], rate, native=False, monkeypatch=monkeypatch)
    for one, other in zip(ours, theirs, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other)
    dropped = (ours[1] == 0).float().mean()
    if way != "of relu" and rate == 0.5:
        assert 0.42 < dropped < 0.58


@pytest.mark.parametrize("way", WAYS)
def test_outside_training_nothing_is_dropped(way):
    base, x = torch.randn(2, 9), torch.randn(2, 9)
    assert WAYS[way](Dropout(0.7).eval(), base, x).equal(PLAIN[way](1.0, base, x))


def test_what_is_not_contiguous_is_left_to_torch():
    torch.manual_seed(2)
    x = torch.randn(6, 4).t()
    found = Dropout(0.5).train()(x)
    assert ((found == 0) | torch.isclose(found, 2 * x)).all()


def test_random_bytes_are_those_of_their_seed_and_each_is_as_likely():
    count = 100_003
    first, again, other = (kernels.random_bytes(seed, count) for seed in (5, 5, 5 + (1 << 32)))
    assert torch.equal(first, again)
    assert torch.equal(first[:777], kernels.random_bytes(5, 777)), "however many are asked for"
    assert 0 < (first == other).float().mean() < 0.006  # 1 / 256 by accident
    assert 0 < (first[1:] == first[:-1]).float().mean() < 0.006
    for found in (first, other):
        each = found.bincount(minlength=256)
        assert int(each.min()) > 290
        assert int(each.max()) < 490  # 391 on average, with a spread of 20


def test_the_gradient_drops_what_was_dropped_though_nothing_of_it_was_kept():
    x = torch.randn(7, 333, requires_grad=True)
    sizes = []
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda kept: sizes.append(kept.nbytes) or kept, lambda kept: kept)
    with hooks:
        out = Dropout(0.5).train()(x)
    out.sum().backward()
    assert torch.equal(out == 0, x.grad == 0)
    assert not sizes
