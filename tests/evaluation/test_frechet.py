"""The Fréchet distance against closed forms."""

import numpy as np
import pytest

from jumok.evaluation.frechet import frechet_distance


def gaussian(mean, covariance, count, seed=1):
    """Return samples whose mean and covariance are exactly those given."""
    plain = np.random.default_rng(seed).normal(size=(count, len(mean)))
    plain -= plain.mean(axis=0)
    white = plain @ np.linalg.inv(np.linalg.cholesky(np.atleast_2d(np.cov(plain.T))).T)
    return white @ np.linalg.cholesky(covariance).T + mean


def covariance(width, seed):
    root = np.random.default_rng(seed).normal(size=(width, width))
    return root @ root.T + 0.1 * np.eye(width)


def of_matrices(mean, spread, other_mean, other_spread):
    """Return the distance as the formula has it, with the root of a matrix by its eigenvalues."""
    values = np.linalg.eigvals(spread @ other_spread)
    return ((mean - other_mean) ** 2).sum() + np.trace(spread + other_spread) - 2 * np.sqrt(values.real.clip(0)).sum()


@pytest.mark.parametrize("count", [3, 5, 47])  # fewer than the features are wide, and more
def test_equal_sets_are_at_no_distance(count):
    features = np.random.default_rng(1).normal(size=(count, 7))
    assert frechet_distance(features, features) == pytest.approx(0.0, abs=1e-9)
    assert frechet_distance(features, features[::-1]) == pytest.approx(0.0, abs=1e-9), "whatever their order"


def test_a_shift_is_its_own_square():
    features = np.random.default_rng(1).normal(size=(31, 5))
    assert frechet_distance(features, features + 2.0) == pytest.approx(5 * 2.0**2)


def test_two_gaussians_of_one_dimension():
    one, two = gaussian(np.array([1.0]), np.eye(1) * 9.0, 53), gaussian(np.array([3.0]), np.eye(1) * 4.0, 43, seed=2)
    assert frechet_distance(one, two) == pytest.approx((3 - 1) ** 2 + (3 - 2) ** 2)


def test_gaussians_of_any_covariance_match_the_formula():
    mean, other = np.arange(7.0), np.ones(7)
    spread, other_spread = covariance(7, 1), covariance(7, 2)
    found = frechet_distance(gaussian(mean, spread, 71), gaussian(other, other_spread, 61, seed=2))
    assert found == pytest.approx(of_matrices(mean, spread, other, other_spread))


def test_fewer_images_than_features_match_the_formula():
    generator = np.random.default_rng(3)
    one, two = generator.normal(size=(5, 11)), generator.normal(size=(23, 11)) * 2 + 1
    wanted = of_matrices(one.mean(axis=0), np.cov(one.T), two.mean(axis=0), np.cov(two.T))
    assert frechet_distance(one, two) == pytest.approx(wanted, rel=1e-5)  # eig of a singular product rounds more
    assert frechet_distance(two, one) == pytest.approx(frechet_distance(one, two))
