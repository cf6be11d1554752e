"""What a search hands to a decoder that can search by itself for a while, and what it gets back.

Frontier, Ask → decoder.search_on → Reached: the frontier some steps later, and hypotheses that have ended
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor

# N sentences · W rows of each · R = N × W rows · T room for tokens · E hypotheses that have ended


@dataclass
class Frontier:
    """Hypotheses in the making, all rows of a sentence side by side: a search in C writes into these."""

    tokens: Tensor  # (R,) chosen last, not yet read by the decoder
    totals: Tensor  # (R,) log-probability so far
    written: Tensor  # (R, T) tokens so far
    chances: Tensor  # (R, T) log-probability of each
    longest: Tensor  # (N,) most tokens
    finished: Tensor  # (N,) hypotheses that have ended


class Closed(NamedTuple):
    """Hypotheses that have ended, in the order in which they did."""

    place: Tensor  # (E,) which sentence of the call they belong to
    lengths: Tensor  # (E,)
    totals: Tensor  # (E,)
    written: Tensor  # (E, T)
    chances: Tensor  # (E, T)


class Ask(NamedTuple):
    """What is wanted of a search."""

    width: int  # of the beam
    most: int  # steps
    least: int  # sentences left to stop at
    end: int  # the token that ends
    never: Sequence[int]  # places among the logits that are never chosen
    words: Tensor | None = None  # the token of each place; None: places are tokens


class Reached(NamedTuple):
    """Where a search stands."""

    frontier: Frontier
    state: Any  # the decoder's
    place: Tensor  # (N',) where each sentence that goes on stood before
    closed: Closed
