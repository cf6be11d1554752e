"""The round trip of drawings: how much of a prompt a reader, who has not seen the prompt, finds in the drawing.

prompts' objects, objects read → shares of traits, counts, pairs and orders that are right; prompts' classes, classes read
    → share that is right; floor_order → what the readings of other prompts' drawings would score
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from jumok.evaluation.scenes import SceneObject, score_scenes


class RelatedObject(SceneObject, Protocol):
    """An object as it was drawn or said, and how the object before stands to it."""

    @property
    def relation(self) -> str:
        """Left of, above or below; empty of the first object."""


@dataclass(frozen=True)
class Withheld:
    """What of a prompt training never showed: numbers of its objects, and of those that stand so to their next one."""

    pairs: Sequence[int] = ()
    orders: Sequence[int] = ()


@dataclass(frozen=True)
class SceneRoundTrip:
    """Shares that are right, per cent; form, colour, size, place and all_right as captions are scored (evaluation/scenes)."""

    scenes: int
    form: float
    colour: float
    size: float
    place: float
    count: float  # scenes with as many objects as the prompt has
    pair: float | None  # objects whose colour and form were read together; None where no prompt says both
    order: float | None  # neighbours whose forms were read in their relation; None where no prompt has two objects
    all_right: float
    unreadable: int  # readings that are no sentence of the grammar
    withheld_pair: float | None  # of the pairs that training never showed; None where no prompt has one
    withheld_order: float | None
    traits_each: list[float]  # of each scene, the share of its traits that are right, per cent
    all_right_each: list[bool]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values, for a report."""
        return {name: value for name, value in vars(self).items() if not name.endswith("_each") and value is not None}


def score_round_trip(
    said: Sequence[Sequence[RelatedObject] | None],
    wanted: Sequence[Sequence[RelatedObject]],
    withheld: Sequence[Withheld] | None = None,
) -> SceneRoundTrip:
    """Return the scores of what was read in each drawing, None where unreadable, against the objects of its prompt."""
    marked = withheld if withheld is not None else [Withheld()] * len(wanted)
    scenes = score_scenes(said, wanted)
    pairs, orders, withheld_pairs, withheld_orders = _Tally(), _Tally(), _Tally(), _Tally()
    right_count = 0
    for read, objects, special in zip(said, wanted, marked, strict=True):
        found = read or ()
        right_count += len(found) == len(objects)
        read_pairs, wanted_pairs = _pairs(found), _pairs(objects)
        read_orders, wanted_orders = _orders(found), _orders(objects)
        pairs.add(read_pairs, wanted_pairs)
        orders.add(read_orders, wanted_orders)
        withheld_pairs.add(read_pairs, [wanted_pairs[number] for number in special.pairs])
        withheld_orders.add(read_orders, [wanted_orders[number] for number in special.orders])
    shares = scenes.overall
    return SceneRoundTrip(
        scenes=len(wanted),
        form=shares.form,
        colour=shares.colour,
        size=shares.size,
        place=shares.place,
        count=100.0 * right_count / max(len(wanted), 1),
        pair=pairs.share,
        order=orders.share,
        all_right=shares.all_right,
        unreadable=scenes.unreadable,
        withheld_pair=withheld_pairs.share,
        withheld_order=withheld_orders.share,
        traits_each=scenes.traits_each,
        all_right_each=scenes.all_right_each,
    )


class _Tally:
    """How many of what was wanted was read; what is wanted twice must be read twice, what is left out need not."""

    def __init__(self) -> None:
        self.right = self.wanted = 0

    def add(self, read: Sequence[Any], wanted: Sequence[Any]) -> None:
        asked = [each for each in wanted if all(each)]
        self.right += (Counter(read) & Counter(asked)).total()
        self.wanted += len(asked)

    @property
    def share(self) -> float | None:
        """Per cent; None where nothing was wanted."""
        return 100.0 * self.right / self.wanted if self.wanted else None


def _pairs(objects: Sequence[RelatedObject]) -> list[tuple[str, str]]:
    return [(each.colour, each.form) for each in objects]


def _orders(objects: Sequence[RelatedObject]) -> list[tuple[str, str, str]]:
    return [(each.form, after.relation, after.form) for each, after in pairwise(objects)]


def class_of(prompt: str, labels: Sequence[str]) -> str | None:
    """Return the class that a prompt names, alone or as a part of a sentence; None where it names none, or several."""
    text = prompt.casefold()
    for label in labels:
        if text == label.casefold():
            return label
    words = f" {' '.join(text.split())} "
    named = [label for label in labels if f" {label.casefold()} " in words]
    return named[0] if len(named) == 1 else None


def score_classes(read: Sequence[str], wanted: Sequence[str]) -> dict[str, Any]:
    """Return the share of drawings that were read as the class of their prompt, per cent, in all and by class."""
    right = np.array([one == other for one, other in zip(read, wanted, strict=True)], dtype=bool)
    of = np.array(wanted)
    by_class = {str(label): 100.0 * float(right[of == label].mean()) for label in np.unique(of)}
    return {"images": len(wanted), "right": 100.0 * float(right.mean()), "by_class": by_class}


def floor_order(count: int, seed: int = 1) -> list[int]:
    """Return for each of count prompts another one, at random, whose drawing is read instead of its own."""
    order = np.random.default_rng(seed).permutation(count)
    others = np.empty(count, dtype=int)
    others[order] = np.roll(order, 1)
    return [int(number) for number in others]
