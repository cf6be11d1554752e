"""What a page shows of one model and one text, whatever kind of model it was.

Explanation, or AttentionRecord (lens/view_of_record.py) → View → lens/html.py
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jumok.inspection.record import AttentionRecord

NOTHING_TO_SHOW = "This model has no attention to show: all that its decoder knows of the source is one vector."

Choice = tuple[str, float, Sequence[tuple[str, float]]]  # token, probability, rivals with their probabilities


@dataclass(frozen=True)
class Side:
    """A sequence of tokens that looks, or is looked at."""

    name: str
    labels: tuple[str, ...]
    words: tuple[int, ...] = ()  # the word of each token, counted from 0; empty where it is not known


@dataclass(frozen=True)
class View:
    """An answer and its record, ready to be drawn. Maps are of one example (H, Q, K) and have labels."""

    name: str
    record: AttentionRecord
    sides: Mapping[str, tuple[Side, Side]]  # what looks at what, by kind of attention
    output: Side  # what was written, its end included
    source: str = ""
    answer: str = ""
    choices: Sequence[Choice | None] = ()  # of each token of the output; None where nothing was decided
    classes: Sequence[tuple[str, float]] = ()  # of a classifier: names and probabilities, the likeliest first
    written: bool = True  # whether the output came token by token, so that a page can show how far it had come
    characters: bool = False  # whether the model reads characters: a page then opens on them, not on words
    answers: Sequence[tuple[str, float]] = ()  # the search's answers with their scores, best first
    worth: Sequence[tuple[str, int, float, float]] = ()  # path, head, score lost without it, its strongest weight
    tokens: Sequence[tuple[str, float]] = ()  # of the text, and the score lost when each is left out
    note: str = NOTHING_TO_SHOW  # said where there is no attention
