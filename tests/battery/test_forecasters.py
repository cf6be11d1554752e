"""The properties of models that forecast series."""

from dataclasses import replace

import pytest
import torch
from battery.narrow import check_products_in_bf16
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

from jumok.catalogue import MODELS, model_class
from jumok.inspection.observe import observe
from jumok.nn.batch import SeriesBatch
from jumok.training.average import load_tensors, model_tensors

CLOSE = {"atol": 1e-5, "rtol": 1e-4}
LOOK_BACK, HORIZON, TARGETS, PAST, KNOWN, STATIC = 21, 5, 3, 1, 2, 4
FORECASTERS = [name for name in MODELS if "forecasting" in model_class(name).tasks]
SIZES = {"layers": 2, "width": 22, "heads": 2, "feedforward": 17, "dropout": 0.0, "patch": 6, "stride": 4}
HEADS = {
    "point": {},
    "huber, window": {"loss": "huber", "units": "window"},
    "quantiles": {"head": "quantiles", "quantiles": [0.1, 0.5, 0.8]},
    "student-t": {"head": "student-t"},
    "mixture": {"head": "mixture", "ways": 4},
}
VARIANTS = {
    "steps": {"tokens": "steps"},
    "steps, fed back": {"tokens": "steps", "feedback": True},
    "steps, fed back, student-t": {"tokens": "steps", "feedback": True, "head": "student-t", "window": "last"},
    "patches": {"tokens": "patches"},
    "patches, even": {"tokens": "patches", "patch": 3, "stride": 3},
    "variables": {"tokens": "variables"},
    "last": {"tokens": "patches", "window": "last"},
    "none": {"tokens": "variables", "window": "none"},
    "no shortcut": {"tokens": "patches", "linear": False},
    "relative": {"tokens": "patches", "relative": True},
    "relative, ewma": {"tokens": "variables", "relative": True, "window": "ewma", **HEADS["student-t"]},
    "ewma": {"tokens": "patches", "window": "ewma"},
    "relative, fed back": {"tokens": "steps", "relative": True, "feedback": True, "window": "none"},
    "joint": {"tokens": "variables", "relative": True, "joint": True, "window": "none", **HEADS["mixture"]},
    "post-norm": {"tokens": "variables", "norm_position": "post", "activation": "relu"},
    "alone": {"tokens": "patches", "past": 0, "known": 0, "static": 0},
    "steps, alone": {"tokens": "steps", "past": 0, "known": 0, "static": 0},
    **{f"patches, {name}": {"tokens": "patches", **head} for name, head in HEADS.items()},
    "steps, mixture": {"tokens": "steps", **HEADS["mixture"]},
    "variables, quantiles": {"tokens": "variables", **HEADS["quantiles"]},
}


def make_model(variant, *, fresh=False, **changes):
    torch.manual_seed(5)
    built = model_class("forecaster")
    sizes = {"look_back": LOOK_BACK, "horizon": HORIZON, "targets": TARGETS}
    sizes |= {"past": PAST, "known": KNOWN, "static": STATIC}
    model = built(built.Config(name="forecaster", **{**sizes, **SIZES, **VARIANTS[variant], **changes}))
    if not fresh:  # it starts by adding nothing
        torch.nn.init.normal_(model.project.weight, std=0.1)
        if model.shortcut:
            model.set_ridge(0.1 * torch.randn_like(model.ridge_weight))
    return model.eval()


@pytest.fixture(params=VARIANTS)
def variant(request):
    return request.param


@pytest.fixture
def model(variant):
    return make_model(variant)


def make_batch(model, rows=3, seed=3, missing=0.2) -> SeriesBatch:
    generator = torch.Generator().manual_seed(seed)
    config = model.config
    past = torch.randn(rows, LOOK_BACK, config.columns, generator=generator).cumsum(1)
    observed = torch.rand(past.shape, generator=generator) >= missing
    future = torch.randn(rows, HORIZON, TARGETS, generator=generator)
    there = torch.rand(future.shape, generator=generator) >= missing
    known = torch.randn(rows, HORIZON, config.known, generator=generator)
    static = torch.randn(rows, config.static, generator=generator)
    return SeriesBatch(past * observed, observed, known, static, future * there, there)


def loss_of(model, batch):
    parameters, scale = model.forecast(batch)
    return model.head.loss(parameters, batch.future, batch.future_observed, scale)


def test_every_forecaster_is_in_the_battery():
    assert FORECASTERS == ["forecaster"]


def test_shapes(model):
    batch = make_batch(model)
    parameters, scale = model.forecast(batch)
    assert parameters.shape == (3, HORIZON, TARGETS, model.head.parameters_of_value)
    assert scale.shape == (3, 1, TARGETS)
    assert (scale > 0).all()
    assert model.head.point(parameters).shape == (3, HORIZON, TARGETS)
    assert_close(model(batch), parameters)


def test_examples_do_not_touch_each_other(model):
    batch = make_batch(model)
    for row in range(3):
        assert_close(model(batch.part(row, 3))[0], model(batch)[row], **CLOSE)


def test_every_parameter_gets_a_gradient(model):
    loss_of(model.train(), make_batch(model)).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_products_in_bf16_change_little(model):
    model.train()
    batch = make_batch(model)
    check_products_in_bf16(model, lambda: loss_of(model, batch))


def test_what_came_never_changes_a_forecast(model):
    """Not even of a model that is fed true values while it learns."""
    batch = make_batch(model)
    other = replace(batch, future=batch.future + 100, future_observed=~batch.future_observed)
    assert torch.equal(model(other), model(batch))


def test_what_stands_in_a_missing_value_changes_nothing(model):
    """A mask says that it is missing: zero is no value."""
    batch = make_batch(model)
    targets = model.config.targets
    past = batch.past.clone()
    past[..., :targets][~batch.observed[..., :targets]] = 77.0
    assert_close(model(replace(batch, past=past)), model(batch), **CLOSE)
    there = replace(batch, observed=torch.ones_like(batch.observed))
    assert not torch.allclose(model(there), model(batch))


def test_it_begins_as_the_ridge_regression(variant):
    """Or, without one, as the window's own level."""
    model = make_model(variant, fresh=True)
    batch = make_batch(model, missing=0.0)
    if model.shortcut:
        weight = torch.randn_like(model.ridge_weight)
        model.set_ridge(weight)
        past = batch.past[..., :TARGETS]
        level = torch.zeros_like(past[:, :1]) if model.config.relative else past[:, -1:]
        if model.config.joint:
            wanted = ((past - level).flatten(1) @ weight.T).view(-1, HORIZON, TARGETS) + level
        else:
            wanted = torch.stack([(past - level)[..., v] @ weight.T for v in range(TARGETS)], dim=2) + level
    else:
        wanted = batch.past[..., :TARGETS].mean(dim=1, keepdim=True).expand(-1, HORIZON, -1)
    assert_close(model.head.point(model(batch)), wanted, **CLOSE)


def test_a_shifted_and_scaled_window_has_a_shifted_and_scaled_forecast(variant):
    """Whatever the level of a series: with mean-std wholly, with last its level."""
    model = make_model(variant)
    config = model.config
    if config.window == "none" or config.relative or config.past or config.known or config.static:
        model = make_model(variant, past=0, known=0, static=0)
    if model.config.window == "none" or model.config.relative:
        pytest.skip("nothing is taken off")
    batch = make_batch(model, missing=0.0)
    factor = 1.0 if model.config.window == "last" else 3.0
    plain = model.head.point(model(batch))
    moved = model.head.point(model(replace(batch, past=batch.past * factor + 7)))
    assert_close(moved, plain * factor + 7, atol=1e-4, rtol=1e-4)


def test_one_batch_is_learnt_by_heart(variant):
    model = make_model(variant).train()
    batch = make_batch(model, missing=0.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def error():
        model.eval()
        with torch.no_grad():
            parameters = model(batch)
            ways = model.head.ways(parameters)
            found = model.head.point(parameters)[:, None] if ways is None else ways[0]
        model.train()
        return float((found - batch.future[:, None]).abs().mean(dim=(2, 3)).amin(dim=1).mean())

    before = error()
    for _ in range(8):
        for _ in range(10):
            optimizer.zero_grad()
            loss_of(model, batch).backward()
            optimizer.step()
        if error() < (0.6 if model.config.feedback else 0.3) * before:
            return
    pytest.fail(f"an error of {error():.3f} after 80 steps, {before:.3f} before them")


def test_observing_changes_nothing_and_shows_attention(model):
    batch = make_batch(model)
    plain = model(batch)
    with observe(model) as record:
        observed = model(batch)
    assert_close(observed, plain, **CLOSE)
    assert record.maps
    for found in record.maps:
        sums = found.weights.sum(dim=-1)
        assert_close(sums, torch.ones_like(sums))
    kinds = {found.kind for found in record.maps}
    assert kinds == ({"encoder", "decoder", "cross"} if model.config.tokens == "steps" else {"encoder"})
    assert torch.equal(model(batch), plain)


def test_saved_and_loaded_it_is_the_same(variant, model, tmp_path):
    save_file({name: value.contiguous() for name, value in model_tensors(model).items()}, tmp_path / "m.safetensors")
    other = make_model(variant, fresh=True)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    load_tensors(other, load_file(tmp_path / "m.safetensors"))
    batch = make_batch(model)
    assert torch.equal(other.eval()(batch), model(batch))


def test_dropout_is_for_training_alone(variant):
    model = make_model(variant, dropout=0.4, head_dropout=0.3)
    batch = make_batch(model)
    assert torch.equal(model(batch), model(batch))
    model.train()
    assert not torch.equal(model(batch), model(batch))


def test_feeding_back_is_causal():
    """A step is forecast from those before it: what the later ones are fed changes nothing."""
    model = make_model("steps, fed back").train()
    batch = make_batch(model, missing=0.0)
    plain = model(batch)
    for step in range(HORIZON):
        future = batch.future.clone()
        future[:, step:] += 5
        changed = model(replace(batch, future=future))
        assert_close(changed[:, : step + 1], plain[:, : step + 1], **CLOSE)
        if step + 1 < HORIZON:
            assert not torch.allclose(changed[:, step + 1 :], plain[:, step + 1 :])
