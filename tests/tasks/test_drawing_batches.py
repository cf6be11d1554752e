"""Texts and codes as batches: every caption once an epoch, the texts of a share dropped, any place found again."""

from types import SimpleNamespace

import numpy as np
import pytest

from jumok.data.text.tokenizer import END, PAD, START
from jumok.tasks.drawing_batches import DrawingBatches, texts_of


class Captions:
    """Captions whose ids are their number, as long as it is modulo 7."""

    def __init__(self, count):
        self.lengths = np.array([number % 7 + 1 for number in range(count)])

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, number):
        return np.full(self.lengths[number], 10 + number)

    def text(self, number):
        return f"caption {number}"


def stream(count=103, batch_size=8, dropout=0.25, seed=3):
    """Return captions of half as many images; the codes of an image are its number."""
    images = np.arange(count) // 2
    store = SimpleNamespace(captions=Captions(count), image_of=images)
    codes = np.repeat(np.arange(images[-1] + 1, dtype=np.uint16)[:, None], 5, axis=1)
    return DrawingBatches(store, codes, batch_size=batch_size, seed=seed, text_dropout=dropout)


def epoch_of(batches, epoch=0):
    return [batches.batch_at((epoch, number)) for number in range(batches.batches_per_epoch)]


def test_texts_have_a_start_and_an_end():
    text, mask = texts_of([np.array([7, 8, 9]), np.zeros(0, int)])
    assert text.tolist() == [[START, 7, 8, 9, END], [START, END, PAD, PAD, PAD]]
    assert mask.tolist() == [[True] * 5, [True, True, False, False, False]]


def test_every_caption_stands_beside_the_codes_of_its_image():
    batches = stream(dropout=0.0)
    seen = []
    for batch in epoch_of(batches):
        numbers = batch.text[:, 1] - 10
        assert (batch.codes == numbers[:, None] // 2).all()
        assert not batch.without_text.any()
        assert (batch.text_mask.sum(dim=1) == numbers % 7 + 3).all()
        seen += numbers.tolist()
    assert len(seen) == len(set(seen)) == 96
    later = [batch.text[:, 1].tolist() for batch in epoch_of(batches, 1)]
    assert later != [batch.text[:, 1].tolist() for batch in epoch_of(batches)], "epochs differ"


def test_the_share_of_dropped_texts_is_what_was_asked_for():
    found = epoch_of(stream(count=4000, batch_size=50))
    dropped = sum(int(batch.without_text.sum()) for batch in found) / 4000
    assert dropped == pytest.approx(0.25, abs=0.03)
    for batch in found:
        gone = batch.without_text
        assert (batch.text_mask[gone].sum(dim=1) == 2).all(), "start and end are left"
        assert (batch.text[gone, 1] == END).all()
        assert (batch.text[~gone, 1] >= 10).all()


def test_which_texts_are_dropped_depends_on_the_place_alone():
    one, other = stream(), stream()
    places = [(2, 5), (0, 1), (2, 5)]
    for place in places:
        a, b = one.batch_at(place), other.batch_at(place)
        assert all(bool((getattr(a, name) == getattr(b, name)).all()) for name in ("text", "codes", "without_text"))
    firsts = [epoch_of(stream(), epoch)[0].without_text.tolist() for epoch in range(4)]
    assert len({tuple(first) for first in firsts}) > 1


def test_a_stream_goes_on_where_it_stopped():
    whole, stopped = stream(), stream()
    for _ in range(17):  # into the second epoch
        whole.take()
        stopped.take()
    again = stream()
    again.seek(*stopped.position)
    for _ in range(5):
        a, b = whole.take(), again.take()
        assert bool((a.text == b.text).all())
        assert bool((a.codes == b.codes).all())
    assert "texts, the first: 'caption" in whole.describe((0, 0))


def test_a_batch_larger_than_the_data_is_the_data():
    assert len(stream(count=5, batch_size=64).take()) == 5
