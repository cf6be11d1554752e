"""A beam search of a TextDecoder in C: many steps in one call (native/searching.c).

open hypotheses → [decoder, choices, hypotheses moved]* → those still open, and those that have ended

Python would take longer for the bookkeeping of a small model's step than the step itself takes.
"""

import ctypes
from collections.abc import Sequence

import torch
from torch import Tensor

from jumok.decoding.native_step import NativeStep
from jumok.decoding.state import AttendingState
from jumok.native.build import kernels
from jumok.native.kernels import NO_MEMORY, floats, integers
from jumok.nn.model import EndedHypotheses, OpenHypotheses, SearchRequest, SearchResult

# N sentences · W hypotheses of each · R = N × W hypotheses · T room for tokens · E hypotheses that have ended

WORK = 50_000_000_000  # products of two numbers in one call, about a second: Ctrl-C waits for its end
OPEN = ("next", "length", "total", "tokens", "log_probabilities", "longest", "ended")  # the fields of OpenHypotheses


class _RequestArguments(ctypes.Structure):
    """struct search_request of searching.c."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("width", "steps", "until", "never_count")),
        ("end", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("never", "shortlist")),
    )


class _OpenArguments(ctypes.Structure):
    """struct open_hypotheses of searching.c."""

    _fields_ = (
        ("sentences", ctypes.c_int),
        ("room", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("sentence", *OPEN)),
    )


class _EndedArguments(ctypes.Structure):
    """struct ended_hypotheses of searching.c."""

    _fields_ = (("count", ctypes.c_int), *((name, ctypes.c_void_p) for name in EndedHypotheses._fields))


def search_on(
    step: NativeStep, state: AttendingState, hypotheses: OpenHypotheses, request: SearchRequest
) -> SearchResult[AttendingState]:
    """Take at least one step of a search, and go on as far as the request says."""
    library = kernels()
    assert library is not None
    sentences, room = len(hypotheses.longest), hypotheses.tokens.shape[1]
    _check(hypotheses, rows=sentences * request.width)
    sentence, length = torch.arange(sentences), hypotheses.length
    step.describe_projection(state)
    steps = min(request.steps, 1 + WORK // (len(hypotheses.next) * step.size))
    arguments = step.describe(hypotheses.next, length, sentence, state, steps=steps)
    most = 3 * request.width * sentences  # a beam that ends, a beam that ends in the step after it, a beam that is cut
    ended = EndedHypotheses(
        torch.empty(most, dtype=torch.int64), torch.empty(most, dtype=torch.int64), torch.empty(most),
        torch.empty(most, room, dtype=torch.int64), torch.empty(most, room),
    )  # fmt: skip
    never = torch.tensor(request.never, dtype=torch.int64)
    assert request.shortlist is None or len(request.shortlist) == step.decoder.vocabulary
    shortlist = None if request.shortlist is None else integers(request.shortlist)
    asked = _RequestArguments(
        width=request.width, steps=steps, until=request.until, never_count=len(never), end=request.end,
        never=never.data_ptr(), shortlist=shortlist,
    )  # fmt: skip
    given = _OpenArguments(sentences, room, *_addresses([sentence, *(getattr(hypotheses, name) for name in OPEN)]))
    found = _EndedArguments(0, *_addresses(ended))
    taken = library.search_on(*(ctypes.byref(each) for each in (step.decoder, arguments, asked, given, found)))
    if taken == NO_MEMORY:
        raise MemoryError("no memory for a search; use a smaller --batch-size")
    if taken < 0:
        step.refuse()
    left, sentence = given.sentences * request.width, sentence[: given.sentences]
    still_open = OpenHypotheses(
        next=hypotheses.next[:left],
        length=hypotheses.length[:left],
        total=hypotheses.total[:left],
        tokens=hypotheses.tokens[:left],
        log_probabilities=hypotheses.log_probabilities[:left],
        longest=hypotheses.longest[: given.sentences],
        ended=hypotheses.ended[: given.sentences],
    )
    return SearchResult(
        still_open,
        state.moved(still_open.length, sentence),
        sentence,
        EndedHypotheses(*(tensor[: found.count] for tensor in ended)),
    )


def _check(hypotheses: OpenHypotheses, *, rows: int) -> None:
    """Check that there are so many hypotheses, each with as much room as the others; C checks what stands in them."""
    sizes = {len(tensor) for tensor in (hypotheses.next, hypotheses.length, hypotheses.total)}
    assert sizes == {rows}
    assert hypotheses.tokens.shape == hypotheses.log_probabilities.shape == (rows, hypotheses.tokens.shape[1])
    assert len(hypotheses.ended) == len(hypotheses.longest)


def _addresses(tensors: Sequence[Tensor]) -> list[ctypes.c_void_p]:
    return [(floats if tensor.is_floating_point() else integers)(tensor) for tensor in tensors]
