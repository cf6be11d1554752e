"""The attention of other people's models: torch's own layers and Hugging Face's, observed and left as they were."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import jumok

D, H = 24, 4


def rows_sum_to_one(record):
    return all(torch.allclose(found.weights.sum(dim=-1), torch.ones(()), atol=1e-5) for found in record.maps)


@pytest.fixture
def transformer():
    torch.manual_seed(1)
    return nn.Transformer(D, H, 2, 3, 17, dropout=0.0, batch_first=True).eval()


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("gradients", [False, True])
def test_a_transformer_of_torch(transformer, gradients):
    source, target = torch.randn(2, 7, D), torch.randn(2, 5, D)
    hidden = torch.arange(7) >= torch.tensor([[7], [4]])  # torch's own convention: True = hidden
    ahead = nn.Transformer.generate_square_subsequent_mask(5)

    def run():
        with torch.set_grad_enabled(gradients):
            return transformer(
                source, target, tgt_mask=ahead, tgt_is_causal=True, src_key_padding_mask=hidden,
                memory_key_padding_mask=hidden,
            )  # fmt: skip

    plain = run()
    with jumok.observe(transformer) as record:
        observed = run()
    assert_close(observed, plain, atol=1e-5, rtol=1e-5)
    assert [(found.kind, found.layer) for found in record.maps] == [
        ("encoder", 0), ("encoder", 1),
        ("decoder", 0), ("cross", 0), ("decoder", 1), ("cross", 1), ("decoder", 2), ("cross", 2),
    ]  # fmt: skip
    assert record.maps[3].path == "decoder.layers.0.multihead_attn"
    assert rows_sum_to_one(record)
    encoder, decoder, cross = record.maps[0].weights, record.maps[2].weights, record.maps[3].weights
    assert encoder.shape == (2, H, 7, 7)
    assert cross.shape == (2, H, 5, 7)
    assert not encoder[1, :, :, 4:].any(), "padding is not looked at"
    assert not cross[1, :, :, 4:].any()
    assert not decoder.triu(1).any(), "nobody looks ahead"
    assert_close(run(), plain)
    hooks = [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in transformer.modules()]
    assert not any(hooks), "nothing is left on the model"


def test_a_layer_of_torch_hands_its_caller_what_was_asked_for():
    torch.manual_seed(1)
    layer = nn.MultiheadAttention(D, H, batch_first=True).eval()
    x, y = torch.randn(2, 5, D), torch.randn(2, 7, D)
    for options in ({}, {"need_weights": False}, {"average_attn_weights": False}):
        plain = layer(x, y, y, **options)
        with jumok.observe(layer) as record:
            observed = layer(x, y, y, **options)
        assert_close(observed[0], plain[0], atol=1e-5, rtol=1e-5)
        if plain[1] is None:
            assert observed[1] is None
        else:
            assert_close(observed[1], plain[1], atol=1e-5, rtol=1e-5)
        [found] = record.maps
        assert (found.kind, found.weights.shape) == ("cross", (2, H, 5, 7))
        assert_close(found.weights, layer(x, y, y, average_attn_weights=False)[1])
    with jumok.observe(layer) as record:
        layer(x, x, x)
        alone = x[0]  # without a batch
        layer(alone, alone, alone)
    assert [found.kind for found in record.maps] == ["self", "self"]
    assert record.maps[1].weights.shape == (1, H, 5, 5)


def test_a_query_that_may_look_at_nothing_is_zeros():
    layer = nn.MultiheadAttention(D, H, batch_first=True).eval()
    x = torch.randn(2, 3, D)
    with jumok.observe(layer) as record:
        layer(x, x, x, key_padding_mask=torch.tensor([[False, False, True], [True, True, True]]))
    assert not record.maps[0].weights[1].any()
    assert_close(record.maps[0].weights[0].sum(dim=-1), torch.ones(H, 3))


def test_only_the_observed_model_is_asked():
    one, other = (nn.MultiheadAttention(D, H, batch_first=True).eval() for _ in range(2))
    x = torch.randn(1, 4, D)
    with jumok.observe(one) as outer, jumok.observe(one) as inner:
        other(x, x, x)
        one(x, x, x)
    assert (len(outer.maps), len(inner.maps)) == (0, 1)


def test_after_an_error_the_model_is_as_before(transformer):
    def fail():
        with jumok.observe(transformer):
            transformer(torch.randn(1, 3, D), torch.randn(1, 3, D + 1))

    with pytest.raises(RuntimeError):
        fail()
    assert not any(len(module._forward_hooks) for module in transformer.modules())


def tiny(kind):
    """Return a tiny random model of transformers, its inputs and the kinds of its maps."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(1)
    ids, mask = torch.randint(5, 40, (2, 6)), torch.tensor([[1] * 6, [1, 1, 1, 0, 0, 0]])
    if kind == "bert":
        config = transformers.BertConfig(
            vocab_size=41, hidden_size=D, num_hidden_layers=2, num_attention_heads=H, intermediate_size=17
        )
        return transformers.BertModel(config).eval(), {"input_ids": ids, "attention_mask": mask}, ["encoder"] * 2
    if kind == "gpt2":
        config = transformers.GPT2Config(vocab_size=41, n_embd=D, n_layer=2, n_head=H, n_positions=9)
        return transformers.GPT2LMHeadModel(config).eval(), {"input_ids": ids}, ["decoder"] * 2
    if kind == "vit":
        config = transformers.ViTConfig(
            hidden_size=D, num_hidden_layers=2, num_attention_heads=H, intermediate_size=17, image_size=8, patch_size=4
        )
        return transformers.ViTModel(config).eval(), {"pixel_values": torch.randn(2, 3, 8, 8)}, ["encoder"] * 2
    config = transformers.MarianConfig(
        vocab_size=41, d_model=D, encoder_layers=1, decoder_layers=2, encoder_attention_heads=H,
        decoder_attention_heads=H, encoder_ffn_dim=17, decoder_ffn_dim=17, max_position_embeddings=16,
        pad_token_id=0, decoder_start_token_id=0, eos_token_id=1,
    )  # fmt: skip
    model = transformers.MarianMTModel(config).eval()
    inputs = {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": ids[:, :4]}
    return model, inputs, ["encoder", "decoder", "cross", "decoder", "cross"]


@pytest.mark.parametrize("kind", ["bert", "gpt2", "vit", "marian"])
def test_models_of_hugging_face(kind):
    model, inputs, kinds = tiny(kind)
    before = model.config._attn_implementation
    with torch.no_grad():
        plain = model(**inputs)[0]
        with jumok.observe(model) as record:
            observed = model(**inputs)[0]
        assert_close(observed, plain, atol=1e-5, rtol=1e-4)
        assert [found.kind for found in record.maps] == kinds
        assert rows_sum_to_one(record)
        assert all(found.weights.shape[1] == H for found in record.maps)
        assert model.config._attn_implementation == before
        assert_close(model(**inputs)[0], plain)
        model.set_attn_implementation("eager")
        theirs = model(**inputs, output_attentions=True)
    encoder = theirs.encoder_attentions if kind == "marian" else theirs.attentions
    assert_close(record.maps[0].weights, encoder[0])
    if kind == "marian":
        assert_close(record.maps[4].weights, theirs.cross_attentions[1])
        assert not record.maps[2].weights[1, :, :, 3:].any(), "padding is not looked at"
