"""Greedy and random choice: the right distribution, and the same one in any company."""

import pytest
import torch

from jumok.decoding.logits import likeliest
from jumok.decoding.sampling import NUCLEUS, draw, truncate
from jumok.errors import RunError


def first_tokens(toy, decoder, *, draws, **options):
    """Return how often each token was drawn first, over many copies of one sentence."""
    found = toy.answers(decoder, [[5, 7]] * draws, sample=True, max_length=1, **options)
    written = [h.tokens[0] if h.tokens else toy.END for (h,) in found]
    return torch.bincount(torch.tensor(written), minlength=decoder.table.shape[-1]).double()


def first_logits(toy, decoder):
    state = decoder.start(decoder.encode(toy.collate([[5, 7]])))
    logits = decoder.extend(torch.tensor([[toy.START]]), state)[0][0, 0].double()
    logits[[toy.PAD, toy.START]] = float("-inf")
    return logits


@pytest.mark.parametrize("temperature", [1.0, 0.6, 2.5])
def test_draws_follow_the_softmax(toy, temperature):
    decoder, draws = toy.Decoder(), 3000
    counts = first_tokens(toy, decoder, draws=draws, temperature=temperature, batch_size=512)
    expected = draws * (first_logits(toy, decoder) / temperature).softmax(dim=0)
    possible = expected > 0
    assert counts[~possible].sum() == 0
    surprise = ((counts - expected) ** 2 / expected)[possible].sum()
    assert surprise < 21.0  # chi-square with 8 degrees of freedom: exceeded in fewer than 1 of 100 seeds


def test_top_k_and_top_p_leave_the_right_tokens(toy):
    decoder, draws = toy.Decoder(), 2000
    logits = first_logits(toy, decoder)
    order = logits.argsort(descending=True)
    counts = first_tokens(toy, decoder, draws=draws, top_k=3, temperature=3.0, batch_size=512)
    assert set(counts.nonzero()[:, 0].tolist()) == set(order[:3].tolist())
    cumulated = (logits / 3.0).softmax(dim=0)[order].cumsum(dim=0)
    share = float(cumulated[3] + cumulated[4]) / 2  # the fifth token is the one that reaches this share
    counts = first_tokens(toy, decoder, draws=draws, top_p=share, temperature=3.0, batch_size=512)
    assert set(counts.nonzero()[:, 0].tolist()) == set(order[:5].tolist())
    expected = draws * (logits / 3.0)[order[:5]].softmax(dim=0)
    assert ((counts[order[:5]] - expected) ** 2 / expected).sum() < 14.0


@pytest.mark.parametrize("narrow", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-4}])
def test_a_narrow_choice_is_greedy(toy, sources, narrow):
    decoder = toy.Decoder()
    assert toy.answers(decoder, sources, sample=True, **narrow) == toy.answers(decoder, sources, beam=1)


def test_seeds_decide_and_nothing_else_does(toy, sources):
    decoder = toy.Decoder()
    first = toy.answers(decoder, sources, sample=True, seed=7, n_best=2)
    torch.manual_seed(99)
    assert toy.answers(decoder, sources, sample=True, seed=7, n_best=2, batch_size=2) == first
    assert toy.answers(decoder, sources, sample=True, seed=8, n_best=2) != first
    before = torch.random.get_rng_state()
    toy.answers(decoder, sources, sample=True)
    assert torch.equal(before, torch.random.get_rng_state())  # a training run's own numbers are left alone


def test_equal_sentences_and_copies_are_drawn_independently(toy):
    decoder = toy.Decoder(hurry=0.0)
    found = toy.answers(decoder, [[9, 9, 9]] * 6, sample=True, n_best=4, temperature=2.0)
    assert all(len(hypotheses) == 4 for hypotheses in found)
    assert len({tuple(hypothesis.tokens) for hypotheses in found for hypothesis in hypotheses}) > 18


@pytest.mark.parametrize("count", [1, 2, 10])
@pytest.mark.parametrize("vocabulary", [11, 997, 1600])
def test_likeliest_is_topk(vocabulary, count):
    """With many forbidden tokens, and a vocabulary that does not divide into blocks."""
    logits = torch.randn(7, vocabulary, generator=torch.Generator().manual_seed(vocabulary))
    logits[:, ::3] = float("-inf")
    logits[3, 4:] = float("-inf")
    logits[5, -1] = 9.0  # in the rest that fills no block
    values, tokens = likeliest(logits, count)
    assert torch.equal(values, logits.topk(count, dim=1).values)
    assert torch.equal(logits.gather(1, tokens), values)
    assert all(len(set(row)) == count for row in tokens.tolist())


def test_a_nucleus_wider_than_the_first_guess_is_still_exact():
    logits = torch.randn(5, 4 * NUCLEUS, generator=torch.Generator().manual_seed(1))
    weights, tokens = truncate(logits, top_k=0, top_p=0.97)
    for row in range(5):
        ordered, places = logits[row].double().softmax(dim=0).sort(descending=True)
        kept = int((ordered.cumsum(dim=0) < 0.97).sum()) + 1
        assert kept > NUCLEUS
        assert int((weights[row] > 0).sum()) == pytest.approx(kept, abs=1)
        assert torch.equal(tokens[row, : kept - 1], places[: kept - 1])


def test_nothing_without_weight_is_ever_drawn():
    weights = torch.tensor([[0.0, 0.0, 0.3, 0.0, 0.1, 0.0]])
    for noise, place in ((0.0, 2), (0.74, 2), (0.76, 4), (1.0 - 2.0**-23, 4)):
        assert draw(weights, torch.tensor([[noise]])).item() == place


def test_a_model_without_probabilities_is_told(toy, sources):
    decoder = toy.Decoder()
    decoder.table.fill_(torch.nan)
    with pytest.raises(
        RunError, match=r"^the model's scores of the next token are no numbers .*; use another checkpoint, or train"
    ):
        toy.answers(decoder, sources, sample=True)
