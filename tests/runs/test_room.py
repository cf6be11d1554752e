"""Models that do not fit the memory are refused before anything is written into it, with the size that was asked for."""

import pytest
import torch
from torch import nn

from jumok import api
from jumok.errors import ConfigError
from jumok.runs import room
from jumok.runs.weights import build_empty_model

COPY = {
    "data": {"set": "copy", "size": 60},
    "tokenizer": {"kind": "word", "min_frequency": 1},
    "model": {"layers": 1, "heads": 2, "width": 8, "feedforward": 8},
    "training": {"steps": 1, "device": "cpu"},
}


@pytest.mark.parametrize("width", [200_000, 400_000_000])
def test_a_width_that_asks_for_hundreds_of_gigabytes_is_refused_at_once(width, tmp_path):
    with pytest.raises(
        ConfigError, match=r"weights of this 'transformer' take .* (TB|PB) and training at least 3 times"
    ) as told:
        api.train(COPY, out=tmp_path / "run", overrides={"model.width": width}, quiet=True)
    assert "of memory are free; make [model] smaller: its width, its layers, or the vocabulary" in str(told.value)
    assert not (tmp_path / "run").exists()


def test_one_beyond_all_numbers_too(tmp_path):
    with pytest.raises(ConfigError, match="take more bytes than can be counted"):
        api.check(COPY, overrides={"model.width": 4 * 10**18})


def test_layers_without_end_are_refused_soon(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "MOST", 100)
    with pytest.raises(ConfigError, match=r"this 'transformer' would have more than 100 tensors of weights"):
        api.check(COPY, overrides={"model.layers": 10**9})


def test_what_is_free_decides(monkeypatch):
    config = api.prepare_job(COPY, out="never").recipe.model
    monkeypatch.setattr(room, "free_memory", lambda: 1000)
    with pytest.raises(ConfigError, match=r"take 0 MB, and 0 MB of memory are free"):
        build_empty_model(config)
    size = sum(weight.nbytes for weight in nn.Linear(5, 3).parameters())
    for copies, fits in ((1, True), (3, False)):
        monkeypatch.setattr(room, "free_memory", lambda: size + 7)
        if fits:
            with room.room_for(config, copies=copies):
                nn.Linear(5, 3)
        else:
            with pytest.raises(ConfigError, match="3 times"), room.room_for(config, copies=copies):
                nn.Linear(5, 3)


def test_tied_weights_count_once(monkeypatch):
    config = api.prepare_job(COPY, out="never").recipe.model
    first = nn.Linear(5, 5)
    monkeypatch.setattr(room, "free_memory", lambda: 2 * first.weight.nbytes)
    with room.room_for(config):
        for _ in range(9):
            nn.Linear(1, 1, bias=False).weight = first.weight


def test_other_errors_pass_and_nothing_is_counted_afterwards(monkeypatch):
    config = api.prepare_job(COPY, out="never").recipe.model
    with pytest.raises(RuntimeError, match="shapes"), room.room_for(config):
        raise RuntimeError("shapes differ")
    monkeypatch.setattr(room, "free_memory", lambda: 0)
    nn.Linear(50, 50)
    assert torch.empty(0).device.type == "cpu", "the meta device is closed again"
