"""What the tokens of a forecaster stand for: steps of the past and the forecast, patches of one variable, variables.

record of some windows → window_maps: the maps of one window (of patches: and one variable), with labels
Tokens has the steps that each token covers, counted from the first step of the past; the forecast's follow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jumok.inspection.record import AttentionMap, AttentionRecord

# L look-back · H horizon · N patches · V targets · C columns

CONTEXT = "[CONTEXT]"  # the token of what is known of the time to come and of the series

Span = tuple[int, int]  # the first step, and the one after the last


@dataclass(frozen=True)
class Tokens:
    """A sequence of tokens that looks, or is looked at."""

    name: str  # forecast, past, patches, variables, stretches
    labels: tuple[str, ...]
    spans: tuple[Span | None, ...]  # None: a token that stands for no stretch of time


Sides = Mapping[str, tuple[Tokens, Tokens]]  # what looks at what, by kind of attention


def step_tokens(name: str, labels: Sequence[str], *, first: int = 0) -> Tokens:
    """Return a token per step, the first of which is step first."""
    return Tokens(name, tuple(labels), tuple((first + place, first + place + 1) for place in range(len(labels))))


def stretch_tokens(name: str, spans: Sequence[Span], dates: Sequence[str], *, more: Sequence[str] = ()) -> Tokens:
    """Return a token per stretch of the past, named by its first and last date, and further ones without a stretch."""
    inside = [(max(first, 0), min(last, len(dates)) - 1) for first, last in spans]
    labels = [dates[first] if first == last else f"{dates[first]} – {dates[last]}" for first, last in inside]
    return Tokens(name, (*labels, *more), (*spans, *(None for _ in more)))


def patch_spans(look_back: int, *, patch: int, stride: int) -> list[Span]:
    """Return the steps of each patch; the last ends with the past, the first may begin before it."""
    count = (max(look_back - patch, 0) + stride - 1) // stride + 1
    ends = [look_back - stride * place for place in reversed(range(count))]
    return [(end - patch, end) for end in ends]


def forecaster_sides(
    kind: str,
    dates: Sequence[str],
    ahead: Sequence[str],
    columns: Sequence[str],
    *,
    patch: int = 0,
    stride: int = 0,
    context: bool = False,
) -> Sides:
    """Return what looks at what in a forecaster whose tokens are of a kind; dates and ahead name its steps.

    context: there is a token of what is known of the time to come and of the series.
    """
    more = (CONTEXT,) if context else ()
    if kind == "steps":
        past, forecast = step_tokens("past", dates), step_tokens("forecast", ahead, first=len(dates))
        return {"cross": (forecast, past), "encoder": (past, past), "decoder": (forecast, forecast)}
    if kind == "patches":
        spans = patch_spans(len(dates), patch=patch, stride=stride)
        patches = stretch_tokens("patches", spans, dates, more=more)
        return {"encoder": (patches, patches)}
    if kind == "variables":
        names = (*columns, *more)
        variables = Tokens("variables", names, tuple(None for _ in names))
        return {"encoder": (variables, variables)}
    return {}


def window_maps(record: AttentionRecord, sides: Sides, row: int) -> list[AttentionMap]:
    """Return the maps of one row of the calls, with labels; of a layer that was called again, the last.

    A decoder that feeds its own values back is called once per step, the last time with all of them.
    """
    last = {found.path: found for found in record.maps if found.kind in sides}
    order = sorted(last.values(), key=lambda found: list(sides).index(found.kind))
    return [found.cut(sides[found.kind][0].labels, sides[found.kind][1].labels, row) for found in order]
