"""A beam search of a Transformer in C: many steps in one call (native/searching.c).

open hypotheses → [decoder, choices, hypotheses moved]* → those still open, and those that have ended

Python would take longer for the bookkeeping of a small model's step than the step itself takes.
"""

import ctypes

import torch

from jumok.decoding.native_step import NativeStep
from jumok.decoding.state import AttendingState
from jumok.native.build import kernels
from jumok.nn.model import EndedHypotheses, OpenHypotheses, SearchRequest, SearchResult

# N sentences · W hypotheses of each · R = N × W hypotheses · T room for tokens · E hypotheses that have ended


class _Search(ctypes.Structure):
    """struct search of searching.c."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("width", "sentences", "steps", "least", "nevers", "room")),
        ("end", ctypes.c_int64),
        *(
            (name, ctypes.c_void_p)
            for name in (
                *("never", "shortlist", "sentence", "longest", "ended"),
                *("next", "length", "tokens", "total", "log_probabilities"),
            )
        ),
        ("done", ctypes.c_int),
        *((f"done_{name}", ctypes.c_void_p) for name in ("sentence", "length", "tokens", "total", "log_probabilities")),
    )


WORK = 50_000_000_000  # products of two numbers in one call, about a second: Ctrl-C waits for its end


def search_on(
    step: NativeStep, state: AttendingState, hypotheses: OpenHypotheses, request: SearchRequest
) -> SearchResult[AttendingState]:
    """Take at least one step of a search, and go on as far as the request says."""
    library = kernels()
    assert library is not None
    sentences, room = len(hypotheses.longest), hypotheses.tokens.shape[1]
    sentence, length = torch.arange(sentences), state.cache.lengths.clone()
    step.describe_projection(state)
    steps = min(request.steps, 1 + WORK // (len(hypotheses.next) * step.size))
    rows = step.describe(hypotheses.next, length, sentence, state, more=steps)
    most = 3 * request.width * sentences  # a beam that ends, a beam that ends in the step after it, a beam that is cut
    done = EndedHypotheses(
        torch.empty(most, dtype=torch.int64), torch.empty(most, dtype=torch.int64), torch.empty(most),
        torch.empty(most, room, dtype=torch.int64), torch.empty(most, room),
    )  # fmt: skip
    never = torch.tensor(request.never, dtype=torch.int64)
    search = _Search(
        width=request.width, sentences=sentences, steps=steps, least=request.sentences, nevers=len(never), room=room,
        end=request.end, never=never.data_ptr(),
        shortlist=None if request.shortlist is None else request.shortlist.data_ptr(),
        sentence=sentence.data_ptr(), longest=hypotheses.longest.data_ptr(), ended=hypotheses.ended.data_ptr(),
        next=hypotheses.next.data_ptr(), length=length.data_ptr(), tokens=hypotheses.tokens.data_ptr(),
        total=hypotheses.total.data_ptr(), log_probabilities=hypotheses.log_probabilities.data_ptr(),
        **{f"done_{name}": tensor.data_ptr() for name, tensor in done._asdict().items()},
    )  # fmt: skip
    if library.search_on(ctypes.byref(step.model), ctypes.byref(rows), ctypes.byref(search)) < 0:
        raise MemoryError("no memory for a search; use a smaller --batch-size")
    left, sentence = search.sentences * request.width, sentence[: search.sentences]
    open_still = OpenHypotheses(
        *(
            tensor[:left]
            for tensor in (hypotheses.next, hypotheses.total, hypotheses.tokens, hypotheses.log_probabilities)
        ),
        *(tensor[: search.sentences] for tensor in (hypotheses.longest, hypotheses.ended)),
    )
    ended = EndedHypotheses(*(tensor[: search.done] for tensor in done))
    return SearchResult(open_still, state.moved(length[:left], sentence), sentence, ended)
