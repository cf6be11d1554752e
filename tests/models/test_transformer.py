"""The Transformer beside torch.nn.Transformer and Hugging Face's Marian, and what each option changes."""

import pytest
import torch
from battery.conftest import make_batch, make_model
from pydantic import ValidationError
from torch.testing import assert_close

from jumok.errors import ConfigError
from jumok.models.transformer import Transformer, TransformerConfig
from jumok.nn.batch import PairBatch

SIZES = {"layers": 2, "width": 24, "heads": 3, "feedforward": 37, "dropout": 0.0}


def small(**changes) -> Transformer:
    torch.manual_seed(1)
    return Transformer(
        TransformerConfig(**{"source_vocabulary": 31, "target_vocabulary": 29, **SIZES, **changes})
    ).eval()


def shake(model):
    """Biases and norms start at zero and one: move them, so that a forgotten one shows."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))


@torch.no_grad()
def copy_layer(ours, theirs, *, decoder: bool) -> None:
    theirs.self_attn.in_proj_weight.copy_(ours.attention.query_key_value.weight)
    theirs.self_attn.in_proj_bias.copy_(ours.attention.query_key_value.bias)
    theirs.self_attn.out_proj.load_state_dict(ours.attention.output.state_dict())
    theirs.norm1.load_state_dict(ours.around_attention.norm.state_dict())
    theirs.linear1.load_state_dict(ours.feedforward.expand.state_dict())
    theirs.linear2.load_state_dict(ours.feedforward.contract.state_dict())
    if decoder:
        cross = ours.cross
        theirs.multihead_attn.in_proj_weight.copy_(torch.cat([cross.query.weight, cross.key_value.weight]))
        theirs.multihead_attn.in_proj_bias.copy_(torch.cat([cross.query.bias, cross.key_value.bias]))
        theirs.multihead_attn.out_proj.load_state_dict(cross.output.state_dict())
        theirs.norm2.load_state_dict(ours.around_cross.norm.state_dict())
    last = theirs.norm3 if decoder else theirs.norm2
    last.load_state_dict(ours.around_feedforward.norm.state_dict())


@pytest.mark.parametrize("norm_position", ["post", "pre"])
def test_parity_with_torch_nn_transformer(norm_position):
    model = small(norm_position=norm_position)
    shake(model)
    pre = norm_position == "pre"
    options = {"d_model": 24, "nhead": 3, "dim_feedforward": 37, "dropout": 0.0, "batch_first": True, "norm_first": pre}
    norms = [torch.nn.LayerNorm(24) if pre else None for _ in range(2)]
    encoder = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(**options), 2, norm=norms[0], enable_nested_tensor=False
    )
    decoder = torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(**options), 2, norm=norms[1])
    theirs = torch.nn.Transformer(d_model=24, nhead=3, custom_encoder=encoder, custom_decoder=decoder, batch_first=True)
    for ours, copy in zip(model.encoder.layers, theirs.encoder.layers, strict=True):
        copy_layer(ours, copy, decoder=False)
    for ours, copy in zip(model.decoder.layers, theirs.decoder.layers, strict=True):
        copy_layer(ours, copy, decoder=True)
    if pre:
        theirs.encoder.norm.load_state_dict(model.encoder.final.state_dict())
        theirs.decoder.norm.load_state_dict(model.decoder.final.state_dict())
    batch = make_batch()
    length = batch.inputs.shape[1]
    wanted = theirs(
        model.embed_source(batch.source),
        model.embed_target(batch.inputs),
        src_key_padding_mask=~batch.source_mask,
        memory_key_padding_mask=~batch.source_mask,
        tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
    )
    assert_close(model.features(batch)[batch.target_mask], wanted[batch.target_mask], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_parity_with_hugging_face_marian():
    from transformers import MarianConfig, MarianMTModel

    torch.manual_seed(2)
    config = MarianConfig(
        vocab_size=31, decoder_vocab_size=31, d_model=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=3,
        decoder_attention_heads=3, encoder_ffn_dim=37, decoder_ffn_dim=37, activation_function="silu", scale_embedding=True,
        pad_token_id=0, eos_token_id=3, decoder_start_token_id=2, forced_eos_token_id=None, dropout=0.0,
        max_position_embeddings=64, attn_implementation="eager",
    )  # fmt: skip
    theirs = MarianMTModel(config).eval()
    for name, parameter in theirs.named_parameters():
        if "embed_positions" not in name:
            parameter.add_(0.1 * torch.randn_like(parameter))
    theirs.final_logits_bias.normal_()
    ours = small(
        target_vocabulary=31,
        positions="sinusoidal-halves",
        activation="silu",
    )
    copied = theirs.model

    def attention(source):
        weights = torch.cat([source.q_proj.weight, source.k_proj.weight, source.v_proj.weight])
        return (
            weights,
            torch.cat([source.q_proj.bias, source.k_proj.bias, source.v_proj.bias]),
            source.out_proj.state_dict(),
        )

    ours.embed_source.table.weight.copy_(copied.shared.weight)
    ours.project.bias.copy_(theirs.final_logits_bias[0])
    for stack, layers in ((ours.encoder, copied.encoder.layers), (ours.decoder, copied.decoder.layers)):
        for mine, layer in zip(stack.layers, layers, strict=True):
            weight, bias, output = attention(layer.self_attn)
            mine.attention.query_key_value.weight.copy_(weight)
            mine.attention.query_key_value.bias.copy_(bias)
            mine.attention.output.load_state_dict(output)
            mine.around_attention.norm.load_state_dict(layer.self_attn_layer_norm.state_dict())
            mine.feedforward.expand.load_state_dict(layer.fc1.state_dict())
            mine.feedforward.contract.load_state_dict(layer.fc2.state_dict())
            mine.around_feedforward.norm.load_state_dict(layer.final_layer_norm.state_dict())
            if stack is ours.decoder:
                weight, bias, output = attention(layer.encoder_attn)
                mine.cross.query.weight.copy_(weight[:24])
                mine.cross.query.bias.copy_(bias[:24])
                mine.cross.key_value.weight.copy_(weight[24:])
                mine.cross.key_value.bias.copy_(bias[24:])
                mine.cross.output.load_state_dict(output)
                mine.around_cross.norm.load_state_dict(layer.encoder_attn_layer_norm.state_dict())
    batch = make_batch()
    wanted = theirs(
        input_ids=batch.source, attention_mask=batch.source_mask.long(), decoder_input_ids=batch.inputs
    ).logits
    assert_close(ours(batch)[batch.target_mask], wanted[batch.target_mask], atol=1e-5, rtol=1e-5)


OPTIONS = {
    "scaled": {"scaled": False},
    "heads": {"heads": 1},
    "positions none": {"positions": "none"},
    "positions index": {"positions": "index"},
    "positions halves": {"positions": "sinusoidal-halves"},
    "positions learned": {"positions": "learned"},
    "pre-norm": {"norm_position": "pre"},
    "batch norm": {"norm": "batch"},
    "residual": {"residual": False},
    "feed-forward": {"feedforward": 0},
    "middle feed-forward": {"middle_feedforward": True},
    "value width": {"value_width": 5},
    "head width": {"head_width": 5},
    "same depth": {"cross_attention": "same_depth"},
    "activation": {"activation": "gelu"},
}


@pytest.mark.parametrize("option", OPTIONS)
def test_each_option_changes_the_computation(option):
    assert not torch.allclose(small(**OPTIONS[option])(make_batch()), small()(make_batch()), atol=1e-3)


def parameters(**changes) -> int:
    return sum(parameter.numel() for parameter in small(**changes).parameters())


def test_options_change_the_parameters_they_should():
    base = parameters()
    assert parameters(tied=False) - base == 29 * 24
    assert parameters(feedforward=0) - base == -4 * (2 * 24 * 37 + 37 + 24 + 2 * 24)
    assert parameters(middle_feedforward=True) - base == 2 * (2 * 24 * 37 + 37 + 24 + 2 * 24)
    assert parameters(positions="learned", max_positions=50) - base == 2 * 50 * 24
    assert parameters(value_width=5) - base == -6 * (3 * 3 * (24 + 1) + 3 * 3 * 24)
    assert parameters(heads=1) == base
    shared = parameters(source_vocabulary=29)
    assert base - shared == 31 * 24
    assert parameters(source_vocabulary=29, shared_embeddings=False) - shared == 29 * 24


def test_presets_are_the_papers_and_single_keys_override():
    base = TransformerConfig(preset="base")
    assert (base.layers, base.width, base.feedforward, base.heads) == (6, 512, 2048, 8)
    tiny = TransformerConfig(preset="tiny", dropout=0.1)
    assert (tiny.layers, tiny.width, tiny.feedforward, tiny.heads, tiny.dropout) == (4, 128, 256, 4, 0.1)
    assert TransformerConfig(preset="big").width == 1024
    with pytest.raises(ConfigError, match="did you mean 'tiny'"):
        TransformerConfig(preset="tinny")


def test_same_depth_looks_at_the_encoder_layer_of_its_own_depth():
    model = small(cross_attention="same_depth")
    batch = make_batch()
    before = model(batch)
    with torch.no_grad():  # cut the last encoder layer out of what the first decoder layer reads
        model.encoder.layers[1].feedforward.contract.bias.add_(5.0)
        model.encoder.layers[1].attention.output.bias.add_(3.0)
    memory = model.encode(batch)
    first = model.decoder.layers[0].cross.remember(memory.layers[0])
    assert_close(model.decoder.remember(model.attended(memory))[0][0], first[0])
    assert not torch.allclose(
        model.decoder.remember(model.attended(memory))[1][0],
        model.decoder.layers[1].cross.remember(memory.layers[0])[0],
    )
    assert not torch.allclose(model(batch), before)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 25}, r"model.width \(25\) must be a multiple of model.heads \(3\); the nearest below is 24"),
        ({"position_join": "concatenate"}, "set model.tied = false"),
        ({"position_join": "concatenate", "tied": False, "position_width": 24}, "must be below model.width"),
        ({"cross_attention": "same_depth", "encoder_layers": 3}, "as many encoder as decoder layers, not 3 and 2"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        small(**changes)


def test_unknown_options_are_refused():
    with pytest.raises(ValidationError):
        TransformerConfig(widht=3)
    with pytest.raises(ConfigError, match=r"\[model\] has no key 'widht'; did you mean 'width'"):
        TransformerConfig.parse({"widht": 3}, "model")


def test_residuals_carry_positions_up_the_stack():
    """Without residuals, norms and feed-forward, nothing but attention is left: equal tokens become equal states."""
    model = make_model("transformer", "no positions", residual=False)
    source = torch.full((1, 5), 7)
    batch = PairBatch(source, source > 0, source, source, source > 0)
    states = model.encode(batch).states
    assert_close(states[0, 0], states[0, 4])
