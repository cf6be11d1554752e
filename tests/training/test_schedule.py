"""The learning rate against the paper's formula, its ends and its limits."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.config import TrainingConfig
from jumok.training.schedule import learning_rate

SCHEDULES = ["inverse_sqrt", "cosine", "linear", "constant"]


@st.composite
def configs(draw):
    peak = draw(st.floats(1e-6, 10.0))
    return TrainingConfig(
        schedule=draw(st.sampled_from(SCHEDULES)), learning_rate=peak, warmup=draw(st.integers(0, 300)),
        steps=draw(st.integers(1, 1000)), final_learning_rate=peak * draw(st.floats(0.0, 1.0)),
    )  # fmt: skip


@given(st.integers(1, 100_000), st.integers(1, 8000), st.integers(8, 2048))
def test_inverse_sqrt_is_the_papers_formula(step, warmup, width):
    config = TrainingConfig(learning_rate=(width * warmup) ** -0.5, warmup=warmup, schedule="inverse_sqrt")
    paper = width**-0.5 * min(step**-0.5, step * warmup**-1.5)  # Vaswani et al. 2017, section 5.3
    assert learning_rate(step, config) == pytest.approx(paper)


@given(configs(), st.data())
def test_warm_up_is_a_straight_line_from_zero(config, data):
    if config.warmup:
        step = data.draw(st.integers(1, config.warmup))
        assert learning_rate(step, config) == pytest.approx(config.learning_rate * step / config.warmup)


@given(configs(), st.integers(1, 2000))
def test_the_rate_is_above_zero_or_final_and_never_above_the_peak(config, step):
    rate = learning_rate(step, config)
    assert 0 <= rate <= config.learning_rate * (1 + 1e-12)
    if config.schedule in ("cosine", "linear") and step > config.warmup:
        assert rate >= config.final_learning_rate * (1 - 1e-12)


@given(configs())
def test_there_is_no_jump_at_the_end_of_the_warm_up(config):
    peak, warmup = config.learning_rate, config.warmup
    if warmup:
        assert learning_rate(warmup, config) == pytest.approx(peak)
    steepest = {"constant": 0.0, "inverse_sqrt": 0.5 / max(warmup, 1)}
    left = max(config.steps - warmup, 1)
    allowed = steepest.get(config.schedule, math.pi / 2 / left)  # the slope of a cosine is at most this
    assert peak - learning_rate(warmup + 1, config) <= peak * allowed * (1 + 1e-9) + 1e-15


@given(configs())
def test_after_the_warm_up_the_rate_never_rises(config):
    rates = [learning_rate(step, config) for step in range(config.warmup + 1, config.steps + 3)]
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(rates))


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_cosine_and_linear_end_at_the_final_rate_and_pass_the_middle_half_way(schedule):
    config = TrainingConfig(schedule=schedule, learning_rate=1.0, final_learning_rate=0.2, warmup=20, steps=120)
    assert learning_rate(120, config) == pytest.approx(0.2)
    assert learning_rate(70, config) == pytest.approx(0.6)
    assert learning_rate(500, config) == pytest.approx(0.2)


def test_constant_stays_at_the_peak():
    config = TrainingConfig(schedule="constant", learning_rate=0.3, warmup=10)
    assert {learning_rate(step, config) for step in range(10, 100)} == {0.3}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_without_warm_up_the_first_step_has_about_the_peak(schedule):
    config = TrainingConfig(schedule=schedule, learning_rate=0.3, warmup=0, steps=1000)
    assert learning_rate(1, config) == pytest.approx(0.3, rel=2e-3)
