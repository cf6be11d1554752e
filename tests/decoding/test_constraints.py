"""Rules about what may be written next, by themselves and in whole answers."""

import itertools

import pytest
import torch

from jumok.config import DecodingConfig
from jumok.decoding import Marks, generate
from jumok.decoding.constraints import forbid, forbid_early_end, forbid_repeats, force


def repeats(tokens, size):
    grams = list(zip(*(tokens[place:] for place in range(size)), strict=False))
    return len(grams) - len(set(grams))


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 4, "n_best": 4}, {"sample": True, "n_best": 3}])
def test_no_ngram_is_written_twice(toy, sources, size, options):
    decoder = toy.Decoder(vocabulary=7, hurry=-0.5)
    longest = {"max_length": 24}
    free = toy.answers(decoder, sources, **longest, **options)
    bound = toy.answers(decoder, sources, no_repeat_ngram=size, batch_size=3, **longest, **options)
    assert sum(repeats(h.tokens, size) for hypotheses in free for h in hypotheses) > 0  # it would, if it could
    assert sum(repeats(h.tokens, size) for hypotheses in bound for h in hypotheses) == 0


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_exactly_the_repeating_tokens_are_forbidden(size):
    generator = torch.Generator().manual_seed(size)
    history = torch.randint(0, 3, (40, 13), generator=generator)
    length = torch.randint(0, 14, (40,), generator=generator)
    logits = torch.randn(40, 5, generator=generator)
    before = logits.clone()
    forbid_repeats(logits, history, length=length, size=size)
    for row, token in itertools.product(range(40), range(5)):
        written = history[row, : length[row]].tolist()
        new = repeats([*written, token], size) - repeats(written, size)
        assert logits[row, token] == (float("-inf") if new else before[row, token])


def test_a_row_with_nothing_left_to_write_ends(toy, sources):
    """Four words, none twice, nine tokens at least: impossible, so the end comes early rather than a forbidden word."""
    decoder = toy.Decoder(vocabulary=7)
    for options in ({"beam": 1}, {"beam": 3}, {"sample": True}):
        for (hypothesis,) in toy.answers(decoder, sources, no_repeat_ngram=1, min_length=9, **options):
            assert sorted(hypothesis.tokens) == [3, 4, 5, 6]
            assert hypothesis.finished


def test_a_model_that_starts_with_its_end_token_may_still_end(toy, sources):
    decoder = toy.Decoder()
    found = generate(
        decoder, toy.requests(sources), collate=toy.collate, options=DecodingConfig(beam=2),
        marks=Marks(toy.END, toy.END, toy.PAD),
    )  # fmt: skip
    assert all(hypotheses[0].finished for hypotheses in found)


def test_each_rule_changes_only_its_own_places():
    logits = torch.zeros(3, 5)
    forbid(logits, [0, 4])
    assert logits.isinf().nonzero().tolist() == [[0, 0], [0, 4], [1, 0], [1, 4], [2, 0], [2, 4]]
    logits = torch.zeros(3, 5)
    forbid_early_end(logits, torch.tensor([1, 2, 3]), end=3, minimum=3)
    assert logits.isinf().nonzero().tolist() == [[0, 3], [1, 3]]
    logits = torch.zeros(3, 5)
    force(logits, torch.tensor([2, 0]), columns=torch.tensor([1, 4]), values=torch.tensor([-7.0, -8.0]))
    assert logits[2, 1] == -7.0
    assert logits[0, 4] == -8.0
    assert logits.isinf().sum(dim=1).tolist() == [4, 0, 4]
