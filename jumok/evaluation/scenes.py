"""Scores of captions that describe every object of a drawn scene, as sets: whatever the order they are named in.

objects said, objects drawn → pairs that agree best → share of forms, colours, sizes and places that are right

Said and drawn objects are paired one to one so that as many traits as possible agree. A share is of all objects drawn, or
of all said where those are more: objects left out and objects made up are both wrong. A caption that is no sentence of
the grammar says nothing. A trait that is empty of a drawn object is not asked for: prompts of drawings may leave it out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np

TRAITS = ("form", "colour", "size", "place")


class SceneObject(Protocol):
    """An object as it was drawn or said."""

    @property
    def form(self) -> str:
        """Circle, square …"""

    @property
    def colour(self) -> str:
        """Red, green …"""

    @property
    def size(self) -> str:
        """Small or large."""

    @property
    def place(self) -> str:
        """Top left, …, bottom right."""


@dataclass(frozen=True)
class SceneShares:
    """Shares that are right, per cent, of scenes with some number of objects; 0 stands for any number."""

    objects: int
    scenes: int
    form: float
    colour: float
    size: float
    place: float
    all_right: float  # scenes with every trait of every object right, and nothing made up


@dataclass(frozen=True)
class SceneScores:
    """How well scenes were described."""

    overall: SceneShares
    by_number: list[SceneShares]  # of objects drawn, fewest first
    unreadable: int  # captions that are no sentence of the grammar
    traits_each: list[float]  # of each scene, the share of its traits that are right, per cent
    all_right_each: list[bool]
    objects_each: list[int]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values, for a report."""
        return vars(self.overall) | {
            "by_number": [vars(shares) for shares in self.by_number],
            "unreadable": self.unreadable,
        }


def score_scenes(said: Sequence[Sequence[SceneObject] | None], drawn: Sequence[Sequence[SceneObject]]) -> SceneScores:
    """Return the scores of what was said of each scene, None for an unreadable caption, against what was drawn."""
    pairs = [(_traits(of_scene or ()), _traits(wanted)) for of_scene, wanted in zip(said, drawn, strict=True)]
    right = np.array([right_traits(*pair) for pair in pairs]).reshape(-1, len(TRAITS))  # (scenes, traits)
    counted = np.array([_asked(*pair) for pair in pairs]).reshape(-1, len(TRAITS))
    all_right = (right == counted).all(axis=1)
    objects = np.array([len(wanted) for _, wanted in pairs])

    def shares(number: int) -> SceneShares:
        chosen = objects == number if number else np.ones(len(objects), dtype=bool)
        form, colour, size, place = (
            100.0 * right[chosen].sum(axis=0) / np.maximum(counted[chosen].sum(axis=0), 1)
        ).tolist()
        whole = 100.0 * float(all_right[chosen].mean()) if chosen.any() else 0.0
        return SceneShares(number, int(chosen.sum()), form, colour, size, place, whole)

    return SceneScores(
        overall=shares(0),
        by_number=[shares(int(number)) for number in np.unique(objects) if number],
        unreadable=sum(of_scene is None for of_scene in said),
        traits_each=(100.0 * right.sum(axis=1) / np.maximum(counted.sum(axis=1), 1)).tolist(),
        all_right_each=all_right.tolist(),
        objects_each=objects.tolist(),
    )


Traits = tuple[str, ...]


def _traits(objects: Sequence[SceneObject]) -> list[Traits]:
    return [tuple(getattr(each, name) for name in TRAITS) for each in objects]


def _asked(said: Sequence[Traits], drawn: Sequence[Traits]) -> list[int]:
    """Return how many forms, colours, sizes and places can be right or wrong: those asked for, and those made up."""
    made_up = max(len(said) - len(drawn), 0)
    return [sum(bool(traits[place]) for traits in drawn) + made_up for place in range(len(TRAITS))]


def right_traits(said: Sequence[Traits], drawn: Sequence[Traits]) -> tuple[int, ...]:
    """Return how many forms, colours, sizes and places are right when objects are paired so that most traits agree."""
    few, many = sorted((said, drawn), key=len)
    nothing = (0,) * len(TRAITS)

    @cache
    def best(number: int, taken: int) -> tuple[int, ...]:
        """Return what is right among the many from number on, with the few that are not taken yet."""
        if number == len(many):
            return nothing
        found = best(number + 1, taken)  # this one has no partner
        for place, other in enumerate(few):
            if not taken >> place & 1:
                rest = best(number + 1, taken | 1 << place)
                agree = zip(rest, many[number], other, strict=True)
                found = max(found, tuple(count + (one == two != "") for count, one, two in agree), key=_total)
        return found

    return best(0, 0)


def _total(counts: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Return the order of pairings: most traits, and of equals always the same."""
    return sum(counts), counts
