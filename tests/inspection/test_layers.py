"""Whole layers: what was recorded of a layer is enough to compute it again, sublayer by sublayer, for every kind of norm."""

import pytest
import torch
import torch.nn.functional as F
from inspection.test_observe import pair_batch
from torch.testing import assert_close

from jumok.inspection.observe import observe
from jumok.models.bert import Bert
from jumok.models.gpt import GPT
from jumok.models.transformer import Transformer
from jumok.models.vit import ViT
from jumok.nn.batch import ImageBatch, LabelBatch, TextBatch
from jumok.nn.feedforward import FUNCTIONS

VARIANTS = [
    {},
    {"norm_position": "pre"},
    {"norm": "batch"},
    {"residual": False, "activation": "gelu"},
    {"feedforward": 0},
    {"middle_feedforward": True, "positions": "learned"},
    {"positions": "none"},
]


def transformer(**options):
    torch.manual_seed(3)
    sizes = {
        "source_vocabulary": 23,
        "target_vocabulary": 29,
        "layers": 2,
        "decoder_layers": 3,
        "width": 12,
        "heads": 3,
    }
    model = Transformer(Transformer.Config(**({"feedforward": 7} | sizes | options))).eval()
    return spread(model)


def spread(model):
    """Return a model whose norms are not those of the first step, so that a wrong one is noticed."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name or name.endswith("bias") or "final" in name:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def normed(x, norm):
    if norm.mean is None:
        return F.layer_norm(x, x.shape[-1:], norm.scale, norm.shift, norm.epsilon)
    return (x - norm.mean) / (norm.variance + norm.epsilon).sqrt() * norm.scale + norm.shift


def passed(layer, read=None):
    """Return what a layer hands on, computed from what its sublayers added; read is told each sublayer's input."""
    stream = layer.before
    for one in layer.sublayers:
        given = normed(stream, one.norm) if one.pre else stream
        if read is not None:
            read(one, given)
        summed = stream + one.output if one.residual else one.output
        stream = summed if one.pre else normed(summed, one.norm)
    return stream


def check_feedforward(one, given):
    """A feed-forward is its matrices, and its activation between them."""
    if one.hidden is not None:
        expand, contract = one.matrices["expand"], one.matrices["contract"]
        assert_close(one.hidden, F.linear(given, expand.weight, expand.bias))
        bent = FUNCTIONS[one.activation](one.hidden)
        assert_close(one.output, F.linear(bent, contract.weight, contract.bias))


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_every_layer_can_be_computed_again(options):
    model = transformer(**options)
    batch = pair_batch((7,), (5,)) if options.get("norm") == "batch" else pair_batch()
    with torch.no_grad(), observe(model, details=True) as record:
        logits = model(batch)
    assert [layer.path for layer in record.layers] == [
        *(f"encoder.layers.{n}" for n in range(2)),
        *(f"decoder.layers.{n}" for n in range(3)),
    ]
    details = {found.path: found.details for found in record.maps}
    for layer in record.layers:
        after = passed(layer, check_feedforward)
        assert_close(after, layer.after)
        for one in layer.sublayers:
            if one.path in details:
                assert_close(one.output, details[one.path].output)
    for first, second in zip(record.layers[2:], record.layers[3:], strict=False):
        assert first.after.equal(second.before)
    last = record.layers[-1]
    final = last.after if last.final is None else normed(last.after, last.final)
    assert_close(model.project(final), logits)


@pytest.mark.parametrize("norm_position", ["pre", "post"])
def test_queries_keys_and_values_come_from_the_matrices(norm_position):
    model = transformer(norm_position=norm_position)
    with torch.no_grad(), observe(model, details=True) as record:
        model(pair_batch())
    details = {found.path: found.details for found in record.maps}
    states = {}

    def check(one, given):
        if one.path not in details:
            return
        found, sources = details[one.path], {"query": given, "key": given, "value": given}
        if one.path.endswith("cross"):
            sources |= dict.fromkeys(("key", "value"), states["memory"])
        for name, source in sources.items():
            matrix = one.matrices[name]
            heads = F.linear(source, matrix.weight, matrix.bias).unflatten(-1, (3, -1)).transpose(1, 2)
            assert_close(heads, getattr(found, name))

    for layer in record.layers:
        after = passed(layer, check)
        if layer.path.startswith("encoder"):
            states["memory"] = after if layer.final is None else normed(after, layer.final)


def test_the_first_layer_knows_what_its_input_was_made_of():
    model = transformer()
    with torch.no_grad(), observe(model, details=True) as record:
        model(pair_batch())
    tables = {table.path: table.table for table in record.positions}
    for layer in (record.layers[0], record.layers[2]):
        assert_close(layer.embedded + tables[layer.positions][: layer.embedded.shape[1]], layer.before)
    assert record.layers[1].embedded is None
    cut = record.layers[2].cut(3, row=1)
    assert (cut.before.shape, cut.embedded.shape) == ((3, 12), (3, 12))
    assert_close(passed(cut), cut.after)


@pytest.mark.parametrize("name", ["bert", "gpt", "vit"])
def test_other_models_hand_over_their_layers(name):
    torch.manual_seed(1)
    sizes = {"layers": 2, "width": 12, "heads": 3, "feedforward": 7}
    ids = torch.randint(5, 19, (2, 5))
    real = torch.ones(2, 5, dtype=torch.bool)
    made = {
        "bert": lambda: (Bert(Bert.Config(vocabulary=19, classes=3, **sizes)), LabelBatch(ids, real, torch.zeros(2).long())),
        "gpt": lambda: (GPT(GPT.Config(vocabulary=19, **sizes)), TextBatch(ids, ids)),
        "vit": lambda: (ViT(ViT.Config(image_size=8, channels=3, classes=3, patch_size=4, **sizes)), ImageBatch(torch.rand(2, 3, 8, 8), torch.zeros(2).long())),
    }  # fmt: skip
    model, batch = made[name]()
    spread(model.eval())
    plain = model(batch)
    with torch.no_grad(), observe(model, details=True) as record:
        assert_close(model(batch), plain, rtol=1e-4, atol=1e-5)
    assert len(record.layers) == 2
    for layer in record.layers:
        assert_close(passed(layer, check_feedforward), layer.after)
    assert record.layers[0].embedded.shape == (2, 4 if name == "vit" else 5, 12)
    assert (record.layers[1].final is None) == (name == "bert")


def test_nothing_is_kept_unasked_and_no_hook_stays_behind():
    model = transformer()
    with observe(model) as record:
        model(pair_batch())
    assert record.layers == []
    with observe(model, details=True, keep=False) as record:
        model(pair_batch())
    assert record.layers == []
    with observe(model, details=True):
        assert any(module._forward_hooks for module in model.modules())
    assert not any(module._forward_hooks for module in model.modules())


def test_only_the_observed_model_is_recorded():
    model, other = transformer(), transformer()
    with observe(model, details=True) as record:
        other(pair_batch())
        with observe(model, details=True) as inner:
            model(pair_batch())
    assert record.layers == []
    assert len(inner.layers) == 5
