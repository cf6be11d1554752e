"""The one search loop: it drives any Decoder[Any, Any] and knows nothing about what is inside.

inputs → longest first → a batch that is kept full (search.py) → hypotheses, in the order of the inputs

Sentences that are done leave the batch at once. Waiting ones take their room as soon as a quarter of it is free: they are
encoded, prefilled and joined to the running rows, which may be at different lengths.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from jumok.config import DecodingConfig
from jumok.decoding.hypotheses import Hypothesis
from jumok.decoding.search import ObservedExtend, Search
from jumok.nn.model import Decoder


def generate(
    decoder: Decoder[Any, Any],
    inputs: Sequence[Any],
    *,
    collate: Callable[[Sequence[Any]], Any],
    lengths: Sequence[int],
    options: DecodingConfig,
    start: int,
    end: int,
    pad: int,
    prefixes: Sequence[Sequence[int]] | None = None,
    limit: int = 0,
    progress: Callable[[int], None] | None = None,
    observed_extend: ObservedExtend | None = None,
    shortlists: Sequence[Tensor] | None = None,
) -> list[list[Hypothesis]]:
    """Return the n best hypotheses of each input, best first, in the order of the inputs.

    lengths are those of the sources, limit the most tokens the model can write (0: any number). progress is told how
    many sentences are done since it was last called. observed_extend is needed for a coverage penalty. shortlists are
    the tokens worth trying for each input, where not all are; inputs that run side by side share theirs.
    """
    with torch.inference_mode():
        search = Search(
            decoder, inputs, collate=collate, lengths=lengths, options=options, start=start, end=end, pad=pad,
            prefixes=prefixes, limit=limit, observed_extend=observed_extend, shortlists=shortlists,
        )  # fmt: skip
        waiting = sorted(range(len(inputs)), key=lambda index: lengths[index])  # the longest last: taken from the end
        done = 0
        while waiting or search.rows is not None:
            if waiting and (search.rows is None or 4 * search.room >= options.batch_size):
                search.admit([waiting.pop() for _ in range(min(search.room, len(waiting)))])
            else:
                search.step(until=options.batch_size - -(-options.batch_size // 4) if waiting else 0)
            reached = len(inputs) - len(waiting) - search.running
            if progress is not None and reached > done:
                progress(reached - done)
            done = reached
    ranked = (sorted(found, key=lambda hypothesis: -hypothesis.score) for found in search.found)
    return [found[: options.n_best] for found in ranked]


@torch.inference_mode()
def stream(
    decoder: Decoder[Any, Any],
    source: Any,
    *,
    collate: Callable[[Sequence[Any]], Any],
    length: int,
    options: DecodingConfig,
    start: int,
    end: int,
    pad: int,
    prefix: Sequence[int] = (),
    limit: int = 0,
    special_start: bool = True,
) -> Iterator[tuple[int, float]]:
    """Yield the tokens of one input's answer and their log-probabilities as they are chosen, the end left out.

    special_start says that start is a mark of its own, which is never written.
    Drawn at random when options.sample, else greedy whatever the beam: a beam knows its first word only at the end.
    """
    single = options.model_copy(update={"beam": 1, "n_best": 1, "coverage_penalty": 0.0})
    search = Search(
        decoder, [source], collate=collate, lengths=[length], options=single, start=start, end=end, pad=pad,
        prefixes=[prefix], limit=limit, special_start=special_start,
    )  # fmt: skip
    search.at_once = 1  # each word is shown when it is written
    search.admit([0])
    told = 0
    while search.rows is not None:
        written = int(search.rows.length[0])
        for place in range(told, written):
            yield int(search.rows.tokens[0, place]), float(search.rows.log_probabilities[0, place])
        told = written
        search.step()
    answer = search.found[0][0]
    yield from list(zip(answer.tokens, answer.token_log_probabilities, strict=False))[told:]
