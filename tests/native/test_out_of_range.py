"""What torch would check, the kernels check: indices, lengths, shapes and kinds of numbers. Nothing is read or written beyond."""

import pytest
import torch
from torch.testing import assert_close

from jumok.config import DecodingConfig
from jumok.decoding import Marks, Request, generate, native_search
from jumok.decoding.key_value_cache import KeyValueCache
from jumok.decoding.lean import LeanStack
from jumok.models.transformer import Transformer, TransformerConfig
from jumok.native import kernels
from jumok.native.build import matrix_product
from jumok.native.fast_path import fast_path
from jumok.nn.attention import CrossAttention, SelfAttention
from jumok.nn.batch import PairBatch
from jumok.nn.masks import padding_mask
from jumok.nn.native_attention import Heads, attend_to_another, attend_to_itself
from jumok.nn.norms import LayerNorm
from jumok.nn.transformer import EncoderStack, LayerOptions
from jumok.tasks.losses import vocabulary_loss

pytestmark = pytest.mark.skipif(kernels.kernels() is None, reason="no C compiler: torch does it all")
searches_in_c = pytest.mark.skipif(not matrix_product(), reason="a torch without sgemm")

VOCABULARY = 11


@pytest.mark.parametrize("wrong", [VOCABULARY, -1, 2**40, -(2**63)])
def test_targets_outside_the_vocabulary(wrong):
    features, project = torch.randn(7, 5, requires_grad=True), torch.nn.Linear(5, VOCABULARY)
    targets = torch.tensor([0, 3, 10, 1, 2, 5, 4])
    vocabulary_loss(features, project, targets)
    targets[6] = wrong
    with pytest.raises(IndexError, match=f"not in the vocabulary of 11: {wrong}"):
        vocabulary_loss(features, project, targets)
    with torch.no_grad(), pytest.raises(RuntimeError, match="out of bounds"):  # torch's own words
        vocabulary_loss(features, project, targets)


def test_a_loss_of_other_sizes_or_numbers():
    logits = torch.randn(3, VOCABULARY)
    for targets in (torch.zeros(2, dtype=torch.int64), torch.zeros(3, dtype=torch.int32)):
        with pytest.raises(AssertionError):
            kernels.loss_rows(logits, None, targets, 0.1, None)
    for bias in (torch.zeros(VOCABULARY - 1), torch.zeros(VOCABULARY, dtype=torch.bfloat16)):
        with pytest.raises(AssertionError):
            kernels.loss_rows(logits, bias, torch.zeros(3, dtype=torch.int64), 0.1, None)


@pytest.mark.parametrize("shown", [0, 2, 5])
def test_a_mask_for_all_sequences_alike(shown):
    torch.manual_seed(1)
    layer, cross = SelfAttention(16, 2, kind="encoder"), CrossAttention(16, 2, kind="cross")
    x, memory = torch.randn(7, 5, 16, requires_grad=True), torch.randn(7, 5, 16)
    mask = padding_mask(torch.tensor([shown]), 5)[:, None, None]
    with fast_path():
        found = layer(x, mask), cross(x, cross.key_value(memory), mask)
        in_c = torch.autograd.grad(found[0].sum() + found[1].sum(), x)
    wanted = layer(x, mask), cross(x, cross.key_value(memory), mask)
    assert_close(found, wanted, atol=1e-5, rtol=1e-5)
    assert_close(in_c, torch.autograd.grad(wanted[0].sum() + wanted[1].sum(), x), atol=1e-5, rtol=1e-4)


def test_masks_that_do_not_fit_are_refused_as_by_torch():
    layer, x = SelfAttention(16, 2, kind="encoder"), torch.randn(3, 5, 16)
    for mask in (torch.ones(2, 1, 1, 5, dtype=torch.bool), torch.ones(3, 1, 1, 6, dtype=torch.bool)):
        mask[..., -1] = False
        for inside in (True, False):
            with fast_path(when=inside), pytest.raises(RuntimeError, match=r"expand|must match"):
                layer(x, mask)


@pytest.mark.parametrize("length", [6, -1, 2**40])
def test_more_keys_than_there_are(length):
    joined = torch.randn(2, 5, 3 * 8, requires_grad=True)
    lengths = torch.tensor([5, length])
    with pytest.raises(IndexError, match="more keys than the 5"):
        attend_to_itself(joined, Heads(2, 0.3, lengths))
    with pytest.raises(AssertionError):
        attend_to_itself(joined, Heads(2, 0.3, lengths[:1]))
    with pytest.raises(AssertionError):
        attend_to_itself(joined, Heads(2, 0.3), bias=torch.zeros(1, 2, 5, 4))
    with pytest.raises(AssertionError):
        attend_to_another(torch.randn(2, 3, 8), torch.randn(1, 5, 16), Heads(2, 0.3))
    with pytest.raises(AssertionError):
        attend_to_another(torch.randn(2, 3, 8), torch.randn(2, 5, 16).double(), Heads(2, 0.3))


def test_a_norm_of_another_width_is_refused_as_by_torch():
    with fast_path(), pytest.raises(RuntimeError, match="normalized_shape"):
        LayerNorm(16)(torch.randn(2, 17, requires_grad=True))


def test_more_of_a_row_than_it_has():
    with pytest.raises(IndexError, match="no 4 largest"):
        kernels.likeliest(torch.randn(2, 3), 4)


@pytest.mark.parametrize(("target", "source"), [(3, 0), (0, 3), (-1, 0), (0, -1)])
def test_rows_that_are_not_there(target, source):
    with pytest.raises(IndexError, match="not among the 3"):
        kernels.move_rows([torch.zeros(3, 2, 5, 4)], torch.tensor([target]), torch.tensor([source]), 5)
    with pytest.raises(AssertionError):
        kernels.move_rows([torch.zeros(3, 2, 5, 4)], torch.tensor([1]), torch.tensor([0]), 6)
    with pytest.raises(AssertionError):
        kernels.move_rows([torch.zeros(3, 2, 5, 4).double()], torch.tensor([1]), torch.tensor([0]), 5)


def make(**options):
    torch.manual_seed(7)
    sizes = {"layers": 1, "width": 16, "heads": 2, "feedforward": 24, "source_vocabulary": 13, "tied": False}
    return Transformer(TransformerConfig(**sizes, target_vocabulary=VOCABULARY, **options)).eval()


def sources(count, length=5):
    source = torch.randint(4, 13, (count, length))
    return PairBatch(source, source > 0, source, source, source > 0)


@searches_in_c
@pytest.mark.parametrize("wrong", [VOCABULARY, -1, 2**40, -(2**63)])
@torch.inference_mode()
def test_tokens_outside_the_vocabulary(wrong):
    model = make()
    state = model.start(model.encode(sources(3)))
    assert state.native is not None
    model.extend(torch.tensor([[1], [2], [10]], dtype=torch.int32), state)  # as torch's embedding reads them
    with pytest.raises(IndexError, match="not in the vocabulary of 11"):
        model.extend(torch.tensor([[1], [2], [wrong]]), state)
    state.native = None
    with pytest.raises(IndexError, match="out of range"):
        model.extend(torch.tensor([[1], [2], [wrong]]), state)


@searches_in_c
@torch.inference_mode()
def test_more_tokens_than_there_are_positions():
    model = make(positions="learned", max_positions=3)
    state = model.start(model.encode(sources(2, length=2)))
    for _ in range(3):
        model.extend(torch.tensor([[1], [2]]), state)
    with pytest.raises(IndexError, match="longer than there is room for"):
        model.extend(torch.tensor([[1], [2]]), state)


@searches_in_c
@torch.inference_mode()
def test_tokens_for_other_hypotheses_than_there_are():
    model = make()
    state = model.start(model.encode(sources(3)))
    for rows in (1, 2, 4, 6):
        with pytest.raises(AssertionError):
            model.extend(torch.ones(rows, 1, dtype=torch.int64), state)


@searches_in_c
@pytest.mark.parametrize("spoil", ["next", "length", "uneven", "longest", "ended"])
def test_hypotheses_that_would_leave_their_room(spoil, monkeypatch):
    def spoilt(step, state, hypotheses, request, real=native_search.search_on):
        if spoil == "next":
            hypotheses.next[-1] = VOCABULARY
        elif spoil == "length":
            hypotheses.length += 1000
        elif spoil == "uneven":
            hypotheses.length[-1] += 1
        elif spoil == "longest":
            hypotheses.longest += 1000
        else:
            hypotheses.ended -= 5
        return real(step, state, hypotheses, request)

    monkeypatch.setattr("jumok.models.text_decoder.search_on", spoilt)
    model, options = make(), DecodingConfig(beam=2, max_length=9)
    with pytest.raises(IndexError, match="room"):
        generate(model, [Request(sources(1).source[0], 5)], collate=lambda given: sources(len(given)), options=options, marks=Marks(2, 3, 0))  # fmt: skip


@searches_in_c
@torch.inference_mode()
def test_a_stack_is_given_what_it_can_read():
    stack = EncoderStack(LayerOptions(width=16, heads=2, feedforward=24, norm_position="pre"), 1, kind="decoder").eval()
    lean, cache = LeanStack(stack), KeyValueCache(2, 1)
    lean(torch.randn(2, 3, 16), cache)
    lean(torch.randn(2, 1, 16), cache)
    with pytest.raises(AssertionError):
        lean(torch.randn(1, 1, 16), cache)
    with pytest.raises(AssertionError):
        lean(torch.randn(2, 1, 16).double(), cache)
    cache.lengths = cache.lengths + 1000
    with pytest.raises(IndexError, match="longer than the"):
        lean(torch.randn(2, 1, 16), cache)


@searches_in_c
@torch.inference_mode()
def test_other_numbers_than_c_reads_are_left_to_torch():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model = make()
        state = model.start(model.encode(sources(3)))
        assert state.native is None
        stack = EncoderStack(LayerOptions(width=16, heads=2, feedforward=24, norm_position="pre"), 1, kind="decoder")
        lean, cache = LeanStack(stack.eval()), KeyValueCache(2, 1)
        lean(torch.randn(2, 3, 16), cache)
        lean(torch.randn(2, 1, 16), cache)
        assert lean.native is False
    model.decoder.layers.first.attention.output.double()
    assert model.start(model.encode(sources(3))).native is None
