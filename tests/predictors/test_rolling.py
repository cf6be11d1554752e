"""Forecasts that are rolled on: blocks made of blocks, and quantiles that know how little that is worth."""

import numpy as np
import pytest
import torch

from jumok.config import SeriesData
from jumok.models.forecaster import Forecaster, ForecasterConfig
from jumok.predictors.rolling import Roller, weighted_quantiles

LOOK_BACK, HORIZON, TARGETS = 11, 5, 2
LEVELS = [0.1, 0.5, 0.9]


def roller(head="quantiles", *, transform="none", linear=False, tokens="steps", **settings):
    """Return a roller of a model that says something."""
    torch.manual_seed(3)
    relative = transform in ("difference", "log-return")
    config = ForecasterConfig(
        tokens=tokens, patch=4, stride=3, layers=1, width=8, heads=2, feedforward=13, head=head, ways=3, linear=linear,
        look_back=LOOK_BACK, horizon=HORIZON, targets=TARGETS, relative=relative, window="last" if relative else "none",
        **settings,
    )  # fmt: skip
    model = Forecaster(config).eval()
    for parameter in model.project.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    data = SeriesData(
        targets=["a", "b"], look_back=LOOK_BACK, horizon=HORIZON, transform=transform,
        mean=[0.0 if relative else 1.0, 0.0], deviation=[0.3, 0.5],
    )  # fmt: skip
    return Roller(model, data)


def histories(count, seed=0):
    return np.exp(np.random.default_rng(seed).normal(0.2, 0.3, (count, LOOK_BACK, TARGETS)))


def forecast(found, history, steps, levels=LEVELS):
    blocks = -(-steps // HORIZON) * HORIZON
    nothing = np.zeros((len(history), blocks, 0)), np.zeros((len(history), 0))
    return found.forecast(history, *nothing, steps=steps, levels=levels)


@pytest.mark.parametrize("transform", ["none", "log", "difference", "log-return"])
@pytest.mark.parametrize("head", ["point", "quantiles", "student-t", "mixture"])
def test_a_later_block_is_the_forecast_of_the_block_before_as_history(head, transform):
    found, history = roller(head, transform=transform), histories(3)
    levels = [] if head == "point" else LEVELS
    whole = forecast(found, history, 2 * HORIZON, levels)
    first = forecast(found, history, HORIZON, levels)
    np.testing.assert_allclose(whole.point[:, :HORIZON], first.point, rtol=1e-5)
    longer = np.concatenate([history, first.point], axis=1)[:, -LOOK_BACK:]
    np.testing.assert_allclose(whole.point[:, HORIZON:], forecast(found, longer, HORIZON, levels).point, rtol=1e-4)


@pytest.mark.parametrize("head", ["quantiles", "student-t", "mixture"])
def test_fewer_steps_are_the_first_of_more(head):
    found, history = roller(head), histories(2)
    whole = forecast(found, history, 3 * HORIZON)
    for steps in (1, HORIZON - 1, HORIZON + 2):
        part = forecast(found, history, steps)
        np.testing.assert_allclose(part.point, whole.point[:, :steps], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(part.quantiles, whole.quantiles[:, :steps], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("head", ["quantiles", "student-t", "mixture"])
def test_company_changes_no_forecast(head):
    found, history = roller(head), histories(4)
    together = forecast(found, history, 2 * HORIZON + 1)
    for number in range(4):
        alone = forecast(found, history[number : number + 1], 2 * HORIZON + 1)
        np.testing.assert_allclose(alone.point[0], together.point[number], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(alone.quantiles[0], together.quantiles[number], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("transform", ["none", "log-return"])
@pytest.mark.parametrize("head", ["quantiles", "student-t", "mixture"])
def test_quantiles_rise_and_no_block_is_surer_than_the_one_before(head, transform):
    found = forecast(roller(head, transform=transform), histories(5), 4 * HORIZON)
    assert (np.diff(found.quantiles, axis=-1) >= -1e-9).all()
    place = np.log if transform == "log-return" else np.asarray
    far = (place(found.quantiles) - place(found.point)[..., None]).reshape(5, 4, HORIZON, TARGETS, len(LEVELS))
    assert (far[:, 1:, ..., 0] <= far[:, :-1, ..., 0] + 1e-9).all()
    assert (far[:, 1:, ..., -1] >= far[:, :-1, ..., -1] - 1e-9).all()


def test_a_random_walk_gets_wider_by_the_root_of_its_steps():
    """A head that says the same of every window of steps forecasts a random walk, whose variances add up."""
    found = roller("student-t", transform="difference")
    for parameter in found.model.project.parameters():
        torch.nn.init.zeros_(parameter)
    band = forecast(found, histories(2), 4 * HORIZON).quantiles
    width = (band[..., -1] - band[..., 0])[:, ::HORIZON]  # (B, 4, V): at the first step of each block
    wanted = np.sqrt(1 + HORIZON * np.arange(4))[None, :, None]
    np.testing.assert_allclose(width / width[:, :1], np.broadcast_to(wanted, width.shape), rtol=0.05)


def test_the_ways_of_a_mixture_go_on_each_from_itself():
    found, history = roller("mixture"), histories(2)
    whole = forecast(found, history, 2 * HORIZON)
    assert whole.ways.shape == (2, 3, 2 * HORIZON, TARGETS)
    np.testing.assert_allclose(whole.likelihood.sum(axis=1), 1.0, rtol=1e-5)
    for way in range(3):
        longer = np.concatenate([history, whole.ways[:, way, :HORIZON]], axis=1)[:, -LOOK_BACK:]
        np.testing.assert_allclose(whole.ways[:, way, HORIZON:], forecast(found, longer, HORIZON).point, rtol=1e-4)


def test_weighted_quantiles_are_those_of_repeated_values():
    values, times = np.array([5.0, 1.0, 3.0, 2.0]), np.array([2, 1, 4, 3])
    levels = [0.05, 0.31, 0.5, 0.77]
    found = weighted_quantiles(values, times / times.sum(), levels)
    assert found.tolist() == sorted(found.tolist())
    # a value's weight may be cut into equal parts: the middle of each part lies on the same steps
    many = weighted_quantiles(np.repeat(values, 10 * times), np.full(10 * times.sum(), 0.1 / times.sum()), [0.05, 0.5])
    assert many.tolist() == [1.0, 3.0]
    np.testing.assert_allclose(
        weighted_quantiles(np.arange(7.0), np.full(7, 1 / 7), levels),
        np.quantile(np.arange(7.0), levels, method="hazen"),
    )
