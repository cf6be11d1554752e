"""The progress bar of a training run below a notebook's cell, redrawn in its place; it needs no widgets.

Reporter → NotebookBar → an IPython display that is updated
"""

import html
import time
from importlib import import_module

from jumok.texts import localized, localized_word

PAUSE = 0.2  # seconds between two drawings: a notebook keeps up with no more


class NotebookBar:
    """A bar with a line of text behind it."""

    def __init__(self, total: int, completed: int) -> None:
        self.total, self.completed, self.status = total, completed, ""
        self.drawn = time.monotonic()
        self.display = import_module("IPython.display").display(self, display_id=True)

    def update(self, task: int, *, completed: int | None = None, status: str | None = None) -> None:
        """Take a new state; it is drawn unless it was drawn a moment ago."""
        self.completed = self.completed if completed is None else completed
        self.status = self.status if status is None else status
        if time.monotonic() - self.drawn >= PAUSE:
            self._draw()

    def stop(self) -> None:
        """Draw the last state."""
        self._draw()

    def _draw(self) -> None:
        self.drawn = time.monotonic()
        self.display.update(self)

    def __repr__(self) -> str:
        return localized(f"step {self.completed:,}/{self.total:,} {self.status}")

    def _repr_html_(self) -> str:
        bar = f'<progress max="{self.total}" value="{self.completed}" style="width: 20em"></progress>'
        step, status = localized_word("step"), html.escape(localized(self.status))
        return f"<code>{step} {self.completed:,}/{self.total:,} {bar} {status}</code>"
