"""The flat stack: the numbers of the modules, for any plain layers and rows of any lengths; the modules where it does not fit."""

import copy

import pytest
import torch
from torch.testing import assert_close

from jumok.decoding.lean import LARGE, LeanStack, lay_out, linear
from jumok.inspection.observe import observe
from jumok.models.gpt import GPT, GPTConfig

CLOSE = {"atol": 1e-5, "rtol": 1e-4}
VARIANTS = {
    "pre-norm": {},
    "post-norm": {"norm_position": "post", "norm_epsilon": 1e-3},
    "no feed-forward": {"feedforward": 0},
    "relu": {"activation": "relu"},
    "gelu-tanh": {"activation": "gelu-tanh"},
    "silu, one layer": {"activation": "silu", "layers": 1, "output_bias": True},
}


def make(**options):
    torch.manual_seed(3)
    sizes = {"layers": 3, "width": 22, "heads": 2, "feedforward": 17, "window": 19, "vocabulary": 31}
    model = GPT(GPTConfig(**{**sizes, **options})).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def walk(model):
    """Return the logits of rows that begin together, are reordered, joined by others and go on at different lengths."""
    draw = torch.Generator().manual_seed(5)

    def tokens(rows, new):
        return torch.randint(4, 31, (rows, new), generator=draw)

    found = []
    with torch.inference_mode():
        state = model.start(model.encode(torch.zeros(3, 1, dtype=torch.int64)))
        for new in (4, 1, 1):
            logits, state = model.extend(tokens(3, new), state)
            found.append(logits)
        state = state.select(torch.tensor([2, 0, 0]))
        other = model.start(model.encode(torch.zeros(2, 1, dtype=torch.int64)))
        logits, other = model.extend(tokens(2, 2), other)
        state = state.join(other)
        for new in (1, 3, 1):
            logits, state = model.extend(tokens(5, new), state)
            found.append(logits)
    return found


def by_modules(model):
    """Return the same logits, every layer called as it stands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LeanStack, "fits", lambda stack: False)
        model.lean = None
        return walk(model)


@pytest.mark.parametrize("variant", VARIANTS)
def test_flat_and_called_layers_agree(variant):
    model = make(**VARIANTS[variant])
    flat = walk(model)
    assert model.lean is not None
    assert_close(flat, by_modules(model), **CLOSE)


def test_it_follows_the_models_weights_and_a_copy_its_own():
    model = make()
    other = copy.deepcopy(model)
    before = walk(model)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(0.5)
    assert_close(walk(model), before, atol=0, rtol=0)
    changed = walk(other)
    assert_close(changed, by_modules(other), **CLOSE)
    assert not torch.allclose(changed[0], before[0], atol=1e-3)


def test_what_it_cannot_do_the_modules_do():
    batch_norm = make(norm="batch")
    walk(batch_norm)
    assert batch_norm.lean is None
    model = make(dropout=0.5)
    state = model.train().start(model.encode(torch.zeros(2, 1, dtype=torch.int64)))
    tokens = torch.arange(8).view(2, 4)
    assert not torch.equal(model.extend(tokens, state)[0], model.extend(tokens, model.start(model.encode(tokens)))[0])


def test_observing_goes_through_the_modules():
    model = make()
    with torch.inference_mode():
        tokens = torch.arange(8).view(2, 4)
        plain, _ = model.extend(tokens, model.start(model.encode(tokens)))
        with observe(model) as record:
            observed, _ = model.extend(tokens, model.start(model.encode(tokens)))
    assert len(record.maps) == 3
    assert_close(observed, plain, **CLOSE)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("features", [1024, 1025, 1031])
@pytest.mark.parametrize("bias", [True, False])
def test_a_laid_out_matrix_is_the_same_matrix(threads, features, bias):
    layer = torch.nn.Linear(257, features, bias=bias)
    before = layer.weight.detach().clone()
    assert layer.weight.numel() >= LARGE
    rows = torch.randn(1, 1, 257), torch.randn(3, 2, 257)
    wanted = [layer(x) for x in rows]
    lay_out(layer)
    assert torch.equal(layer.weight, before)
    assert layer.weight.stride() == (1, features)
    usual = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for x, result in zip(rows, wanted, strict=True):
            assert_close(linear(x, layer.weight, layer.bias), result, **CLOSE)
    finally:
        torch.set_num_threads(usual)


def test_a_large_model_writes_the_same_when_laid_out():
    model = make(width=256, heads=4, feedforward=1024, vocabulary=1031, layers=2)
    before = walk(model)
    lay_out(model)
    assert model.project.weight.stride() == (1, 1031)
    assert model.embed.table.weight is model.project.weight
    assert_close(walk(model), before, atol=1e-4, rtol=1e-4)  # by other products: in C before, by torch's now
    with torch.inference_mode():
        state = model.start(model.encode(torch.zeros(1, 1, dtype=torch.int64)))
        line = torch.randint(4, 31, (1, 6))
        steps = []
        for token in line[0]:
            logits, state = model.extend(token.view(1, 1), state)
            steps.append(logits)
        whole, _ = model.extend(line, model.start(model.encode(line)))
    assert_close(torch.cat(steps, dim=1), whole, **CLOSE)


def test_only_plain_layers_fit():
    assert not LeanStack.fits(make(norm="batch").stack)
    assert LeanStack.fits(make().stack)
