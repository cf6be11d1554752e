"""The decoder in C writes what the decoder in torch writes."""

import pytest
import torch
from torch.testing import assert_close

from jumok.decoding.native_step import NativeStep
from jumok.inspection.observe import observe
from jumok.models.transformer import Transformer, TransformerConfig
from jumok.native.build import kernels, matrix_product
from jumok.nn.batch import PairBatch

pytestmark = pytest.mark.skipif(
    kernels() is None or not matrix_product(), reason="no C compiler, or a torch without sgemm"
)

SIZES = {"layers": 2, "width": 16, "heads": 2, "feedforward": 24, "source_vocabulary": 30, "target_vocabulary": 700}
SERVED = {
    "post-norm": {},
    "pre-norm": {"norm_position": "pre"},
    "gelu": {"activation": "gelu"},
    "gelu-tanh": {"activation": "gelu-tanh"},
    "silu": {"activation": "silu"},
    "no feed-forward": {"feedforward": 0},
    "unscaled": {"scaled": False},
    "halves": {"positions": "sinusoidal-halves"},
    "learned": {"positions": "learned", "max_positions": 40},
    "index": {"positions": "index"},
    "none": {"positions": "none"},
    "same depth": {"cross_attention": "same_depth"},
    "untied": {"tied": False},
    "one wide head": {"heads": 1, "width": 32},
    "wider head": {"heads": 1, "width": 64},
    "wide features": {"feedforward": 90},
}
NOT_SERVED = {
    "batch norm": {"norm": "batch"},
    "no residual": {"residual": False},
    "middle": {"middle_feedforward": True},
    "narrow heads": {"head_width": 4},
    "other values": {"value_width": 4},
    "concatenated": {"position_join": "concatenate", "tied": False},
}


def make(options):
    """Return a Transformer whose every weight is random: norms and biases too."""
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(**(SIZES | options))).eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, mean=0.5, std=0.3)
    return model


def native_step_of(model):
    return NativeStep.of(model.embed_target, model.decoder, model.project)


def sources(*lengths):
    """Return a batch of random sources of these lengths."""
    generator = torch.Generator().manual_seed(sum(lengths))
    source = torch.zeros(len(lengths), max(lengths), dtype=torch.int64)
    for row, length in enumerate(lengths):
        source[row, :length] = torch.randint(4, 30, (length,), generator=generator)
    return PairBatch(source, source > 0, source, source, source > 0)


@torch.inference_mode()
def write(model, *, native):
    """Return the logits of a search: hypotheses repeated, moved, dropped, joined by later ones."""
    generator = torch.Generator().manual_seed(5)
    found = []

    def extend(state):
        tokens = torch.randint(4, 600, (state.rows, 1), generator=generator)
        logits, state = model.extend(tokens, state)
        found.append(logits.clone())
        return state

    def begin(*lengths):
        state = model.start(model.encode(sources(*lengths)))
        assert isinstance(state.native, NativeStep)
        if not native:
            state.native = None
        return state

    state = extend(begin(5, 3)).select(torch.tensor([0, 0, 0, 1, 1, 1]))
    for _ in range(20):  # past the room that rows have at first
        state = extend(state)
    state = extend(state.select(torch.tensor([2, 1, 1, 3, 5, 4])))
    late = extend(extend(begin(7))).select(torch.tensor([0, 0, 0]))
    state = extend(state.join(late))
    state = extend(state.select(torch.tensor([6, 7, 7, 3, 4, 4])))
    extend(state)
    return found


@pytest.mark.parametrize("options", SERVED.values(), ids=SERVED)
def test_every_step_of_a_search_gives_the_same_logits(options):
    model = make(options)
    for ours, theirs in zip(write(model, native=True), write(model, native=False), strict=True):
        assert_close(ours, theirs, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("options", NOT_SERVED.values(), ids=NOT_SERVED)
def test_other_decoders_are_left_to_torch(options):
    assert native_step_of(make(options)) is None


def test_other_numbers_are_left_to_torch():
    assert native_step_of(make({}).double()) is None


def test_who_observes_or_trains_gets_torch(monkeypatch):
    model = make({})
    monkeypatch.setattr(NativeStep, "__call__", lambda self, tokens, state: pytest.fail("the step in C was called"))
    tokens = torch.full((2, 1), 5)
    with observe(model) as record, torch.inference_mode():
        model.extend(tokens, model.start(model.encode(sources(4, 2))))
    assert record.maps
    logits, _ = model.extend(tokens, model.start(model.encode(sources(4, 2))))
    assert logits.requires_grad
    with pytest.raises(pytest.fail.Exception), torch.inference_mode():
        model.extend(tokens, model.start(model.encode(sources(4, 2))))


def test_a_prefix_goes_through_torch_and_the_rest_through_c():
    model, tokens = make({}), torch.tensor([[5, 6, 7], [8, 9, 10]])
    with torch.inference_mode():
        expected, _ = model.extend(tokens, model.start(model.encode(sources(4, 2))))
        _, state = model.extend(tokens[:, :2], model.start(model.encode(sources(4, 2))))
        found, _ = model.extend(tokens[:, 2:], state)
    assert_close(found, expected[:, 2:], atol=2e-5, rtol=1e-4)
