"""Choosing among ways to say the same: one at random while a corpus is made, or every one in turn for references.

A side of the grammar calls choose(options) wherever a language leaves it free to say one thing or another.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Protocol, TypeVar

OptionT = TypeVar("OptionT")
ResultT = TypeVar("ResultT")


class Choose(Protocol):
    """Choose one of the options; weights say how often each is wanted."""

    def __call__(self, options: Sequence[OptionT], weights: Sequence[float] | None = None) -> OptionT: ...


class Dice:
    """Choices at random, the same for the same seed in every version of Python."""

    def __init__(self, seed: str) -> None:
        # random() is the one method whose sequence Python promises to keep for a seed, version after version
        self.random = random.Random(seed).random

    def __call__(self, options: Sequence[OptionT], weights: Sequence[float] | None = None) -> OptionT:
        """Return one of the options."""
        if weights is None:
            return options[int(self.random() * len(options))]
        place = self.random() * sum(weights)
        for option, until in zip(options, accumulate(weights), strict=True):
            if place < until:
                return option
        return options[-1]

    def happens(self, share: float) -> bool:
        """Return True in this share of all cases."""
        return self.random() < share


class Planned:
    """Choices by number, as far as they are planned, and the first option from there on."""

    def __init__(self, ahead: Sequence[int]) -> None:
        self.ahead = ahead
        self.made: list[tuple[int, int]] = []  # which option was taken, of how many

    def __call__(self, options: Sequence[OptionT], weights: Sequence[float] | None = None) -> OptionT:
        """Return the planned one of the options."""
        number = self.ahead[len(self.made)] if len(self.made) < len(self.ahead) else 0
        self.made.append((number, len(options)))
        return options[number]


def every(make: Callable[[Choose], ResultT], most: int = 2_000) -> Iterator[ResultT]:
    """Yield what make returns for every sequence of choices, at most so many."""
    ahead: list[int] = []  # the choices to make, by number; beyond them the first option is taken
    for _ in range(most):
        planned = Planned(ahead)
        yield make(planned)
        made = planned.made
        while made and made[-1][0] + 1 == made[-1][1]:
            made.pop()
        if not made:
            return
        ahead = [number for number, _ in made[:-1]] + [made[-1][0] + 1]
