"""What a page shows of one model and one text, whatever kind of model it was.

Explanation or AttentionRecord → View → lens/html.py
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from jumok.errors import ConfigError
from jumok.inspection.record import AttentionMap, AttentionRecord

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
    note: str = NOTHING_TO_SHOW  # said where there is no attention

    @classmethod
    def of_record(cls, record: AttentionRecord, *, name: str = "") -> "View":
        """Return the view of any record: the first example of each map, with numbers where there are no labels."""
        if not record.maps:
            raise ConfigError("the record is empty: call the model inside `with observe(model) as record:` first")
        maps = [_labelled(found) for found in record.maps]
        sides = {found.kind: (Side("queries", found.queries), Side("keys", found.keys)) for found in maps}
        for found in maps:
            if (found.queries, found.keys) != tuple(side.labels for side in sides[found.kind]):
                raise ConfigError(
                    f"the maps of kind '{found.kind}' are of different sequences: "
                    "observe one call of the model at a time"
                )
        whole = replace(record, maps=maps)
        return cls(name or "a record of attention", whole, sides, output=next(iter(sides.values()))[0])


def _labelled(found: AttentionMap) -> AttentionMap:
    """Return the map of the first example; tokens without labels are named by their number."""
    if found.weights.dim() == 3 and found.queries:
        return found
    queries, keys = (tuple(str(place + 1) for place in range(count)) for count in found.weights.shape[-2:])
    if found.weights.dim() == 4:
        return found.cut(found.queries or queries, found.keys or keys)
    return replace(found, queries=queries, keys=keys)
