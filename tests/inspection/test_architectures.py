"""Every architecture of Hugging Face that observe claims gives exactly the weights of output_attentions."""

import sys
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

import jumok

pytest.importorskip("transformers")
sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
architectures = pytest.importorskip("architectures")
sys.path.pop(0)


@pytest.mark.parametrize("name", architectures.ARCHITECTURES)
def test_maps_are_those_of_output_attentions(name):
    record, difference = architectures.compare(name)
    assert difference == 0.0
    sums = [found.weights.sum(dim=-1) for found in record.maps]
    assert all(torch.allclose(one, torch.ones(()), atol=1e-5) for one in sums)
    assert all(one.weights.std(dim=-1).amax() > 0.01 for one in record.maps), "even weights would prove nothing"
    for kind in record.kinds:
        layers = [found.layer for found in record.of_kind(kind)]
        assert "Swin" in name or layers == list(range(len(layers))), "each block's number, none missing"


@pytest.mark.parametrize("name", architectures.ARCHITECTURES)
@torch.no_grad()
def test_outputs_stay_the_same_and_the_model_is_left_as_it_was(name):
    model, inputs = architectures.make_model(name), architectures.make_inputs(name)
    before = model.config._attn_implementation
    plain = model(**inputs)[0]
    with jumok.observe(model):
        assert_close(model(**inputs)[0], plain, atol=1e-3, rtol=1e-3)
    assert model.config._attn_implementation == before
    assert model(**inputs)[0].equal(plain)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_kinds_of_a_t5():
    record, _ = architectures.compare("T5")
    assert [(found.kind, found.layer) for found in record.maps] == [
        ("encoder", 0), ("encoder", 1), ("encoder", 2), ("decoder", 0), ("cross", 0), ("decoder", 1), ("cross", 1),
    ]  # fmt: skip
    assert record.maps[4].path == "decoder.block.0.layer.1.EncDecAttention"
    assert record.maps[4].weights.shape == (2, architectures.HEADS, architectures.TARGET, architectures.SOURCE)


def test_layers_that_share_their_weights_are_counted():
    record, _ = architectures.compare("ALBERT")
    assert [found.layer for found in record.maps] == [0, 1, 2]
    assert len({found.path for found in record.maps}) == 1


def test_in_training_mode_weights_are_those_after_dropout():
    model = architectures.make_model("T5").train()
    with jumok.observe(model) as record:
        model(**architectures.make_inputs("T5"))
    assert [found.weights.shape[0] for found in record.maps] == [2] * 7, (
        "biases, which are (1, H, Q, K), are not taken for them"
    )
    assert not torch.allclose(record.maps[0].weights.sum(dim=-1), torch.ones(()), atol=1e-3)


def test_what_is_no_attention_is_refused_by_name():
    transformers = pytest.importorskip("transformers")
    config = transformers.XLNetConfig(vocab_size=61, d_model=24, n_layer=1, n_head=4, d_inner=17)
    model = transformers.XLNetModel(config).eval()  # returns its weights with the batch behind
    said = (
        r"layer.0.rel_attn \(XLNetRelativeAttention\) gave numbers \(7, 7, 2, 4\) that are no attention weights: a row"
    )
    with pytest.raises(jumok.JumokError, match=said), jumok.observe(model):
        model(torch.randint(5, 61, (2, 7)))


def test_parts_that_attend_in_different_ways_do_so_again():
    model = architectures.make_model("BART")
    model.model.decoder.config = type(model.config)(**model.config.to_dict())  # a configuration of its own
    model.model.decoder.set_attn_implementation("eager")
    model.model.encoder.config = type(model.config)(**model.config.to_dict())
    model.model.encoder.set_attn_implementation("sdpa")
    parts = (model, model.model.encoder, model.model.decoder)
    before = [part.config._attn_implementation for part in parts]
    assert len(set(before)) == 2
    with jumok.observe(model):
        assert {part.config._attn_implementation for part in parts} == {"eager"}
    assert [part.config._attn_implementation for part in parts] == before
