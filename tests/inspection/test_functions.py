"""F.scaled_dot_product_attention inside a model of one's own: recorded wherever it stands, and only there."""

import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

import jumok
from jumok.inspection.calls import innermost_call
from jumok.nn.attention import SelfAttention

B, H, T, D = 2, 4, 5, 12


class Attention(nn.Module):
    """Attention with options; its keys may have fewer heads."""

    def __init__(self, key_heads=H, **options):
        super().__init__()
        self.key_heads, self.options = key_heads, options
        self.q, self.k, self.v = nn.Linear(D, D), *(nn.Linear(D, D // H * key_heads) for _ in range(2))
        self.out = nn.Linear(D, D)

    def forward(self, x, memory=None, mask=None):
        memory = x if memory is None else memory
        query = self.q(x).view(len(x), -1, H, D // H).transpose(1, 2)
        key, value = (one(memory).view(len(x), -1, self.key_heads, D // H).transpose(1, 2) for one in (self.k, self.v))
        options = {name: one() if callable(one) else one for name, one in self.options.items()}
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, **options)
        return self.out(mixed.transpose(1, 2).flatten(2))


class Model(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(D), Attention(**options)) for _ in range(2))

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x


def observed(model, *given, **named):
    """Return the only map of a call that must not change."""
    torch.manual_seed(5)
    plain = model(*given, **named)
    torch.manual_seed(5)
    with jumok.observe(model) as record:
        assert model(*given, **named).equal(plain), "the function runs as it would"
    (found,) = record.maps
    return found


def read_off(layer, x, memory=None, mask=None):
    """Return the weights that the function really uses: its answer where each value is the mark of its key."""
    memory = x if memory is None else memory
    query = layer.q(x).view(len(x), -1, H, D // H).transpose(1, 2)
    key = layer.k(memory).view(len(x), -1, layer.key_heads, D // H).transpose(1, 2)
    marks = torch.eye(memory.shape[1]).expand(*key.shape[:2], -1, -1)
    options = {name: one for name, one in layer.options.items() if name != "dropout_p"}
    return F.scaled_dot_product_attention(query, key, marks, attn_mask=mask, **options)


BOOLEAN = torch.rand(B, 1, T, T, generator=torch.Generator().manual_seed(1)) > 0.4
FLOAT = torch.randn(1, H, T, T, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize(
    ("options", "mask", "kind"),
    [
        ({}, None, "self"),
        ({}, BOOLEAN | torch.eye(T, dtype=torch.bool), "self"),
        ({}, BOOLEAN[:, :, :1], "self"),
        ({}, FLOAT, "self"),
        ({}, torch.full((T, T), -torch.inf).triu(1), "decoder"),
        ({"is_causal": True}, None, "decoder"),
        ({"scale": 0.7}, None, "self"),
        ({"key_heads": 2, "enable_gqa": True}, None, "self"),
        ({"key_heads": 1, "enable_gqa": True, "is_causal": True, "scale": 2.0}, None, "decoder"),
        ({"dropout_p": 0.5}, None, "self"),
    ],
)
@torch.no_grad()
def test_weights_are_those_that_the_function_uses(options, mask, kind):
    torch.manual_seed(1)
    layer, x = Attention(**options), torch.randn(B, T, D)
    found = observed(layer, x, mask=mask)
    assert (found.kind, found.weights.shape) == (kind, (B, H, T, T))
    assert_close(found.weights, read_off(layer, x, mask=mask))


@torch.no_grad()
def test_a_query_that_may_look_at_nothing_is_zeros():
    mask = torch.ones(B, 1, T, T, dtype=torch.bool)
    mask[1, :, 2] = False
    weights = observed(Attention(), torch.randn(B, T, D), mask=mask).weights
    assert not weights[1, :, 2].any()
    assert_close(weights[0].sum(dim=-1), torch.ones(H, T))


@torch.no_grad()
def test_paths_and_layers_are_those_of_the_modules_that_are_called():
    model = Model(is_causal=True)
    with jumok.observe(model) as record:
        model(torch.randn(B, T, D))
    assert [(found.path, found.layer, found.kind) for found in record.maps] == [
        ("blocks.0.1", 0, "decoder"),
        ("blocks.1.1", 1, "decoder"),
    ]


@torch.no_grad()
@pytest.mark.parametrize("length", [3, T])
def test_attention_to_another_sequence_is_told_by_what_the_module_is_given(length):
    layer, memory = Attention(), torch.randn(B, length, D)
    assert observed(layer, torch.randn(B, T, D), memory).kind == "cross"


@torch.no_grad()
def test_steps_with_a_cache_keep_their_kind():
    class Cached(nn.Module):
        def forward(self, x, cache=None):
            keys = x if cache is None else torch.cat([cache, x], dim=1)
            return F.scaled_dot_product_attention(x, keys, keys, is_causal=cache is None), keys

    model, x = Cached(), torch.randn(1, T, D)
    with jumok.observe(model) as record:
        _, cache = model(x[:, :3])
        for step in (3, 4):
            _, cache = model(x[:, step : step + 1], cache)
    assert [found.kind for found in record.maps] == ["decoder"] * 3
    assert [found.weights.shape[2:] for found in record.maps] == [(3, 3), (1, 4), (1, 5)]


@pytest.mark.parametrize("shape", [(T, 3), (B, T, 3), (B, 3, H, T, 3)])
@torch.no_grad()
def test_whatever_axes_stand_before_the_queries(shape):
    class Bare(nn.Module):
        def forward(self, x):
            return F.scaled_dot_product_attention(x, x, x)

    expected = {2: (1, 1, T, T), 3: (B, 1, T, T), 5: (B * 3, H, T, T)}
    assert observed(Bare(), torch.randn(shape)).weights.shape == expected[len(shape)]


@torch.no_grad()
def test_numbers_of_16_bits_are_read_with_32():
    found = observed(Attention().bfloat16(), torch.randn(B, T, D).bfloat16())
    assert found.weights.dtype == torch.float32


@torch.no_grad()
def test_nothing_is_recorded_outside_of_the_models_calls():
    ours, other, x = Attention(), Attention(), torch.randn(B, T, D)
    with jumok.observe(ours) as record:
        F.scaled_dot_product_attention(x, x, x)
        other(x)
        thread = threading.Thread(target=ours, args=(x,))
        thread.start()
        thread.join()
        assert not record.maps
        assert not torch.overrides._get_current_function_mode_stack()
        ours(x)
        assert len(record.maps) == 1
    assert not torch.overrides._get_current_function_mode_stack()
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in ours.modules())


@torch.no_grad()
def test_the_innermost_block_files_a_call_once():
    model, x = Model(), torch.randn(B, T, D)
    with jumok.observe(model) as outer, jumok.observe(model.blocks[1]) as inner:
        model(x)
    assert [[found.path for found in record.maps] for record in (outer, inner)] == [["blocks.0.1"], ["1"]]


@torch.no_grad()
def test_layers_of_jumok_torch_and_ones_own_are_each_recorded_once():
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.ours, self.own = SelfAttention(D, H, kind="encoder"), Attention()
            self.torchs = nn.MultiheadAttention(D, H, batch_first=True)

        def forward(self, x):
            return self.own(self.ours(x)) + self.torchs(x, x, x, need_weights=False)[0]

    model = Mixed().eval()
    with jumok.observe(model) as record:
        model(torch.randn(B, T, D))
    assert [(found.path, found.kind) for found in record.maps] == [
        ("ours", "encoder"),
        ("own", "self"),
        ("torchs", "self"),
    ]


@torch.no_grad()
def test_a_model_of_hugging_face_inside_a_model_of_ones_own():
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=41, hidden_size=D, num_hidden_layers=1, num_attention_heads=H, intermediate_size=17
    )

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.bert, self.own = transformers.BertModel(config), Attention()

        def forward(self, ids):
            return self.own(self.bert(ids)[0])

    model = Tagger().eval()
    with jumok.observe(model) as record:
        model(torch.randint(41, (1, 6)))
    assert [found.path for found in record.maps] == ["bert.encoder.layer.0.attention.self", "own"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_after_an_error_functions_are_no_longer_seen(error):
    class Failing(Model):
        def forward(self, x):
            super().forward(x)
            raise error

    model = Failing()
    with pytest.raises(error), jumok.observe(model):
        model(torch.randn(B, T, D))
    assert not torch.overrides._get_current_function_mode_stack()
    assert innermost_call() is None
    with jumok.observe(model.blocks) as record, torch.no_grad():
        model.blocks[0](torch.randn(B, T, D))
    assert [found.path for found in record.maps] == ["0.1"]


def test_gradients_are_the_same_and_maps_hold_no_graph():
    torch.manual_seed(1)
    model, x = Model(), torch.randn(B, T, D)
    model(x).square().sum().backward()
    plain = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    with jumok.observe(model) as record:
        model(x).square().sum().backward()
    assert all(parameter.grad.equal(grad) for parameter, grad in zip(model.parameters(), plain, strict=True))
    assert not record.maps[0].weights.requires_grad


@torch.no_grad()
def test_an_exported_model_is_recorded():
    model, x = Model(), torch.randn(B, T, D)
    exported = torch.export.export(model, (x,)).module()
    with jumok.observe(model) as plain, jumok.observe(exported) as record:
        model(x)
        exported(x)
    assert [found.weights.shape for found in record.maps] == [(B, H, T, T)] * 2
    assert_close(record.maps[1].weights, plain.maps[1].weights)


@pytest.mark.filterwarnings("ignore")
def test_a_scripted_model_is_refused_with_a_sentence():
    traced = torch.jit.trace(Model(), torch.randn(B, T, D))
    with pytest.raises(jumok.JumokError, match=r"scripted or traced model.* observe the model that it was made from"):
        jumok.observe(traced).__enter__()
