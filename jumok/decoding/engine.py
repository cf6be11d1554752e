"""Answers to many requests, or one answer token by token: two small loops around a Search, for any decoder.

requests → longest first → a batch that is kept full (search.py) → hypotheses, in the order of the requests

Sentences that are done leave the batch at once. Waiting ones take their room as soon as a quarter of it is free: they are
encoded, prefilled and joined to the running hypotheses, which may be at different lengths.
"""

from collections.abc import Callable, Iterator, Sequence

from jumok.config import DecodingConfig
from jumok.decoding.hypotheses import Hypothesis
from jumok.decoding.requests import InputT, Marks, Request
from jumok.decoding.search import ObservedExtend, Search
from jumok.nn.model import BatchT, Decoder, StateT
from jumok.nn.threads import one_thread_for


def generate(
    decoder: Decoder[BatchT, StateT],
    requests: Sequence[Request[InputT]],
    *,
    collate: Callable[[Sequence[InputT]], BatchT],
    options: DecodingConfig,
    marks: Marks,
    progress: Callable[[int], None] | None = None,
    observed_extend: ObservedExtend[StateT] | None = None,
) -> list[list[Hypothesis]]:
    """Return the n best hypotheses of each request, best first, in the order of the requests.

    progress is told how many sentences are done since it was last called. A coverage penalty needs observed_extend.
    """
    search = Search(decoder, collate=collate, options=options, marks=marks, observed_extend=observed_extend)
    ids = search.add(requests)
    while search.busy:
        finished = search.step()
        if progress is not None and finished:
            progress(len(finished))
    return [search.take(each) for each in ids]


def stream(
    decoder: Decoder[BatchT, StateT],
    request: Request[InputT],
    *,
    collate: Callable[[Sequence[InputT]], BatchT],
    options: DecodingConfig,
    marks: Marks,
) -> Iterator[tuple[int, float]]:
    """Yield the tokens of one request's answer and their log-probabilities as they are chosen, the end left out.

    They are drawn at random when options.sample, else chosen greedily whatever the beam: a beam knows its first token
    only at the end.
    """
    single = options.model_copy(update={"beam": 1, "n_best": 1, "coverage_penalty": 0.0})
    search = Search(decoder, collate=collate, options=single, marks=marks)
    search.steps_at_once = 1  # each token is shown when it is chosen
    (number,) = search.add([request])
    shown = 0
    while search.busy:
        with one_thread_for(1, decoder):  # not around the yield: between two tokens the threads are the caller's
            search.step()
        new = search.so_far(number, shown)
        yield from new
        shown += len(new)
    (answer,) = search.take(number)
    yield from list(zip(answer.tokens, answer.token_log_probabilities, strict=False))[shown:]
