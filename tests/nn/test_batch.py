"""Batches: parts of them have every example once, with its own answers; moving changes nothing."""

import pytest
import torch

from jumok.nn.batch import LabelBatch, MaskedBatch, PairBatch, TextBatch

ROWS = torch.arange(5)[:, None] * 100 + torch.arange(7)  # tells row and column
MASK = torch.ones(5, 7, dtype=torch.bool)
GAPS = (ROWS // 100 + ROWS % 100) % 3 == 0  # different in every row
BATCHES = [
    PairBatch(ROWS, MASK, ROWS + 1, ROWS + 2, MASK),
    TextBatch(ROWS, ROWS + 1),
    TextBatch(ROWS, ROWS + 1, ROWS % 2),
    LabelBatch(ROWS, MASK, torch.arange(5)),
    LabelBatch(ROWS, MASK, torch.arange(5), ROWS % 2),
    MaskedBatch(ROWS, MASK, GAPS, ROWS[GAPS]),
    MaskedBatch(ROWS, MASK, GAPS, ROWS[GAPS], ROWS % 2, torch.arange(5) % 2),
]


@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: type(batch).__name__)
@pytest.mark.parametrize("parts", [1, 2, 3, 8])
def test_parts_have_every_example_once(batch, parts):
    found = {}
    for number in range(parts):
        part = batch.part(number, parts)
        for place, row in enumerate(range(number, 5, parts)):
            found[row] = part
            for name in set(batch.__dataclass_fields__) - {"answers"}:
                whole, own = getattr(batch, name), getattr(part, name)
                assert (own is None) if whole is None else torch.equal(own[place], whole[row]), name
        assert len(part) == len(range(number, 5, parts))
        if isinstance(part, MaskedBatch):
            assert torch.equal(part.answers, part.source[part.masked])
    assert sorted(found) == list(range(5))


@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: type(batch).__name__)
def test_moving_keeps_everything(batch):
    moved = batch.to(torch.device("cpu"))
    for name in batch.__dataclass_fields__:
        whole, own = getattr(batch, name), getattr(moved, name)
        assert (own is None) if whole is None else torch.equal(own, whole), name
