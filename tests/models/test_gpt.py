"""GPT: equal to GPT-2 on the same weights, blind to the future and to other documents, the same step by step."""

import pytest
import torch
from torch.testing import assert_close

from jumok.errors import ConfigError
from jumok.models.gpt import GPT, GPTConfig
from jumok.nn.batch import TextBatch

CLOSE = {"atol": 1e-5, "rtol": 1e-5}
SIZES = {"vocabulary": 31, "layers": 2, "width": 24, "heads": 3, "feedforward": 17, "window": 12}


def build(**changes):
    torch.manual_seed(3)
    return GPT(GPTConfig(**SIZES | changes)).eval()


def text(tokens, documents=None):
    return TextBatch(tokens, tokens, documents)


@pytest.fixture
def tokens():
    return torch.randint(0, 31, (3, 12), generator=torch.Generator().manual_seed(1))


def copy_of_gpt2(theirs):
    """Return our model with the weights of Hugging Face's; its linear layers are stored the other way round."""
    ours, weights = build(activation="gelu-tanh"), theirs.state_dict()
    with torch.no_grad():
        ours.embed.table.weight.copy_(weights["transformer.wte.weight"])
        ours.embed.positions.table.copy_(weights["transformer.wpe.weight"])
        for number, layer in enumerate(ours.stack.layers):
            parts = {
                "ln_1": layer.around_attention.norm, "attn.c_attn": layer.attention.query_key_value,
                "attn.c_proj": layer.attention.output, "ln_2": layer.around_feedforward.norm,
                "mlp.c_fc": layer.feedforward.expand, "mlp.c_proj": layer.feedforward.contract,
            }  # fmt: skip
            for name, part in parts.items():
                weight = weights[f"transformer.h.{number}.{name}.weight"]
                part.weight.copy_(weight.T if weight.dim() == 2 else weight)
                part.bias.copy_(weights[f"transformer.h.{number}.{name}.bias"])
        ours.stack.final.weight.copy_(weights["transformer.ln_f.weight"])
        ours.stack.final.bias.copy_(weights["transformer.ln_f.bias"])
    return ours


def test_logits_equal_gpt2s(tokens):
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=31, n_positions=12, n_embd=24, n_layer=2, n_head=3, n_inner=17, bos_token_id=1, eos_token_id=1
    )
    torch.manual_seed(5)
    theirs = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))  # norms and biases start at 1 and 0: too easy
        assert_close(copy_of_gpt2(theirs)(text(tokens)), theirs(tokens).logits, **CLOSE)


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "sinusoidal-halves", "index", "none"])
def test_steps_equal_one_pass(tokens, positions):
    model = build(positions=positions)
    whole = model(text(tokens))
    logits, state = model.extend(tokens[:, :5], model.start(model.encode(tokens)))
    steps = [logits]
    for place in range(5, 12):
        logits, state = model.extend(tokens[:, place : place + 1], state)
        steps.append(logits)
    assert_close(torch.cat(steps, dim=1), whole, **CLOSE)


def test_the_future_changes_nothing(tokens):
    model, changed = build(), tokens.clone()
    changed[:, 7:] = (changed[:, 7:] + 1) % 31
    before, after = model(text(tokens)), model(text(changed))
    assert torch.equal(before[:, :7], after[:, :7])
    assert not torch.allclose(before[:, 7:], after[:, 7:])


def test_separate_documents_do_not_see_each_other(tokens):
    model, changed = build(), tokens.clone()
    changed[:, :5] = (changed[:, :5] + 1) % 31
    documents = torch.tensor([[1] * 5 + [2] * 7]).expand(3, -1)
    before, after = model(text(tokens, documents)), model(text(changed, documents))
    assert_close(before[:, 5:], after[:, 5:], **CLOSE)
    assert not torch.allclose(before[:, :5], after[:, :5])
    assert not torch.allclose(model(text(tokens))[:, 5:], before[:, 5:])
    assert_close(model(text(tokens, torch.ones_like(tokens))), model(text(tokens)), **CLOSE)


def test_tied_or_not_and_what_each_size_costs():
    def count(**changes):
        return sum(parameter.numel() for parameter in build(**changes).parameters())

    assert count(tied=False) - count() == 31 * 24
    assert count(window=20) - count() == 8 * 24
    assert count(window=20, positions="sinusoidal") == count() - 12 * 24


def test_gpt2_has_the_size_of_gpt2():
    with torch.device("meta"):
        model = GPT(GPTConfig(preset="gpt2", vocabulary=50257))
    assert sum(parameter.numel() for parameter in model.parameters()) == 124_439_808


def test_heads_must_share_the_width():
    with pytest.raises(
        ConfigError, match=r"model.width \(25\) must be a multiple of model.heads \(3\); the nearest below is 24"
    ):
        GPTConfig.parse(SIZES | {"width": 25}, "model")
