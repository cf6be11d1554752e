"""Many inputs answered by a search: in this process, or shared among several where that is faster."""

from collections.abc import Callable, Sequence
from typing import Any

from jumok.config import DecodingConfig
from jumok.decoding.workers import portions, processes_for, share
from jumok.nn.model import Decoder
from jumok.nn.threads import one_thread, one_thread_for
from jumok.tasks.writing import Answer

AnswerSome = Callable[[Sequence[int], Callable[[int], None] | None], list[list[Answer]]]


def answer_all(
    answer: AnswerSome,
    lengths: Sequence[int],
    *,
    model: Decoder[Any, Any],
    options: DecodingConfig,
    progress: Callable[[int], None] | None = None,
) -> list[list[Answer]]:
    """Return the answers to inputs of these lengths in their order; answer gets the places of some of them."""
    count = processes_for(len(lengths), wanted=options.workers, portion=options.batch_size, device=model.device)
    if count == 1 or options.sample:  # what is drawn depends on an input's place in the call
        hypotheses = min(len(lengths), options.batch_size) * options.beam
        with one_thread_for(hypotheses, model):
            return answer(range(len(lengths)), progress)
    with one_thread():  # as each of the processes has
        model.prepare()
    given = portions(lengths, processes=count, portion=options.batch_size)
    return share(lambda portion: answer(portion, None), given, processes=count, progress=progress)
