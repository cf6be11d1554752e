"""A beam search of a Transformer in C: many steps in one call (native/searching.c).

hypotheses in the making → [decoder, choices, rows moved]* → those still in the making, and those that have ended

Python would take longer for the books of a small model's step than the step itself takes.
"""

import ctypes

import torch

from jumok.decoding.frontier import Ask, Closed, Frontier, Reached
from jumok.decoding.native_step import NativeStep
from jumok.decoding.state import AttendingState
from jumok.native.build import kernels

# N sentences · W rows of each · R = N × W rows · T room for tokens · E hypotheses that have ended


class _Search(ctypes.Structure):
    """struct search of searching.c."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("width", "sentences", "most", "least", "nevers", "room")),
        ("end", ctypes.c_int64),
        *(
            (name, ctypes.c_void_p)
            for name in (
                *("never", "words", "place", "longest", "finished"),
                *("tokens", "lengths", "written", "totals", "chances"),
            )
        ),
        ("closed", ctypes.c_int),
        *((f"closed_{name}", ctypes.c_void_p) for name in ("place", "lengths", "written", "totals", "chances")),
    )


WORK = 50_000_000_000  # products of two numbers in one call, about a second: Ctrl-C waits for its end


def search_on(step: NativeStep, state: AttendingState, frontier: Frontier, ask: Ask) -> Reached:
    """Take at least one step of a search, and go on as long as is asked for."""
    library = kernels()
    assert library is not None
    sentences, room = len(frontier.longest), frontier.written.shape[1]
    place, lengths = torch.arange(sentences), state.cache.lengths.clone()
    step.describe_projection(state)
    steps = min(ask.most, 1 + WORK // (len(frontier.tokens) * step.size))
    rows = step.describe(frontier.tokens, lengths, place, state, more=steps)
    most = 3 * ask.width * sentences  # a beam that ends, a beam that ends in the step after it, a beam that is cut
    closed = Closed(
        torch.empty(most, dtype=torch.int64), torch.empty(most, dtype=torch.int64), torch.empty(most),
        torch.empty(most, room, dtype=torch.int64), torch.empty(most, room),
    )  # fmt: skip
    never = torch.tensor(ask.never, dtype=torch.int64)
    search = _Search(
        width=ask.width, sentences=sentences, most=steps, least=ask.least, nevers=len(never), room=room,
        end=ask.end, never=never.data_ptr(), words=None if ask.words is None else ask.words.data_ptr(),
        place=place.data_ptr(), longest=frontier.longest.data_ptr(), finished=frontier.finished.data_ptr(),
        tokens=frontier.tokens.data_ptr(), lengths=lengths.data_ptr(), written=frontier.written.data_ptr(),
        totals=frontier.totals.data_ptr(), chances=frontier.chances.data_ptr(),
        **{f"closed_{name}": tensor.data_ptr() for name, tensor in closed._asdict().items()},
    )  # fmt: skip
    if library.search_on(ctypes.byref(step.model), ctypes.byref(rows), ctypes.byref(search)) < 0:
        raise MemoryError("no memory for a search; use a smaller --batch-size")
    left, place = search.sentences * ask.width, place[: search.sentences]
    frontier = Frontier(
        *(tensor[:left] for tensor in (frontier.tokens, frontier.totals, frontier.written, frontier.chances)),
        *(tensor[: search.sentences] for tensor in (frontier.longest, frontier.finished)),
    )
    ended = Closed(*(tensor[: search.closed] for tensor in closed))
    return Reached(frontier, state.moved(lengths[:left], place), place, ended)
