"""Quantisers: a code stands for one vector exactly, gradients pass straight through, codebooks follow what they see."""

import pytest
import torch
from torch.testing import assert_close

from jumok.nn.quantisers import UNUSED, FiniteScalarQuantiser, VectorQuantiser

LEVELS = [[8, 6, 5], [2], [3], [2, 7], [4, 4, 2, 3]]


@pytest.fixture(params=[*map(str, LEVELS), "vq"])
def quantiser(request):
    torch.manual_seed(7)
    if request.param == "vq":
        return VectorQuantiser(23, 5).eval()
    return FiniteScalarQuantiser(LEVELS[list(map(str, LEVELS)).index(request.param)])


def spread(quantiser, count=4001):
    """Return vectors wide enough to reach every level."""
    return 3.0 * torch.randn(count, quantiser.width, generator=torch.Generator().manual_seed(3))


def test_every_code_comes_back_from_its_vector(quantiser):
    codes = torch.arange(quantiser.count)
    vectors = quantiser.vectors(codes)
    assert vectors.shape == (quantiser.count, quantiser.width)
    assert len(torch.unique(vectors, dim=0)) == quantiser.count, "each code has a vector of its own"
    if isinstance(quantiser, VectorQuantiser):
        assert torch.equal(quantiser.quantise(vectors).codes, codes)


def test_a_code_stands_for_what_was_quantised_exactly(quantiser):
    x = spread(quantiser).view(-1, 1, 1, quantiser.width)
    found = quantiser.quantise(x)
    assert found.codes.shape == x.shape[:-1]
    assert 0 <= int(found.codes.min()) <= int(found.codes.max()) < quantiser.count
    vectors = quantiser.vectors(found.codes)
    if isinstance(quantiser, VectorQuantiser):
        assert_close(vectors, found.vectors, atol=1e-6, rtol=1e-6)  # x + (book − x)
    else:
        assert torch.equal(vectors, found.vectors)


@pytest.mark.parametrize("levels", LEVELS, ids=str)
def test_every_level_is_reached_and_digits_make_the_code(levels):
    quantiser = FiniteScalarQuantiser(levels)
    assert set(quantiser.quantise(spread(quantiser, 40_000)).codes.tolist()) == set(range(quantiser.count))
    digits = torch.stack([torch.arange(quantiser.count) // place % level for place, level in zip(quantiser.places.tolist(), levels, strict=True)], dim=1)  # fmt: skip
    wanted = [sum(digit * place for digit, place in zip(row, quantiser.places.tolist(), strict=True)) for row in digits.tolist()]  # fmt: skip
    assert wanted == list(range(quantiser.count))
    assert float(quantiser.vectors(torch.arange(quantiser.count)).abs().max()) <= 1.0


def test_what_is_larger_never_gets_a_lower_level():
    quantiser = FiniteScalarQuantiser([7])
    codes = quantiser.quantise(torch.linspace(-9, 9, 501)[:, None]).codes
    assert (codes[0], codes[-1]) == (0, 6)
    assert bool((codes.diff() >= 0).all())


def test_gradients_pass_straight_through(quantiser):
    x = spread(quantiser, 101).requires_grad_()
    weights = torch.randn(101, quantiser.width)
    found = quantiser.quantise(x)
    (found.vectors * weights).sum().backward()
    assert bool(x.grad.isfinite().all())
    if isinstance(quantiser, VectorQuantiser):
        assert_close(x.grad, weights)
        return
    # As if nothing had been rounded: the slope of the bounded feature.
    half = (quantiser.levels - 1) * 0.999 / 2
    offset = (quantiser.levels % 2 == 0) * 0.5
    other = x.detach().clone().requires_grad_()
    shift = torch.atanh(torch.where(quantiser.levels > 2, offset / half, 0.0))
    bounded = torch.tanh(other + shift) * half - offset
    (bounded / (quantiser.levels // 2) * weights).sum().backward()
    assert_close(x.grad, other.grad)
    assert float(x.grad.abs().sum()) > 0


def test_equal_vectors_have_equal_codes(quantiser):
    x = spread(quantiser, 50)
    assert torch.equal(quantiser.quantise(x).codes, quantiser.quantise(x.flip(0)).codes.flip(0))


# --- codebooks


def test_the_nearest_vector_is_taken():
    quantiser, x = VectorQuantiser(13, 3).eval(), torch.randn(29, 3)
    assert torch.equal(quantiser.quantise(x).codes, torch.cdist(x, quantiser.book).argmin(dim=1))


def test_the_commitment_pulls_features_to_the_codebook():
    quantiser = VectorQuantiser(5, 2, commitment=0.3).eval()
    x = torch.randn(7, 2, requires_grad=True)
    found = quantiser.quantise(x)
    chosen = quantiser.book[found.codes]
    assert_close(found.loss, 0.3 * ((x - chosen) ** 2).mean(dim=1).sum())
    found.loss.backward()
    assert_close(x.grad, 0.3 * (x - chosen).detach())  # 2 / E, E = 2


def test_a_codebook_starts_from_a_k_means_and_uses_all_of_it():
    torch.manual_seed(0)
    centres = 10 * torch.randn(23, 3)
    x = (centres[:, None] + 0.1 * torch.randn(23, 20, 3)).flatten(0, 1)
    quantiser = VectorQuantiser(23, 3).eval()
    far = torch.cdist(x, quantiser.book).min(dim=1).values.mean()
    quantiser.begin(x)
    assert set(quantiser.quantise(x).codes.tolist()) == set(range(23))
    assert torch.cdist(x, quantiser.book).min(dim=1).values.mean() < 0.1 * far
    assert torch.equal(quantiser.sums, quantiser.book)
    assert torch.equal(quantiser.uses, torch.ones(23))


def test_fewer_vectors_than_codes_are_enough_to_start():
    quantiser = VectorQuantiser(17, 3)
    quantiser.begin(torch.randn(5, 3))
    assert bool(quantiser.book.isfinite().all())


def test_the_codebook_is_a_moving_average_of_what_came_near():
    quantiser = VectorQuantiser(3, 2, decay=0.9).train()
    quantiser.begin(torch.tensor([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]]))
    before, x = quantiser.book.clone(), torch.tensor([[1.0, 1.0], [3.0, 0.0], [9.0, 1.0]])
    codes = quantiser.quantise(x).codes
    for code in range(3):
        mine = x[codes == code]
        uses = 0.9 * 1.0 + 0.1 * len(mine)
        assert_close(quantiser.uses[code], torch.tensor(uses))
        assert_close(quantiser.book[code], (0.9 * before[code] + 0.1 * mine.sum(dim=0)) / uses)


def test_only_training_moves_the_codebook():
    quantiser, x = VectorQuantiser(7, 3), torch.randn(11, 3)
    before = quantiser.book.clone()
    quantiser.eval().quantise(x)
    with torch.no_grad():
        quantiser.train().quantise(x)
    assert torch.equal(quantiser.book, before)
    quantiser.quantise(x)
    assert not torch.equal(quantiser.book, before)


def test_what_is_not_used_any_more_starts_anew():
    torch.manual_seed(1)
    quantiser = VectorQuantiser(5, 2, decay=0.9).train()
    quantiser.begin(torch.randn(50, 2))
    quantiser.book[2] = quantiser.sums[2] = 1e4  # nothing comes near it
    x = torch.randn(50, 2)
    steps = 0
    while float(quantiser.book[2].abs().max()) > 100:
        quantiser.quantise(x)
        steps += 1
        assert steps < 100
    assert 0.9**steps < UNUSED <= 0.9 ** (steps - 1)
    assert any(torch.equal(quantiser.book[2], row) for row in x)
    assert 2 in quantiser.quantise(x).codes


def test_the_same_seed_moves_a_codebook_in_the_same_way():
    def moved():
        torch.manual_seed(4)
        quantiser = VectorQuantiser(29, 3, decay=0.5).train()
        for _ in range(20):
            quantiser.quantise(torch.randn(7, 3))
        return quantiser.book

    assert torch.equal(moved(), moved())
