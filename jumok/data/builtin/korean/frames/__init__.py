"""Meanings drawn at random: frames with places that words of the right types fill.

Frames(dice).draw() → one of FRAMES by its share → a Meaning, of which both sides are made
"""

from collections.abc import Callable

from jumok.data.builtin.korean.frames.actions import Actions
from jumok.data.builtin.korean.frames.contrasts import Contrasts
from jumok.data.builtin.korean.frames.identities import Identities
from jumok.data.builtin.korean.frames.links import LinkedClauses
from jumok.data.builtin.korean.frames.places import Places
from jumok.data.builtin.korean.meaning import Meaning


class Frames(Actions, Identities, Places, LinkedClauses, Contrasts):
    """Draws meanings with its dice."""

    def draw(self) -> Meaning:
        """Return a meaning."""
        frame: Callable[[Frames], Meaning] = self.dice(MAKERS, SHARES)
        return frame(self)


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
