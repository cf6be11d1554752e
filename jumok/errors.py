"""The errors a user may meet. Each message says what was given, what is needed and what to do.

The command line prints the message of a JumokError and leaves with exit code 2; anything else is a bug.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches

LONGEST = 600  # letters of a line of a message: a few sentences
VALUE = re.compile(r"(?<!\w)'[^'\n]*'|\w{81,}")  # in quotes, or a word as no language has it
WORD = re.compile(r"\S+")


class JumokError(Exception):
    """The root of every error that a user can cause and cure."""

    def __init__(self, message: str = "") -> None:
        super().__init__("\n".join(map(shortened, message.split("\n"))))


def shortened(line: str) -> str:
    """Return a line of a message short enough to be read: a value out of a damaged file may have a million letters."""
    if len(line) <= LONGEST:
        return line
    paths = [found.span() for found in WORD.finditer(line) if "/" in found[0]]  # shown whole

    def cut(found: re.Match[str]) -> str:
        inside = any(first < found.end() and found.start() < last for first, last in paths)
        end = "'" if found[0].startswith("'") else ""
        return found[0] if len(found[0]) <= 80 or inside else f"{found[0][:60]}…{end}"

    line = VALUE.sub(cut, line)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 203]} … {line[-200:]}"


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
