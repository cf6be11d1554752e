"""One new token of every hypothesis in C: the numbers of the layers in torch, for few and many rows of any lengths."""

import pytest
import torch
from torch.testing import assert_close

from jumok.decoding.key_value_cache import KeyValueCache
from jumok.decoding.lean import LeanStack
from jumok.decoding.native_stack import NativeStack
from jumok.native.build import kernels, matrix_product
from jumok.native.kernels import PLAIN
from jumok.nn.transformer import EncoderStack, LayerOptions

pytestmark = pytest.mark.skipif(
    kernels() is None or not matrix_product(), reason="no C compiler, or a torch without sgemm"
)

LAYERS, TEXT = 2, 5
SIZES = {"width": 24, "heads": 2, "feedforward": 29}
VARIANTS = {
    "pre-norm": {},
    "post-norm": {"norm_position": "post"},
    "no feed-forward": {"feedforward": 0},
    "gelu": {"activation": "gelu"},
    "gelu-tanh": {"activation": "gelu-tanh"},
    "silu": {"activation": "silu"},
    "a head of 11": {"width": 11, "heads": 1},
    "heads of 48": {"width": 96},
    "many features": {"feedforward": 523},
}


def make(**options):
    """Return a stack whose every weight is random: norms and biases too."""
    torch.manual_seed(3)
    stack = EncoderStack(LayerOptions(**{"norm_position": "pre", **SIZES, **options}), LAYERS, kind="decoder").eval()
    for parameter in stack.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, mean=0.5, std=0.3)
    return LeanStack(stack)


@torch.inference_mode()
def walk(lean, rows, *, room):
    """Return the states of hypotheses that have different lengths, one token after another; some are repeated."""
    draw = torch.Generator().manual_seed(rows)
    cache = KeyValueCache(rows, LAYERS, room=room)
    lean(torch.randn(rows, TEXT, lean.width, generator=draw), cache)
    cache = cache.moved(torch.randint(1, TEXT + 1, (rows,), generator=draw))
    found = []
    for step in range(25):  # past the room that rows have at first
        if step == 3:
            cache = cache.select(torch.randint(rows, (rows + 1,), generator=draw))
        found.append(lean(torch.randn(cache.rows, 1, lean.width, generator=draw), cache))
    return found


def agree(lean, rows, *, room=0):
    fast = walk(lean, rows, room=room)
    assert isinstance(lean.native, NativeStack)
    lean.native = False
    assert_close(fast, walk(lean, rows, room=room), atol=3e-5, rtol=1e-4)


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_variants(options):
    agree(make(**options), 5)


@pytest.mark.parametrize("rows", [1, 16, 17, 32, 40, 67])  # few rows are multiplied in another way than many
@pytest.mark.parametrize("room", [0, TEXT + 9, TEXT + 30])
def test_rows(rows, room):
    agree(make(feedforward=301), rows, room=room)


def test_more_columns_than_a_product_takes_at_once():
    agree(make(width=262, feedforward=13), 33)


@pytest.mark.parametrize("rows", [31, 32, 37, 50])
def test_threads_share_the_hypotheses(rows):
    usual = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        agree(make(), rows)
    finally:
        torch.set_num_threads(usual)


def test_weights_that_change_in_place_and_those_that_are_replaced():
    stack = EncoderStack(LayerOptions(norm_position="pre", **SIZES), LAYERS, kind="decoder").eval()
    lean = LeanStack(stack)
    before = walk(lean, 3, room=0)
    with torch.no_grad():
        stack.layers.first.attention.output.weight.mul_(3.0)
    changed = walk(lean, 3, room=0)
    assert not torch.allclose(changed[-1], before[-1], atol=1e-3)
    for parameter in stack.parameters():
        parameter.data = parameter.data / 2
    lean = LeanStack.of(stack, lean)
    agree(lean, 3)


def test_what_c_cannot_read_torch_does():
    for change in (lambda stack: stack.double(), lambda stack: stack.to(torch.bfloat16)):
        lean = LeanStack(
            change(EncoderStack(LayerOptions(norm_position="pre", **SIZES), LAYERS, kind="decoder").eval())
        )
        assert not NativeStack.serves(lean.weights, PLAIN)
    assert not NativeStack.serves(make(head_width=7).weights, PLAIN)
