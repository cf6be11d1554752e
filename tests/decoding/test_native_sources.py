"""What C makes of sources is what torch makes of them, and no sentence depends on its neighbours."""

import pytest
import torch
from torch.testing import assert_close

from jumok.decoding.native_sources import NativeSources
from jumok.inspection.observe import observe
from jumok.models.transformer import Transformer, TransformerConfig
from jumok.native.build import kernels, matrix_product
from jumok.nn.batch import PairBatch
from jumok.nn.precision import answering

pytestmark = pytest.mark.skipif(
    kernels() is None or not matrix_product(), reason="no C compiler, or a torch without sgemm"
)
narrow_in_c = pytest.mark.skipif(
    kernels() is None or not kernels().packings() >> 2 & 1, reason="no products in bf16 in C here"
)

SIZES = {"layers": 2, "width": 16, "heads": 2, "feedforward": 24, "source_vocabulary": 30, "target_vocabulary": 31}
SERVED = {
    "post-norm": {},
    "pre-norm": {"norm_position": "pre"},
    "gelu": {"activation": "gelu"},
    "no feed-forward": {"feedforward": 0},
    "unscaled": {"scaled": False},
    "learned": {"positions": "learned", "max_positions": 320},
    "none": {"positions": "none"},
    "deeper decoder": {"decoder_layers": 3},
    "odd head": {"heads": 1, "width": 13},
}
NOT_SERVED = {
    "batch norm": {"norm": "batch"},
    "no residual": {"residual": False},
    "other values": {"value_width": 4},
    "concatenated": {"position_join": "concatenate", "tied": False},
}


def make(options):
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(**(SIZES | options))).eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, mean=0.5, std=0.3)
    return model


def sources(*lengths):
    """Return a batch of random sources of these lengths."""
    generator = torch.Generator().manual_seed(sum(lengths))
    source = torch.zeros(len(lengths), max(lengths), dtype=torch.int64)
    for row, length in enumerate(lengths):
        source[row, :length] = torch.randint(4, 30, (length,), generator=generator)
    return PairBatch(source, source > 0, source, source, source > 0)


def sources_of(model):
    return NativeSources.of(model.embed_source, model.encoder, model.decoder)


@torch.inference_mode()
def read(model, batch):
    """Return the states at real tokens and what the decoder's layers look at, by C and by torch."""
    native = sources_of(model)(batch.source, batch.source_mask)
    states = model.encoder(model.embed_source(batch.source), batch.source_mask[:, None, None])[-1]
    pairs = model.decoder.remember([states] * len(model.decoder.layers))
    return native, (states, *(part for pair in pairs for part in pair))


@pytest.mark.parametrize("options", SERVED.values(), ids=SERVED)
@pytest.mark.parametrize("lengths", [(5, 3, 7), (1,), (300, 2, 299)], ids=["few", "one", "long"])
@pytest.mark.parametrize("rests", [False, True], ids=["learning", "resting"])
def test_c_reads_what_torch_reads(options, lengths, rests):
    model, batch = make(options), sources(*lengths)
    if rests:
        with answering("fp32", {}):
            native, (states, *parts) = read(model, batch)
    else:
        native, (states, *parts) = read(model, batch)
    real = batch.source_mask
    assert_close(native.states[real], states[real], atol=5e-5, rtol=1e-4)
    assert not native.states[~real].any()
    assert len(native.remembered) == len(parts)
    for ours, theirs in zip(native.remembered, parts, strict=True):
        assert_close(ours.transpose(1, 2)[real], theirs.transpose(1, 2)[real], atol=5e-5, rtol=1e-4)
        assert not ours.transpose(1, 2)[~real].any()


@pytest.mark.parametrize("precision", ["fp32", pytest.param("bf16", marks=narrow_in_c)])
def test_a_sentence_alone_is_the_sentence_among_others(precision):
    """To the bit where matrices are packed; elsewhere few rows and many are added up in different orders."""
    model, lengths = make({}), (5, 3, 40, 7)
    near = {"atol": 0.0, "rtol": 0.0} if kernels().packings() else {"atol": 1e-5, "rtol": 1e-5}
    batch = sources(*lengths)
    with answering(precision, {}), torch.inference_mode():
        together = model.encode(batch)
        for row, length in enumerate(lengths):
            one = PairBatch(*(part[row : row + 1, :length] for part in vars(batch).values()))
            alone = model.encode(one)
            assert_close(alone.states[0], together.states[row, :length], **near)
            for ours, theirs in zip(alone.remembered, together.remembered, strict=True):
                assert_close(ours[0], theirs[row, :, :length], **near)


@narrow_in_c
def test_bf16_in_c_is_near_fp32_and_is_not_fp32():
    model, batch = make({}), sources(5, 3)
    with torch.inference_mode():
        exact = model.encode(batch).states
        with answering("bf16", {}):
            near = model.encode(batch).states
    assert not torch.equal(near, exact)
    assert_close(near, exact, atol=0.05, rtol=0.05)


@pytest.mark.parametrize("options", NOT_SERVED.values(), ids=NOT_SERVED)
def test_other_encoders_are_left_to_torch(options):
    assert sources_of(make(options)) is None


def test_sources_that_do_not_begin_their_rows_are_left_to_torch():
    model, batch = make({}), sources(4, 4)
    mask = batch.source_mask.clone()
    mask[1, 1] = False
    assert sources_of(model)(batch.source, mask) is None
    with torch.inference_mode():
        assert not model.encode(PairBatch(batch.source, mask, batch.inputs, batch.targets, mask)).remembered


@pytest.mark.parametrize("wrong", [30, -1, 2**40])
def test_tokens_outside_the_vocabulary(wrong):
    batch = sources(4, 2)
    batch.source[0, 1] = wrong
    with torch.inference_mode(), pytest.raises(IndexError, match="vocabulary of 30"):
        make({}).encode(batch)


def test_who_observes_or_trains_gets_torch():
    model = make({})
    assert model.encode(sources(4)).states.requires_grad
    with torch.inference_mode(), observe(model) as record:
        model.encode(sources(4))
    assert record.maps
