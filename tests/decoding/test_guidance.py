"""Guidance: with and without side by side, whatever happens to the hypotheses in between."""

import pytest
import torch
from torch.testing import assert_close

from jumok.decoding.guidance import Guided
from jumok.models.dalle import Dalle, DalleConfig
from jumok.nn.batch import DrawingBatch
from jumok.tasks.drawing_batches import NOTHING, texts_of

TEXTS = [torch.arange(4, 4 + length).numpy() for length in (5, 3, 11)]
SIZES = {
    "layers": 2,
    "width": 22,
    "heads": 2,
    "feedforward": 17,
    "vocabulary": 31,
    "code_count": 13,
    "longest_text": 19,
}


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(3)
    drawer = Dalle(DalleConfig(rows=3, columns=5, **SIZES)).eval()
    with torch.no_grad():
        for parameter in drawer.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return drawer


def batch(texts, codes=None):
    text, mask = texts_of(texts)
    return DrawingBatch(text, mask, text.new_zeros(len(texts), 0) if codes is None else codes)


@torch.inference_mode()
def logits_of(decoder, texts, codes):
    """Return the logits (R, n, K) of codes (R, n), one after another; the drawings are repeated and dropped on the way."""
    begin, rows, found = torch.full((len(texts), 1), 13), torch.arange(len(texts)), []
    guided = isinstance(decoder, Guided)
    state = decoder.start(decoder.encode(batch([*texts, NOTHING] if guided else texts)))
    logits, state = decoder.extend(begin, state)
    found.append(logits[:, 0])
    for place in range(codes.shape[1]):
        if place == 2:
            rows = torch.tensor([2, 0, 0, 1])
            state = state.select(rows)
        if place == 4:  # others join
            more = decoder.start(decoder.encode(batch([texts[1], NOTHING] if guided else [texts[1]])))
            _, more = decoder.extend(torch.cat([begin[:1], codes[1:2, :place]], dim=1), more)
            state, rows = state.join(more), torch.cat([rows, torch.tensor([1])])
        logits, state = decoder.extend(codes[rows, place : place + 1], state)
        found.append(logits[:, 0])
    return found


def test_guided_logits_are_those_of_both_apart(model):
    codes = torch.randint(13, (3, 7), generator=torch.Generator().manual_seed(5))
    given, without = logits_of(model, TEXTS, codes), logits_of(model, [NOTHING] * 3, codes)
    for scale in (1.0, 3.0, 0.0):
        for guided, a, b in zip(logits_of(Guided(model, scale), TEXTS, codes), given, without, strict=True):
            assert_close(guided, scale * a + (1 - scale) * b, atol=1e-4, rtol=1e-4)


def test_drawing_with_a_cache_is_reading_all_at_once(model):
    codes = torch.randint(13, (3, 15), generator=torch.Generator().manual_seed(7))
    with torch.no_grad():
        whole = model.project(model.features(batch(TEXTS, codes)))
        state = model.start(model.encode(batch(TEXTS)))
        steps = []
        for column in torch.cat([torch.full((3, 1), 13), codes[:, :-1]], dim=1).split(1, dim=1):
            logits, state = model.extend(column, state)
            steps.append(logits)
    assert_close(torch.cat(steps, dim=1), whole, atol=1e-5, rtol=1e-4)
