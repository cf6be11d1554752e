"""Details of torch's layers, of Hugging Face's and of calls of F.scaled_dot_product_attention."""

import pytest
import torch
from inspection.test_architectures import architectures
from inspection.test_details import by_hand
from inspection.test_functions import FLOAT, Attention
from torch import nn
from torch.testing import assert_close

import jumok

B, H, T, D = 2, 4, 5, 12
CANNOT = r"The details of some maps could not be kept: their weights are not softmax\(q · k · scale\) .*: "


def check_details(record):
    for found in record.maps:
        weights, _ = by_hand(found.details)
        assert_close(torch.nan_to_num(weights), found.weights, atol=1e-4, rtol=0)
        assert not found.details.value.requires_grad


@pytest.mark.parametrize("name", ["BERT", "ALBERT", "GPT-2", "Llama", "Gemma 3", "BART", "Marian", "ViT"])
@torch.no_grad()
def test_layers_of_hugging_face(name):
    model, inputs = architectures.make_model(name), architectures.make_inputs(name)
    plain = model(**inputs)[0]
    with jumok.observe(model, details=True) as record:
        assert_close(model(**inputs)[0], plain, atol=1e-3, rtol=1e-3)
    check_details(record)
    sums = [by_hand(found.details)[1] for found in record.maps]
    layers = [model.get_submodule(found.path) for found in record.maps]
    projections = [getattr(layer, "out_proj", None) or getattr(layer, "o_proj", None) for layer in layers]
    for found, mixed, project in zip(record.maps, sums, projections, strict=True):
        if project is not None:
            assert_close(project(mixed), found.details.output, atol=1e-3, rtol=1e-3)


@torch.no_grad()
def test_where_a_bias_is_added_a_sentence_says_so():
    model = architectures.make_model("T5")
    said = CANNOT + "encoder.block.0.layer.0.SelfAttention, .* and 1 more$"
    with pytest.warns(UserWarning, match=said), jumok.observe(model, details=True) as record:
        model(**architectures.make_inputs("T5"))
    assert {found.kind for found in record.maps if found.details is not None} == {"cross"}, "which has no bias"
    check_details(jumok.AttentionRecord(record.of_kind("cross")))


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("options", [{}, {"bias": False}, {"kdim": 7, "vdim": 7}])
@torch.no_grad()
def test_layers_of_torch(options, batch_first):
    torch.manual_seed(1)
    layer = nn.MultiheadAttention(D, H, batch_first=batch_first, **options).eval()
    x, memory = torch.randn(B, T, D), torch.randn(B, 3, options.get("kdim", D))
    hidden = torch.tensor([[False, False, True], [False] * 3])
    given = [one if batch_first else one.transpose(0, 1) for one in (x, memory, memory)]
    with jumok.observe(layer, details=True) as record:
        output, _ = layer(*given, key_padding_mask=hidden)
    check_details(record)
    (found,) = record.maps
    assert_close(layer.out_proj(by_hand(found.details)[1]), found.details.output)
    assert_close(found.details.output, output if batch_first else output.transpose(0, 1))
    with jumok.observe(layer, details=True) as record:
        layer(*(one[0] if batch_first else one[:, 0] for one in given))
    check_details(record)


@torch.no_grad()
def test_a_layer_that_adds_a_key_of_its_own_says_so():
    layer, x = nn.MultiheadAttention(D, H, add_zero_attn=True, batch_first=True).eval(), torch.randn(B, T, D)
    with pytest.warns(UserWarning, match=CANNOT), jumok.observe(layer, details=True) as record:
        layer(x, x, x)
    assert record.maps[0].details is None


@pytest.mark.parametrize("options", [{}, {"is_causal": True, "scale": 0.7}, {"key_heads": 2, "enable_gqa": True}])
@torch.no_grad()
def test_functions(options):
    layer, x = Attention(**options), torch.randn(B, T, D)
    with jumok.observe(layer, details=True) as record:
        output = layer(x)
    check_details(record)
    details = record.maps[0].details
    assert_close(by_hand(details)[1], details.output)
    assert_close(layer.out(details.output), output)


@torch.no_grad()
def test_a_function_with_a_bias_says_so():
    layer = Attention()
    with pytest.warns(UserWarning, match=CANNOT), jumok.observe(layer, details=True) as record:
        layer(torch.randn(B, T, D), mask=FLOAT)
    assert record.maps[0].details is None
