"""The engine: batches of any size agree, sentences leave and enter, prefixes, lengths, scores, streams."""

import pytest
import torch

from jumok.config import DecodingConfig
from jumok.decoding import Marks, Request, stream
from jumok.errors import ConfigError

STRATEGIES = [
    {"beam": 1},
    {"beam": 3, "n_best": 3},
    {"beam": 4, "n_best": 2, "length_penalty": 0.6, "no_repeat_ngram": 2, "min_length": 3},
    {"sample": True, "seed": 3},
    {"sample": True, "n_best": 3, "temperature": 0.7, "top_k": 5, "top_p": 0.9},
]


@pytest.mark.parametrize("options", STRATEGIES)
@pytest.mark.parametrize("prefixed", [False, True])
def test_a_batch_of_one_equals_a_batch_of_many(toy, sources, options, prefixed):
    """Refilling mixes sentences at different steps: rows, prefixes or random numbers could be swapped."""
    decoder = toy.Decoder()
    prefixes = [[5, 6, 7, 3][: index % 5] for index in range(len(sources))] if prefixed else None
    whole = toy.answers(decoder, sources, prefixes=prefixes, batch_size=64, **options)
    for batch_size in (1, 2, 5):
        assert toy.answers(decoder, sources, prefixes=prefixes, batch_size=batch_size, **options) == whole
    if not options.get("sample"):
        for index, source in enumerate(sources):
            alone = toy.answers(decoder, [source], prefixes=prefixes and [prefixes[index]], **options)
            assert alone == [whole[index]]


@pytest.mark.parametrize("options", STRATEGIES)
@pytest.mark.parametrize("prefixed", [False, True])
def test_scores_are_those_of_one_pass_over_the_answer(toy, sources, options, prefixed):
    decoder = toy.Decoder()
    prefixes = [[4, 9, 3][: 1 + index % 3] for index in range(len(sources))] if prefixed else None
    found = toy.answers(decoder, sources, prefixes=prefixes, batch_size=3, **options)
    penalty = options.get("length_penalty", 1.0)
    for source, hypotheses in zip(sources, found, strict=True):
        assert len(hypotheses) == options.get("n_best", 1)
        for hypothesis in hypotheses:
            expected = toy.rescore(decoder, source, hypothesis)
            torch.testing.assert_close(torch.tensor(hypothesis.token_log_probabilities), expected)
            assert hypothesis.log_probability == pytest.approx(expected.sum().item(), abs=1e-4)
            length = len(hypothesis.tokens) + hypothesis.finished
            assert hypothesis.score == pytest.approx(expected.sum().item() / length**penalty, abs=1e-4)
        assert hypotheses == sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)


def test_finished_rows_leave_at_once_and_waiting_ones_enter(toy, sources):
    decoder = toy.Decoder()
    found = toy.answers(decoder, sources, beam=1, batch_size=4)
    tokens = sum(len(hypotheses[0].token_log_probabilities) for hypotheses in found)
    assert sum(decoder.fed) == tokens  # not one row was extended in vain
    assert max(decoder.fed) == 4
    assert decoder.encoded[0] == 4
    assert len(decoder.encoded) > 3  # more often than three full batches would
    assert sum(decoder.encoded) == len(sources)


def test_refills_wait_until_a_quarter_of_the_room_is_free(toy):
    decoder = toy.Decoder()
    toy.answers(decoder, [[3 + index] * 4 for index in range(60)], beam=2, batch_size=20)
    assert decoder.encoded[0] == 20
    assert min(decoder.encoded[:-1]) >= 5


def test_long_sentences_go_first_and_answers_keep_the_order(toy, sources):
    decoder, seen = toy.Decoder(), []
    original = decoder.encode
    decoder.encode = lambda inputs: (seen.extend((inputs != toy.PAD).sum(dim=1).tolist()), original(inputs))[1]
    found = toy.answers(decoder, sources, beam=2, batch_size=2)
    assert seen == sorted(map(len, sources), reverse=True)
    assert [hypotheses[0] for hypotheses in found] == [toy.answers(decoder, [s], beam=2)[0][0] for s in sources]


def test_nothing_in_nothing_out(toy):
    for options in STRATEGIES:
        assert toy.answers(toy.Decoder(), [], **options) == []


@pytest.mark.parametrize("options", STRATEGIES)
def test_progress_counts_every_sentence_once(toy, sources, options):
    told = []
    toy.answers(toy.Decoder(), sources, progress=told.append, batch_size=3, **options)
    assert sum(told) == len(sources)
    assert len(told) > 2
    assert min(told) > 0


@pytest.mark.parametrize("options", STRATEGIES)
def test_lengths_stay_within_their_bounds(toy, sources, options):
    eager, endless = toy.Decoder(hurry=5.0), toy.Decoder()
    endless.table[..., toy.END] = -50.0
    for hypotheses in toy.answers(eager, sources, **{**options, "min_length": 6}):
        assert all(len(hypothesis.tokens) >= 6 for hypothesis in hypotheses)
    for hypotheses in toy.answers(endless, sources, **{**options, "max_length": 5}):
        assert all(len(hypothesis.tokens) == 5 and not hypothesis.finished for hypothesis in hypotheses)
    endless.limit = 17
    for source, hypotheses in zip(sources, toy.answers(endless, sources, **options), strict=True):
        assert all(len(hypothesis.tokens) == min(2 * len(source) + 10, 17) for hypothesis in hypotheses)


@pytest.mark.parametrize("options", STRATEGIES)
def test_prefixes_are_forced_whatever_the_rules_say(toy, sources, options):
    """The third prefix repeats itself and holds the padding token: a prefix outranks every rule."""
    prefixes = [[3 + (index + place) % 8 for place in range(index % 4)] for index in range(len(sources))]
    prefixes[2] = [7, 7, 7, toy.PAD, 7, 7]
    decoder = toy.Decoder()
    for prefix, hypotheses in zip(prefixes, toy.answers(decoder, sources, prefixes=prefixes, **options), strict=True):
        assert all(hypothesis.tokens[: len(prefix)] == prefix for hypothesis in hypotheses)
        if not options.get("sample"):
            assert len({tuple(hypothesis.tokens) for hypothesis in hypotheses}) == len(hypotheses)


@pytest.mark.parametrize("options", [{"beam": 1}, {"sample": True, "seed": 3}])  # a beam would be freed for others
def test_a_prefix_of_what_would_be_written_anyway_changes_nothing(toy, sources, options):
    decoder = toy.Decoder()
    plain = toy.answers(decoder, sources, **options)
    prefixes = [hypotheses[0].tokens[: 1 + index % 3] for index, hypotheses in enumerate(plain)]
    again = toy.answers(decoder, sources, prefixes=prefixes, batch_size=2, **options)
    for (before,), (after,) in zip(plain, again, strict=True):
        assert after.tokens == before.tokens
        assert after.score == pytest.approx(before.score, abs=1e-5)


def test_a_shared_prefix_is_read_in_one_call(toy, sources):
    decoder = toy.Decoder()
    (plain,) = toy.answers(decoder, sources[:1], beam=1)[0]
    decoder.fed.clear()
    toy.answers(decoder, sources[:1], beam=1, prefixes=[plain.tokens[:2]])
    assert len(decoder.fed) == len(plain.token_log_probabilities) - 2


def test_prefixes_that_cannot_be_are_refused(toy, sources):
    with pytest.raises(ConfigError, match="prefix of 4 tokens leaves no room in an answer of at most 4"):
        toy.answers(toy.Decoder(), sources[:1], prefixes=[[5, 5, 5, 5]], max_length=4)
    with pytest.raises(ConfigError, match="must not hold the end token"):
        toy.answers(toy.Decoder(), sources[:1], prefixes=[[5, toy.END]])


@pytest.mark.parametrize("options", STRATEGIES)
def test_padding_and_start_are_never_written(toy, sources, options):
    decoder = toy.Decoder()
    decoder.table[..., [toy.PAD, toy.START]] += 5.0
    for hypotheses in toy.answers(decoder, sources, **options):
        assert all(min(hypothesis.tokens, default=9) > toy.END for hypothesis in hypotheses)


def test_a_start_that_is_an_ordinary_token_may_be_written(toy, sources):
    decoder = toy.Decoder(hurry=-50.0)
    decoder.table[..., toy.START] += 50.0
    for writes_start in (True, False):
        marks = Marks(toy.START, toy.END, toy.PAD, writes_start=writes_start)
        request, options = Request(sources[0], 4), DecodingConfig(max_length=6)
        tokens = [token for token, _ in stream(decoder, request, collate=toy.collate, options=options, marks=marks)]
        assert (toy.START in tokens) == writes_start
        assert toy.PAD not in tokens


@pytest.mark.parametrize("options", [*STRATEGIES, {"beam": 6}])
@pytest.mark.parametrize("prefix", [[], [4, 8]])
def test_a_stream_equals_generate(toy, sources, options, prefix):
    """Streaming is greedy where it does not draw, whatever the beam."""
    decoder = toy.Decoder()
    for source in sources:
        request = Request(source, len(source), prefix)
        streamed = stream(decoder, request, collate=toy.collate, options=DecodingConfig(**options), marks=toy.MARKS)
        tokens, log_probabilities = [], []
        for token, log_probability in streamed:
            assert not torch.is_inference_mode_enabled()  # the caller's own mode is left alone between tokens
            tokens.append(token)
            log_probabilities.append(log_probability)
        single = {**options, "beam": 1, "n_best": 1}
        ((expected,),) = toy.answers(decoder, [source], prefixes=[prefix], **single)
        assert tokens == expected.tokens
        assert log_probabilities == pytest.approx(expected.token_log_probabilities[: len(tokens)])


def test_a_stream_writes_while_it_thinks(toy, sources):
    decoder = toy.Decoder(hurry=-50.0)
    streamed = stream(decoder, Request(sources[0], 4), collate=toy.collate, options=DecodingConfig(), marks=toy.MARKS)
    next(streamed)
    assert sum(decoder.fed) == 1


def test_coverage_ranks_by_what_was_looked_at(toy, sources):
    """The penalty worked out from a second pass, over refilled batches whose padding differs."""
    decoder, prefixes = toy.Decoder(), [[4, 6][: index % 3] for index in range(len(sources))]
    options = {"beam": 4, "n_best": 4, "coverage_penalty": 0.7, "length_penalty": 0.5}
    whole, refilled = (
        toy.answers(
            decoder, sources, prefixes=prefixes, observed_extend=decoder.observed_extend, batch_size=size, **options
        )
        for size in (1, 4)
    )
    for first, second in zip(whole, refilled, strict=True):
        assert [hypothesis.tokens for hypothesis in first] == [hypothesis.tokens for hypothesis in second]
        assert [hypothesis.score for hypothesis in first] == pytest.approx([hypothesis.score for hypothesis in second])
    for source, hypotheses in zip(sources, whole, strict=True):
        for hypothesis in hypotheses:
            written = hypothesis.tokens + [toy.END] * hypothesis.finished
            state = decoder.start(decoder.encode(toy.collate([source])))
            attention = decoder.observed_extend(torch.tensor([[toy.START, *written[:-1]]]), state)[2]
            covered = attention[0].sum(dim=0).clamp(max=1.0).clamp(min=1e-6).log().sum().item()
            expected = hypothesis.log_probability / len(written) ** 0.5 + 0.7 * covered
            assert hypothesis.score == pytest.approx(expected, rel=1e-4)
    plain = toy.answers(decoder, sources, prefixes=prefixes, **{**options, "coverage_penalty": 0.0})
    assert [[h.tokens for h in hypotheses] for hypotheses in plain] != [[h.tokens for h in hs] for hs in whole]


def test_coverage_without_attention_is_refused(toy, sources):
    with pytest.raises(ConfigError, match="no source attention to cover"):
        toy.answers(toy.Decoder(), sources, coverage_penalty=0.2)


def test_a_decoder_in_training_mode_is_refused(toy, sources):
    decoder = toy.Decoder()
    decoder.training = True
    with pytest.raises(AssertionError, match="eval"):
        toy.answers(decoder, sources)
