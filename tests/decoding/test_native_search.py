"""A search in C finds what the search in Python finds, with the same log-probabilities."""

import itertools

import pytest
import torch

from jumok.config import DecodingConfig
from jumok.decoding import Marks, Request, generate, native_search
from jumok.decoding import search as searching
from jumok.models.transformer import Transformer, TransformerConfig
from jumok.native.build import kernels, matrix_product
from jumok.nn.batch import PairBatch

pytestmark = pytest.mark.skipif(
    kernels() is None or not matrix_product(), reason="no C compiler, or a torch without sgemm"
)

PAD, START, END = 0, 2, 3
LENGTHS = [3, 9, 1, 4, 4, 12, 2, 7, 5, 1, 6]


def make(vocabulary, *, ends=2.0, **options):
    """Return a random Transformer that ends its answers now and then."""
    torch.manual_seed(7)
    sizes = {"layers": 2, "width": 16, "heads": 2, "feedforward": 24, "source_vocabulary": 30, "tied": False}
    model = Transformer(TransformerConfig(**sizes, target_vocabulary=vocabulary, **options)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, mean=0.0, std=0.6)
    with torch.no_grad():
        model.project.bias[END] += ends
    return model


def collate(inputs):
    """Return a batch of sources."""
    source = torch.nn.utils.rnn.pad_sequence(list(inputs), batch_first=True)
    return PairBatch(source, source > 0, source, source, source > 0)


def search(model, *, at_once, monkeypatch, shortlists=None, prefixes=None, **options):
    """Return ids, whether finished and log-probabilities of all that is found."""
    monkeypatch.setattr(searching, "AT_ONCE", at_once)
    generator = torch.Generator().manual_seed(1)
    sources = [torch.randint(4, 30, (length,), generator=generator) for length in LENGTHS]
    requests = [
        Request(source, len(source), prefixes[number] if prefixes else (), shortlists[number] if shortlists else None)
        for number, source in enumerate(sources)
    ]
    return generate(model, requests, collate=collate, options=DecodingConfig(**options), marks=Marks(START, END, PAD))


def same(found, expected):
    """Assert that two searches came to the same."""
    for ours, theirs in zip(found, expected, strict=True):
        assert [answer.tokens for answer in ours] == [answer.tokens for answer in theirs]
        assert [answer.finished for answer in ours] == [answer.finished for answer in theirs]
        for one, other in zip(ours, theirs, strict=True):
            assert one.token_log_probabilities == pytest.approx(other.token_log_probabilities, abs=1e-4)
            assert one.score == pytest.approx(other.score, abs=1e-4)


@pytest.mark.parametrize(("vocabulary", "ends"), [(6, 4.5), (40, 9.5), (1300, 9.5)])
@pytest.mark.parametrize("beam", [1, 2, 5, 11])
def test_a_search_in_one_go_is_step_by_step(vocabulary, ends, beam, monkeypatch):
    model, kinds = make(vocabulary, ends=ends, norm_position="pre"), set()
    for batch_size, longest in itertools.product((1, 4, 64), (0, 7)):
        options = {"beam": beam, "n_best": beam, "batch_size": batch_size, "max_length": longest}
        steps = search(model, at_once=1, monkeypatch=monkeypatch, **options)
        same(search(model, at_once=32, monkeypatch=monkeypatch, **options), steps)
        same(search(model, at_once=2, monkeypatch=monkeypatch, **options), steps)
        kinds |= {answer.finished for found in steps for answer in found}
    assert kinds == {True, False} or (vocabulary == 6 and beam == 1), "some end, some are cut"


def test_shortlists_and_prefixes_of_different_lengths(monkeypatch):
    model = make(900)
    generator = torch.Generator().manual_seed(4)
    shortlists = [torch.randint(4, 900, (30,), generator=generator) for _ in LENGTHS]
    prefixes = [list(range(10, 10 + number % 4)) for number in range(len(LENGTHS))]
    for shortlist, prefix, beam in itertools.product((None, shortlists), (None, prefixes), (1, 3)):
        options = {"beam": beam, "n_best": beam, "batch_size": 4, "shortlists": shortlist, "prefixes": prefix}
        steps = search(model, at_once=1, monkeypatch=monkeypatch, **options)
        same(search(model, at_once=32, monkeypatch=monkeypatch, **options), steps)


def test_marks_are_never_written(monkeypatch):
    model = make(40)
    with torch.no_grad():
        model.project.bias[[PAD, START]] += 50.0
    found = search(model, at_once=32, monkeypatch=monkeypatch, beam=4, n_best=4)
    tokens = {token for answers in found for answer in answers for token in answer.tokens}
    assert tokens
    assert not tokens & {PAD, START}


def test_a_large_model_comes_back_soon(monkeypatch):
    """A call of C cannot be interrupted: how much it does at once is bounded."""
    model, calls, real = make(300, ends=-50.0), [], native_search.AttendingState.moved
    monkeypatch.setattr(native_search.AttendingState, "moved", lambda *given: calls.append(given) or real(*given))
    search(model, at_once=32, monkeypatch=monkeypatch, beam=2)
    before = len(calls)
    monkeypatch.setattr(native_search, "WORK", 1)
    search(model, at_once=32, monkeypatch=monkeypatch, beam=2)
    assert len(calls) - before > 3 * before
