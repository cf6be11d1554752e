"""The errors a user may meet. Each message says what was given, what is needed and what to do.

The command line prints the message of a JumokError and leaves with exit code 2; anything else is a bug.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class JumokError(Exception):
    """The root of every error that a user can cause and cure."""


class ConfigError(JumokError):
    """A recipe, an option or an override is wrong."""


class DataError(JumokError):
    """A data file is missing, broken or does not fit."""


class RunError(JumokError):
    """A run's folder is missing, damaged or does not fit what was asked of it."""


class TrainingError(JumokError):
    """A training run cannot go on."""


class RecordError(JumokError):
    """What a model handed over is no attention, or a record cannot be shown."""


class MissingExtraError(JumokError):
    """An optional library is needed and not installed."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {library}, which is not installed; pip install 'jumok[{extra}]' brings it.")


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a number and its noun: 1 document, 1,200 documents."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def are(count: int) -> str:
    """Return the verb that goes with a number."""
    return "is" if count == 1 else "are"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return '; did you mean …?' for the nearest known word, or the list of known words."""
    known = list(known)
    near = get_close_matches(word, known, n=1, cutoff=0.55)
    if near:
        return f"did you mean '{near[0]}'?"
    return f"known: {', '.join(sorted(known))}"
