"""Beam search against greedy choice and against all answers there are."""

import itertools

import pytest
import torch

from jumok.decoding import search as searching
from jumok.decoding.beam import Beam


@pytest.mark.parametrize("extra", [{}, {"no_repeat_ngram": 2, "min_length": 4}, {"max_length": 3}])
@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_one_is_greedy(toy, sources, seed, extra, monkeypatch):
    decoder = toy.Decoder(seed=seed)
    prefixes = [[5][: index % 2] for index in range(len(sources))]
    greedy = toy.answers(decoder, sources, prefixes=prefixes, beam=1, batch_size=4, **extra)
    monkeypatch.setattr(searching, "choose_strategy", lambda options, **sizes: Beam(1, **sizes))
    assert toy.answers(decoder, sources, prefixes=prefixes, beam=1, batch_size=4, **extra) == greedy


def all_answers(toy, decoder, source, *, longest, prefix=()):
    """Return (tokens, finished, log-probability) of everything that can be written: ended, or cut at the longest."""
    content = range(3, decoder.table.shape[-1])
    for length in range(longest + 1):
        for tokens in itertools.product(content, repeat=length):
            if list(tokens[: len(prefix)]) == list(prefix):
                finished = length < longest
                answer = searching.Hypothesis(list(tokens), finished, 0.0, 0.0, [])
                yield list(tokens), finished, toy.rescore(decoder, source, answer).sum().item()


@pytest.mark.parametrize("penalty", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("prefix", [[], [4]])
def test_a_wide_enough_beam_finds_the_best_of_all_answers(toy, sources, penalty, prefix):
    decoder = toy.Decoder(vocabulary=5, seed=1)
    found = toy.answers(
        decoder, sources, prefixes=[prefix] * len(sources),
        beam=32, n_best=10, max_length=4, length_penalty=penalty, batch_size=3,
    )  # fmt: skip
    winners = set()
    for source, hypotheses in zip(sources, found, strict=True):
        every = [
            (probability / (len(tokens) + finished) ** penalty, tokens, finished)
            for tokens, finished, probability in all_answers(toy, decoder, source, longest=4, prefix=prefix)
        ]
        best = sorted(every, key=lambda answer: -answer[0])[:10]
        assert [(h.tokens, h.finished) for h in hypotheses] == [(tokens, finished) for _, tokens, finished in best]
        assert [h.score for h in hypotheses] == pytest.approx([score for score, *_ in best], abs=1e-5)
        winners.add(tuple(best[0][1]))
    assert len(winners) > 1  # the sentences are told apart


def plain_beam(toy, decoder, source, *, width, longest):
    """Return (tokens, log-probability) found by a beam search written with lists, one hypothesis at a time."""
    beam, finished = [([], 0.0)], []
    for length in range(1, longest + 1):
        candidates = []
        for tokens, total in beam:
            state = decoder.start(decoder.encode(toy.collate([source])))
            logits, _ = decoder.extend(torch.tensor([[toy.START, *tokens]]), state)
            for token, gain in enumerate(logits[0, -1].log_softmax(dim=0).tolist()):
                if token not in (toy.PAD, toy.START):
                    candidates.append(([*tokens, token], total + gain))
        candidates = sorted(candidates, key=lambda candidate: -candidate[1])[: 2 * width]
        finished += [candidate for candidate in candidates[:width] if candidate[0][-1] == toy.END]
        beam = [candidate for candidate in candidates if candidate[0][-1] != toy.END][:width]
        if len(finished) >= width:
            return finished
        if length == longest:
            return finished + beam
    raise AssertionError("unreachable")


@pytest.mark.parametrize("width", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_the_search_is_that_of_a_plain_beam(toy, sources, width, seed):
    decoder = toy.Decoder(seed=seed)
    found = toy.answers(decoder, sources, beam=width, n_best=width, max_length=7, batch_size=4)
    for source, hypotheses in zip(sources, found, strict=True):
        expected = plain_beam(toy, decoder, source, width=width, longest=7)
        expected = sorted(expected, key=lambda answer: -answer[1] / len(answer[0]))[:width]
        written = [h.tokens + [toy.END] * h.finished for h in hypotheses]
        assert written == [tokens for tokens, _ in expected]
        assert [h.log_probability for h in hypotheses] == pytest.approx([total for _, total in expected], abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_n_best_are_distinct_sorted_and_start_with_the_best(toy, sources, seed):
    decoder = toy.Decoder(seed=seed)
    several = toy.answers(decoder, sources, beam=5, n_best=5, batch_size=2)
    for hypotheses in several:
        assert len({tuple(hypothesis.tokens) for hypothesis in hypotheses}) == 5
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True)
    assert [hypotheses[:1] for hypotheses in several] == toy.answers(decoder, sources, beam=5)


def test_a_beam_finds_likelier_answers_than_greedy_choice(toy, sources):
    def total(**options):
        found = [toy.answers(toy.Decoder(seed=seed), sources, length_penalty=0.0, **options) for seed in range(5)]
        return sum(hypotheses[0].log_probability for answers in found for hypotheses in answers)

    assert total(beam=6) > total(beam=1) + 1.0


def test_the_search_ends_with_a_full_beam_of_finished_hypotheses(toy):
    """Every row wants to end: three hypotheses are there after a few steps, long before the longest length."""
    decoder = toy.Decoder(hurry=30.0)
    (hypotheses,) = toy.answers(decoder, [[5] * 40], beam=3, n_best=3)
    assert all(hypothesis.finished for hypothesis in hypotheses)
    assert len(decoder.fed) <= 4


def test_more_rows_than_words(toy, sources):
    """A beam wider than the vocabulary has rows that only keep their place; they must not become answers."""
    decoder = toy.Decoder(vocabulary=4)
    for hypotheses in toy.answers(decoder, sources, beam=9, n_best=9, max_length=5):
        written = [tuple(hypothesis.tokens) for hypothesis in hypotheses]
        assert len(set(written)) == len(written) == 6  # one word: ended after 0 to 4 of it, or cut after 5
        assert all(hypothesis.log_probability > -1e4 for hypothesis in hypotheses)


def test_a_model_that_finds_nothing_possible_still_gets_an_answer(toy, sources):
    decoder = toy.Decoder()
    decoder.table[..., 3:] = float("-inf")
    decoder.table[..., toy.END] = float("-inf")
    decoder.table[..., toy.PAD] = 0.0
    for hypotheses in toy.answers(decoder, sources, beam=3):
        assert len(hypotheses) == 1
        assert not torch.isfinite(torch.tensor(hypotheses[0].score))
