"""What is said of a value to come: quantiles that never cross, densities that add up, losses as their formulas say."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch.testing import assert_close

from jumok.nn.forecast_heads import MixtureHead, PointHead, QuantileHead, StudentHead, student_quantile

B, H, V = 4, 5, 3
LEVELS = [0.05, 0.1, 0.5, 0.9, 0.99]


@pytest.fixture
def made():
    """Return a head's parameters of random raw ones, and what came."""

    def make(head, seed=1, spread=2.0):
        generator = torch.Generator().manual_seed(seed)
        raw = spread * torch.randn(B, H, V, head.parameters_of_value, generator=generator)
        base, scale = torch.randn(B, H, V, generator=generator), torch.rand(B, 1, V, generator=generator) + 0.1
        future = torch.randn(B, H, V, generator=generator)
        there = torch.rand(B, H, V, generator=generator) < 0.7
        return head.anchor(raw, base, scale), future, there, scale

    return make


@given(st.lists(st.floats(-50, 50, width=32), min_size=5, max_size=5), st.floats(0.0625, 100, width=32))
@settings(max_examples=60, deadline=None)
def test_quantiles_never_cross(raw, scale):
    head = QuantileHead(LEVELS)
    found = head.anchor(torch.tensor(raw).view(1, 1, 1, 5), torch.zeros(1, 1, 1), torch.full((1, 1, 1), scale))
    assert (found.diff(dim=-1) >= 0).all()
    asked = head.quantiles(found, [0.001, 0.05, 0.07, 0.3, 0.5, 0.77, 0.9, 0.999])
    assert (asked.diff(dim=-1) >= 0).all()
    assert_close(asked[..., 4], found[..., 2])
    assert_close(asked[..., 0], found[..., 0])


def test_pinball_by_its_formula(made):
    head = QuantileHead(LEVELS)
    found, future, there, scale = made(head)
    wanted = 0.0
    for number, level in enumerate(LEVELS):
        error = (future - found[..., number]) / scale
        wanted += float((torch.where(error >= 0, level * error, (level - 1) * error) * there).sum())
    assert_close(float(head.loss(found, future, there, scale)), 2 * wanted / len(LEVELS), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("kind", "wanted"), [("mse", lambda e: e**2), ("mae", torch.abs)])
def test_points_by_their_formulas(made, kind, wanted):
    head = PointHead(kind)
    found, future, there, scale = made(head)
    error = (found[..., 0] - future) / scale
    assert_close(head.loss(found, future, there, scale), (wanted(error) * there).sum())
    assert torch.equal(head.point(found), found[..., 0])


def test_huber_lies_between_the_two(made):
    found, future, there, scale = made(PointHead("huber"))
    small = PointHead("huber").loss(0.01 * found, 0.01 * future, there, scale)
    assert_close(small, PointHead("mse").loss(0.01 * found, 0.01 * future, there, scale) / 2)
    large = PointHead("huber").loss(found + 100, future, there, scale)
    assert_close(large, PointHead("mae").loss(found + 100, future, there, scale) - 0.5 * there.sum())


def test_students_t_is_scipys(made):
    head = StudentHead()
    found, future, there, scale = made(head)
    place, spread, freedom = (part.double().numpy() for part in found.unbind(-1))
    unit = scale.double().numpy()
    density = stats.t.logpdf(future.double().numpy(), freedom, place, spread) + torch.tensor(unit).log().numpy()
    assert_close(
        float(head.loss(found, future, there, scale)), -float((density * there.numpy()).sum()), rtol=1e-4, atol=1e-3
    )
    asked = head.quantiles(found, LEVELS)
    for number, level in enumerate(LEVELS):
        wanted = torch.from_numpy(stats.t.ppf(level, freedom, place, spread))
        assert_close(asked[..., number].double(), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("freedom", [2.1, 3.0, 5.0, 30.0, 1000.0])
def test_quantiles_of_students_t(freedom):
    levels = torch.tensor([0.001, 0.01, 0.1, 0.5, 0.6, 0.975, 0.999])
    wanted = torch.from_numpy(stats.t.ppf(levels.double().numpy(), freedom)).float()
    assert_close(student_quantile(levels, torch.tensor([freedom])), wanted, rtol=2e-4, atol=1e-5)


def test_a_mixture_is_a_density_over_whole_windows():
    """Of one value: the integral of exp(−loss) is 1, however its ways lie."""
    head = MixtureHead(3)
    generator = torch.Generator().manual_seed(2)
    raw = torch.randn(1, 1, 1, 10, generator=generator)
    found = head.anchor(raw, torch.zeros(1, 1, 1), torch.ones(1, 1, 1))
    middle = found[..., 0].clone()
    grid = torch.linspace(-40, 40, 8001)
    there, unit = torch.ones(1, 1, 1, dtype=torch.bool), torch.ones(1, 1, 1)
    nll = torch.stack([head.loss(found, x.view(1, 1, 1), there, unit) - (x - middle).abs().sum() for x in grid])
    density = (-nll).exp()
    assert_close(float(torch.trapezoid(density, grid)), 1.0, rtol=1e-3, atol=1e-3)
    below = torch.cumulative_trapezoid(density, grid)
    for level in (0.1, 0.5, 0.8):
        asked = float(head.quantiles(found, [level]))
        assert_close(float(below[int((asked + 40) / 80 * 8000)]), level, rtol=0.02, atol=2e-3)


def test_ways_are_as_likely_as_they_say(made):
    head = MixtureHead(4)
    found, *_ = made(head)
    ways, likely = head.ways(found)
    assert ways.shape == (B, 4, H, V)
    assert_close(likely.sum(dim=1), torch.ones(B))
    assert not torch.allclose(ways[:, 0], ways[:, 1])


def test_the_middle_is_learnt_for_being_near(made):
    """Its gradient is that of the absolute error: the ways have none on it."""
    head = MixtureHead(4)
    found, future, there, scale = made(head)
    found.requires_grad_()
    head.loss(found, future, there, scale).backward()
    wanted = torch.sign(head.point(found) - future) / scale * there
    assert_close(found.grad[..., 0], wanted.detach())


@pytest.mark.parametrize(
    "head", [PointHead(), QuantileHead(LEVELS), StudentHead(), MixtureHead(3)], ids=lambda h: h.kind
)
def test_what_is_missing_counts_nowhere(made, head):
    found, future, there, scale = made(head)
    other = torch.where(there, future, future + 50)
    assert_close(head.loss(found, other, there, scale), head.loss(found, future, there, scale))


def test_a_point_has_no_quantiles(made):
    found, *_ = made(PointHead())
    with pytest.raises(NotImplementedError, match="point"):
        PointHead().quantiles(found, [0.5])
