"""Every kernel against what torch says, in a second: for libraries that were compiled in another way than this machine's own."""

import torch
import torch.nn.functional as F
from torch.testing import assert_close

from jumok.config import DecodingConfig
from jumok.decoding import Marks, Request, generate
from jumok.decoding import search as searching
from jumok.decoding.key_value_cache import KeyValueCache
from jumok.decoding.lean import LeanStack
from jumok.decoding.native_stack import NativeStack
from jumok.models.transformer import Transformer, TransformerConfig
from jumok.native import kernels
from jumok.native.fast_path import fast_path
from jumok.nn.attention import masked_softmax
from jumok.nn.batch import PairBatch
from jumok.nn.masks import causal_mask, padding_mask
from jumok.nn.native_attention import Heads, attend_to_itself
from jumok.nn.norms import LayerNorm
from jumok.nn.precision import products
from jumok.nn.recurrent import run_cells
from jumok.nn.transformer import EncoderStack, LayerOptions
from jumok.tasks.losses import vocabulary_loss


def agree_with_torch(monkeypatch):
    """Check the kernels in use, on sizes that leave rests of every kind."""
    torch.manual_seed(3)
    check_rows()
    check_learning()
    check_cells()
    for width in (4, 8, 20, 28, 48):
        for length in (1, 9, 33):
            check_attention(width, length)
    for width, rows in ((11, 1), (96, 5), (64, 7), (24, 16), (24, 37)):
        check_decoder(width, rows)
    for beam in (1, 3):
        check_search(beam, monkeypatch)


def check_rows():
    """Compare log-sums and the likeliest."""
    for columns in (1, 15, 64, 700):
        logits = 9 * torch.randn(5, columns)
        logits[1, : columns // 2], logits[2] = -torch.inf, -torch.inf
        assert_close(kernels.log_sums(logits), logits.logsumexp(dim=1), atol=1e-5, rtol=1e-6)
        count = min(columns, 6)
        assert kernels.likeliest(logits, count)[0].equal(logits.topk(count, dim=1).values)


def check_learning():
    """Compare what a training step does between products."""
    x = torch.randn(7, 43)
    random = torch.randint(0, 256, (x.numel(),), dtype=torch.uint8)
    kept = (random >= 100).view_as(x)
    assert_close(kernels.drop(x, x, random, 100, 1.5), x + x * kept * 1.5)
    assert_close(kernels.drop_relu(x, random, 100, 1.5), F.relu(x) * kept * 1.5)
    assert_close(kernels.gelu(x), F.gelu(x), atol=1e-6, rtol=1e-5)
    norm = LayerNorm(43)
    with fast_path():
        found = norm(x)
    assert_close(found, F.layer_norm(x, (43,)), atol=1e-5, rtol=1e-5)
    for vocabulary in (5, 301):
        project, targets = torch.nn.Linear(43, vocabulary), torch.randint(0, vocabulary, (7,))
        features = torch.randn(7, 43, requires_grad=True)
        total, _ = vocabulary_loss(features, project, targets, smoothing=0.1)
        wanted = F.cross_entropy(project(features), targets, label_smoothing=0.1, reduction="sum")
        parts = (features, project.weight, project.bias)
        assert_close(total, wanted, atol=1e-4, rtol=1e-5)
        assert_close(torch.autograd.grad(total, parts), torch.autograd.grad(wanted, parts), atol=1e-5, rtol=1e-4)


def check_cells():
    """Compare recurrent cells with products in bf16."""
    for kind, cells in (
        ("lstm", torch.nn.LSTM(5, 19, batch_first=True)),
        ("gru", torch.nn.GRU(5, 19, batch_first=True)),
    ):
        x, begun = torch.randn(3, 4, 5), [torch.randn(1, 3, 19)] * (2 if kind == "lstm" else 1)
        found = []
        for precision in ("fp32", "bf16"):
            with products(precision):
                states, _ = run_cells(kind, x, begun, cells.all_weights[0], learning=True)
                found.append((states, *torch.autograd.grad(states.square().sum(), cells.all_weights[0])))
        for wide, half in zip(*found, strict=True):
            assert_close(half, wide, atol=0.03 * float(wide.detach().abs().max()), rtol=0.03)


def check_attention(width, length):
    """Compare attention and its gradient."""
    joined = torch.randn(3, length, 3 * 2 * width, requires_grad=True)
    lengths, bias = torch.tensor([length, length // 2, 0]), torch.randn(1, 2, length, length, requires_grad=True)
    outward = torch.randn(3, length, 2 * width)
    query, key, value = (x.unflatten(2, (2, -1)).transpose(1, 2) for x in joined.chunk(3, dim=2))
    for options in ({"causal": True}, {"bias": bias}):
        found = attend_to_itself(joined, Heads(2, 0.3, lengths), **options)
        scores = query @ key.mT * 0.3 + (bias if "bias" in options else 0)
        mask = padding_mask(lengths, length)[:, None, None]
        mask = mask & causal_mask(length, length) if "causal" in options else mask
        wanted = (masked_softmax(scores, mask) @ value).transpose(1, 2).flatten(2)
        assert_close(found, wanted, atol=3e-6, rtol=1e-5)
        parts = (joined, bias) if "bias" in options else (joined,)
        in_torch = torch.autograd.grad(wanted, parts, outward, retain_graph=True)
        assert_close(torch.autograd.grad(found, parts, outward), in_torch, atol=2e-5, rtol=1e-4)
        halves = joined.detach().bfloat16().requires_grad_()
        near = attend_to_itself(halves, Heads(2, 0.3, lengths), **options)
        assert_close(near.float(), wanted, atol=0.04, rtol=0.04)
        (back,) = torch.autograd.grad(near, halves, outward.bfloat16())
        assert_close(back.float(), in_torch[0], atol=0.04 * float(in_torch[0].abs().max()), rtol=0.04)


@torch.inference_mode()
def check_decoder(width, rows):
    """Compare the layers for one new token of every hypothesis."""
    options = LayerOptions(
        width=width, heads=1 if width % 2 else 2, feedforward=29, norm_position="pre", activation="gelu"
    )
    lean, found = LeanStack(EncoderStack(options, 2, kind="decoder").eval()), []
    x = torch.randn(4, rows, 1, width)
    for native in (None, False):
        lean.native, cache = native, KeyValueCache(rows, 2)
        found.append([lean(each, cache) for each in x])
        assert native is False or isinstance(lean.native, NativeStack)
    assert_close(*found, atol=3e-5, rtol=1e-4)


def check_search(beam, monkeypatch):
    """Compare a search in one call with one that is made step by step."""
    sizes = {"layers": 1, "width": 16, "heads": 2, "feedforward": 24, "source_vocabulary": 30, "target_vocabulary": 600}
    model = Transformer(TransformerConfig(**sizes, tied=False)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, mean=0.0, std=0.6)

    def collate(inputs):
        source = torch.nn.utils.rnn.pad_sequence(list(inputs), batch_first=True)
        return PairBatch(source, source > 0, source, source, source > 0)

    found, sources = [], [torch.randint(4, 30, (length,)) for length in (3, 7, 1)]
    for at_once in (1, 32):
        monkeypatch.setattr(searching, "AT_ONCE", at_once)
        requests = [Request(source, len(source)) for source in sources]
        options = DecodingConfig(beam=beam, n_best=beam, max_length=9)
        answers = generate(model, requests, collate=collate, options=options, marks=Marks(2, 3, 0))
        found.append([[(answer.tokens, answer.finished) for answer in each] for each in answers])
    assert found[0] == found[1]
