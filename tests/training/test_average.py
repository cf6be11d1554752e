"""Averages of weights against their definitions."""

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.testing import assert_close

from jumok.config import TrainingConfig
from jumok.training.average import WeightAverage, load_tensors, model_tensors


def make(**options):
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    return model, WeightAverage(model, TrainingConfig(**options))


def set_to(model, value):
    with torch.no_grad():
        for tensor in model_tensors(model).values():
            tensor.fill_(value)


def values(tensors, *, buffers=False):
    kept = {name: tensor for name, tensor in tensors.items() if ("running" in name) == buffers and "num" not in name}
    return {float(number) for tensor in kept.values() for number in tensor.flatten()}


def test_last_is_the_mean_of_the_newest_saves():
    model, average = make(average="last", average_last=3, save_every=2)
    for step in range(1, 12):
        set_to(model, float(step**2))
        average.update(step)
        saved = [number**2 for number in range(2, step + 1, 2)][-3:] or [step**2]  # before the first save: as they are
        assert list(values(average.weights())) == [pytest.approx(sum(saved) / len(saved))]


def test_ema_follows_its_recurrence():
    model, average = make(average="ema", average_decay=0.7)
    wanted = None
    for step in range(1, 40):
        set_to(model, float(step**2))
        average.update(step)
        decay = min(0.7, (1 + step) / (10 + step))
        wanted = step**2 if wanted is None else decay * wanted + (1 - decay) * step**2
        assert list(values(average.weights())) == [pytest.approx(wanted, rel=1e-5)]


def test_none_is_the_newest_weights():
    model, average = make(average="none")
    set_to(model, 3.0)
    average.update(1)
    assert values(average.weights()) == {3.0}
    assert not average.state_tensors()


@pytest.mark.parametrize("kind", ["last", "ema"])
def test_buffers_are_the_newest(kind):
    model, average = make(average=kind, save_every=1)
    for step in (1, 2):
        set_to(model, float(step))
        average.update(step)
    assert values(average.weights(), buffers=True) == {2.0}
    assert values(average.weights()) != {2.0}


@pytest.mark.parametrize("kind", ["none", "last", "ema"])
def test_lent_weights_are_taken_back_even_after_an_exception(kind):
    model, average = make(average=kind, save_every=1, average_decay=0.5)
    for step in (1, 2):
        set_to(model, float(step))
        average.update(step)
    own = {name: tensor.clone() for name, tensor in model_tensors(model).items()}
    averaged = {name: tensor.clone() for name, tensor in average.weights().items()}

    def evaluate():
        for name, tensor in model_tensors(model).items():
            assert_close(tensor, averaged[name])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), average.in_place():
        evaluate()
    for name, tensor in model_tensors(model).items():
        assert tensor.equal(own[name])
    for name, tensor in average.weights().items():  # lending changed no snapshot
        assert tensor.equal(averaged[name])


@pytest.mark.parametrize("kind", ["last", "ema"])
def test_an_average_put_back_goes_on_alike(kind):
    model, average = make(average=kind, average_last=2, save_every=1)
    other, fresh = make(average=kind, average_last=2, save_every=1)
    for step in (1, 2, 3):
        set_to(model, float(step))
        average.update(step)
    fresh.load_state_tensors({name: tensor.clone() for name, tensor in average.state_tensors().items()})
    for both, kept in ((model, average), (other, fresh)):
        set_to(both, 9.0)
        kept.update(4)
    assert all(average.weights()[name].equal(fresh.weights()[name]) for name in average.weights())


def test_what_is_scored_and_saved_for_use_is_the_average_and_training_goes_on_with_its_own(toy, tmp_path):
    scored = []

    def evaluate(model):
        scored.append({name: tensor.detach().clone() for name, tensor in model_tensors(model).items()})
        return toy.evaluate(model)

    trainer = toy.trainer(tmp_path / "run", evaluate=evaluate, average="ema", steps=5)
    trainer.train()
    saved, training = (
        load_file(tmp_path / "run/last" / name) for name in ("model.safetensors", "training.safetensors")
    )
    for name, tensor in model_tensors(trainer.model).items():
        assert tensor.equal(training[f"model/{name}"])
        assert saved[name].equal(scored[-1][name])
        assert name == "calls" or not tensor.equal(saved[name])


def test_weights_that_do_not_fit_are_named():
    model, _ = make()
    tensors = {name: tensor.clone() for name, tensor in model_tensors(model).items()}
    with pytest.raises(ValueError, match=r"weights do not fit the model: 0\.bias"):
        load_tensors(model, tensors | {"0.bias": torch.zeros(3)})
    del tensors["0.weight"]
    with pytest.raises(ValueError, match=r"0\.weight"):
        load_tensors(model, tensors)


def test_averages_whose_tensors_are_renamed_are_refused():
    _, average = make(average="ema")
    average.update(1)
    tensors = average.state_tensors()
    average.load_state_tensors(tensors)
    name = next(iter(tensors))
    for wrong in ("0.other", "x", "7." + name.partition(".")[2]):
        with pytest.raises(ValueError, match="averages do not fit the model: "):
            average.load_state_tensors({wrong if key == name else key: value for key, value in tensors.items()})
