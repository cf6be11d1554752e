"""A search that is used as a server uses it: requests come, go and are taken between any two steps."""

from random import Random

import pytest
import torch

from jumok.config import DecodingConfig
from jumok.decoding import Marks, Request, Search, generate
from jumok.errors import ConfigError
from jumok.models.transformer import Transformer, TransformerConfig
from jumok.nn.batch import PairBatch

STRATEGIES = [
    {"beam": 1},
    {"beam": 3, "n_best": 3},
    {"beam": 2, "no_repeat_ngram": 2, "min_length": 3},
    {"sample": True, "seed": 3, "n_best": 2},
]
PREFIXES = [[5, 6, 7, 4][: number % 5] for number in range(9)]
PAD, START, END = 0, 2, 3  # of the Transformer


def transformer(vocabulary=40):
    """Return a random Transformer that ends its answers now and then."""
    torch.manual_seed(7)
    sizes = {"layers": 2, "width": 16, "heads": 2, "feedforward": 24, "source_vocabulary": 30, "tied": False}
    model = Transformer(TransformerConfig(**sizes, target_vocabulary=vocabulary)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, mean=0.0, std=0.6)
    with torch.no_grad():
        model.project.bias[END] += 9.0
    return model


def pairs(inputs):
    source = torch.nn.utils.rnn.pad_sequence(list(inputs), batch_first=True)
    return PairBatch(source, source > 0, source, source, source > 0)


def texts(count=9):
    draw = torch.Generator().manual_seed(1)
    return [torch.randint(4, 30, (1 + 5 * number % 11,), generator=draw) for number in range(count)]


def same(found, expected):
    """Assert that answers are equal: tokens exactly, numbers but for the rounding of other batch sizes."""
    assert [answer.tokens for answer in found] == [answer.tokens for answer in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.token_log_probabilities == pytest.approx(other.token_log_probabilities, abs=1e-4)
        assert one.score == pytest.approx(other.score, abs=1e-4)


def live(search, requests, draw):
    """Add requests in parts, step, drop and take, in a random order; return the answers of those not dropped."""
    waiting, kept, answers = list(requests), set(), {}
    while waiting or search.busy:
        action = draw.choice(["add", "step", "step", "step", "drop"])
        if action == "add" or not search.busy:
            count = draw.randint(1, 4)
            kept.update(search.add(waiting[:count]))
            del waiting[:count]
        elif action == "drop" and draw.random() < 0.5:
            dropped = draw.sample(sorted(kept), min(len(kept), draw.randint(0, 2)))
            search.drop(dropped)
            kept -= set(dropped)
            for each in dropped:
                answers.pop(each, None)
        else:
            for each in search.step():
                assert each in kept, "a dropped request was finished"
                if draw.random() < 0.5:
                    answers[each] = search.take(each)
    return answers | {each: search.take(each) for each in kept - set(answers)}


@pytest.mark.parametrize("options", STRATEGIES)
@pytest.mark.parametrize("prefixed", [False, True])
def test_whatever_comes_and_goes_each_request_gets_its_own_answer(toy, sources, options, prefixed):
    """With the toy, whose numbers are the same to the bit in any batch."""
    decoder, prefixes = toy.Decoder(), PREFIXES if prefixed else None
    whole = toy.answers(decoder, sources, prefixes=prefixes, **options)
    for seed in range(30):
        draw = Random(seed)
        config = DecodingConfig(**options, batch_size=draw.choice([1, 2, 4, 64]))
        search = Search(decoder, collate=toy.collate, options=config, marks=toy.MARKS)
        found = live(search, toy.requests(sources, prefixes), draw)
        assert found == {each: whole[each] for each in found}, f"seed {seed}"


MODEL = transformer()


@pytest.mark.parametrize("options", STRATEGIES)
@pytest.mark.parametrize("shortlisted", [False, True])
def test_the_same_with_key_value_caches_and_the_search_in_c(options, shortlisted):
    if shortlisted and ("sample" in options or "no_repeat_ngram" in options):
        pytest.skip("DecodingConfig refuses them together")
    # All prefixes are in it: the forced tokens of one are the shortlist of those beside it too.
    shortlist = torch.tensor([4, 5, 6, 7, 8, 11, 12, 21, 30, 33, 39]) if shortlisted else None
    requests = [Request(text, len(text), PREFIXES[number], shortlist) for number, text in enumerate(texts())]
    marks = Marks(START, END, PAD)
    whole = generate(MODEL, requests, collate=pairs, options=DecodingConfig(**options), marks=marks)
    for seed in range(15):
        draw = Random(seed)
        config = DecodingConfig(**options, batch_size=draw.choice([1, 3, 64]))
        search = Search(MODEL, collate=pairs, options=config, marks=marks)
        search.steps_at_once = draw.choice([1, 2, 32])
        for each, answers in live(search, requests, draw).items():
            same(answers, whole[each])


def test_shortlists_of_different_requests_meet_and_part():
    """Some have a shortlist, some have none, in any order: nobody writes what no one beside it may write."""
    marks, options = Marks(START, END, PAD), DecodingConfig(beam=2, batch_size=8)
    lists = [None, torch.tensor([4, 9, 17]), torch.tensor([5, 38]), None, torch.tensor([6])]
    requests = [Request(text, len(text), (), allowed) for text, allowed in zip(texts(5), lists, strict=True)]
    free = generate(MODEL, [requests[0], requests[3]], collate=pairs, options=options, marks=marks)
    for order in ([0, 1, 2, 3, 4], [1, 0, 4, 2, 3], [4, 2, 1, 3, 0]):
        search = Search(MODEL, collate=pairs, options=options, marks=marks)
        search.steps_at_once = 1
        numbers = {}
        for place in order:
            numbers[place] = search.add([requests[place]])[0]
            search.step(), search.step()
        while search.busy:
            search.step()
        found = {place: search.take(number) for place, number in numbers.items()}
        if order[0] == 0:
            same(found[0], free[0])  # the first runs with the whole vocabulary from its first token to its last
        assert all(found.values())
    together = generate(MODEL, [requests[1], requests[2], requests[4]], collate=pairs, options=options, marks=marks)
    tokens = {token for answers in together for answer in answers for token in answer.tokens}
    assert tokens <= {4, 9, 17, 5, 38, 6}


@pytest.mark.parametrize("options", STRATEGIES)
def test_dropping_all_leaves_nothing_and_the_search_goes_on(toy, sources, options):
    decoder = toy.Decoder()
    search = Search(decoder, collate=toy.collate, options=DecodingConfig(**options, batch_size=4), marks=toy.MARKS)
    ids = search.add(toy.requests(sources))
    search.step(), search.step()
    search.drop([*ids, 99])
    assert not search.busy
    assert search.batch is None
    assert search.room == 4
    assert search.step() == []
    (number,) = search.add(toy.requests(sources[:1]))
    while search.busy:
        search.step()
    if not options.get("sample"):  # what is drawn depends on the request's number
        assert [search.take(number)] == toy.answers(decoder, sources[:1], **options)


def test_an_answer_is_taken_once_and_not_before_it_is_there(toy, sources):
    search = Search(toy.Decoder(), collate=toy.collate, options=DecodingConfig(beam=2), marks=toy.MARKS)
    first, second = search.add(toy.requests(sources[:2]))
    with pytest.raises(KeyError, match="request 0 is not finished yet"):
        search.take(first)
    while search.busy:
        search.step()
    assert search.take(first)
    with pytest.raises(KeyError, match="request 0 is not in the search"):
        search.take(first)
    search.drop([second])
    with pytest.raises(KeyError, match="request 1 is not in the search"):
        search.take(second)


def test_a_request_that_is_refused_leaves_the_others_out_too(toy, sources):
    """Nothing is half added: the caller can mend the one and add all again."""
    search = Search(toy.Decoder(), collate=toy.collate, options=DecodingConfig(beam=2), marks=toy.MARKS)
    with pytest.raises(ConfigError, match="must not hold the end token"):
        search.add([*toy.requests(sources[:1]), Request(sources[1], 3, [5, toy.END])])
    assert not search.busy


def test_a_request_that_cannot_be_read_goes_on_waiting_and_can_be_dropped(toy, sources):
    search = Search(toy.Decoder(), collate=toy.collate, options=DecodingConfig(beam=2), marks=toy.MARKS)
    (good,) = search.add(toy.requests(sources[:1]))
    search.step()
    (bad,) = search.add([Request("no numbers", 9)])
    with pytest.raises(ValueError, match="too many dimensions"):
        search.step()
    search.drop([bad])
    while search.busy:
        search.step()
    assert [search.take(good)] == toy.answers(toy.Decoder(), sources[:1], beam=2)


def test_later_requests_do_not_pass_earlier_ones(toy, sources):
    decoder, seen = toy.Decoder(), []
    original = decoder.encode
    decoder.encode = lambda inputs: (seen.extend((inputs != toy.PAD).sum(dim=1).tolist()), original(inputs))[1]
    search = Search(decoder, collate=toy.collate, options=DecodingConfig(beam=1, batch_size=1), marks=toy.MARKS)
    search.add(toy.requests([[5], [6, 6, 6]]))
    search.add(toy.requests([[5] * 9, [7, 7]]))
    while search.busy:
        search.step()
    assert seen == [3, 1, 9, 2]


@pytest.mark.parametrize("options", STRATEGIES)
def test_the_tokens_so_far_become_the_answer(toy, sources, options):
    """Of a beam they are those of the best hypothesis, which may change its mind; else each token is told once."""
    search = Search(toy.Decoder(), collate=toy.collate, options=DecodingConfig(**options), marks=toy.MARKS)
    ids, told = search.add(toy.requests(sources)), {}
    assert search.so_far(ids[0]) == []
    while search.busy:
        for each in search.step():
            answer = search.take(each)[0]
            if options.get("beam") == 1:
                assert answer.tokens[: len(told[each])] == told[each]
            assert search.so_far(each) == []
        for each in ids:
            tokens = [token for token, _ in search.so_far(each)]
            if tokens and options.get("beam") == 1:
                assert tokens[: len(told.get(each, []))] == told.get(each, [])
                assert search.so_far(each, 1) == search.so_far(each)[1:]
            told[each] = tokens or told.get(each, [])
    assert all(told.values())


def test_the_callers_own_mode_is_left_alone(toy, sources):
    search = Search(toy.Decoder(), collate=toy.collate, options=DecodingConfig(beam=2), marks=toy.MARKS)
    ids = search.add(toy.requests(sources))
    search.step()
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()
    search.step()
    search.drop(ids[:3])
    search.step()
