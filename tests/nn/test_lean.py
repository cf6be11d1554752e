"""The flat stack: the numbers of the modules, for any plain layers and rows of any lengths; the modules where it does not fit."""

import copy

import pytest
import torch
from torch.testing import assert_close

from jumok.models.gpt import GPT, GPTConfig
from jumok.nn.lean import LeanStack
from jumok.nn.observe import observe

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


@pytest.mark.parametrize("variant", VARIANTS)
def test_flat_and_called_layers_agree(variant):
    model = make(**VARIANTS[variant])
    assert model.lean is not None
    flat = walk(model)
    model.lean = None
    assert_close(flat, walk(model), **CLOSE)


def test_it_follows_the_models_weights_and_a_copy_its_own():
    model = make()
    other = copy.deepcopy(model)
    before = walk(model)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(0.5)
    assert_close(walk(model), before, atol=0, rtol=0)
    changed = walk(other)
    other.lean = None
    assert_close(changed, walk(other), **CLOSE)
    assert not torch.allclose(changed[0], before[0], atol=1e-3)


def test_what_it_cannot_do_the_modules_do():
    batch_norm = make(norm="batch")
    assert batch_norm.lean is None
    walk(batch_norm)
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


def test_only_plain_layers_fit():
    assert not LeanStack.fits(make(norm="batch").stack)
    assert LeanStack.fits(make().stack)
