"""Meanings drawn at random: frames with places that words of the right types fill.

Frames(dice).draw() → one of FRAMES by its share → a Meaning, of which both sides are made
"""

import re
from collections.abc import Callable

from jumok.data.builtin.korean.frames.actions import Actions
from jumok.data.builtin.korean.frames.contrasts import Contrasts
from jumok.data.builtin.korean.frames.identities import Identities
from jumok.data.builtin.korean.frames.links import LinkedClauses
from jumok.data.builtin.korean.frames.places import Places
from jumok.data.builtin.korean.meaning import Meaning, entities

HOURS = re.compile("아침|점심|저녁|밤|오후|시")


class Frames(Actions, Identities, Places, LinkedClauses, Contrasts):
    """Draws meanings with its dice."""

    def draw(self) -> Meaning:
        """Return a meaning."""
        frame: Callable[[Frames], Meaning] = self.dice(MAKERS, SHARES)
        meaning = frame(self)
        _tell_the_hour_once(meaning)
        return meaning


def _tell_the_hour_once(meaning: Meaning) -> None:
    """Leave out times of the day where a meal is named: no breakfast last night."""
    clauses = [meaning.clause, *([meaning.other] if meaning.other else [])]
    if any(entity.noun and "meal" in entity.noun.types for clause in clauses for entity in entities(clause)):
        for clause in clauses:
            clause.times = [time for time in clause.times if not HOURS.search(time.korean)]


FRAMES: list[tuple[Callable[[Frames], Meaning], float]] = [
    (Frames.statement, 0.27),
    (Frames.question, 0.09),
    (Frames.question_for, 0.1),
    (Frames.asked_for, 0.09),
    (Frames.quality, 0.09),
    (Frames.comparison, 0.04),
    (Frames.identity, 0.06),
    (Frames.existence, 0.06),
    (Frames.possession, 0.03),
    (Frames.of_others, 0.05),
    (Frames.linked, 0.06),
    (Frames.sequence, 0.04),
    (Frames.contrast, 0.02),
    (Frames.relative, 0.04),
]
MAKERS, SHARES = zip(*FRAMES, strict=True)
