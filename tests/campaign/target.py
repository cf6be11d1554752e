"""What is mutated: a kind of file, how to make good ones, and which of jumok's calls read them; one case of it.

Target, seed, index → the folder of good files copied → one file mutated → read → Outcome
"""

import os
import re
import shutil
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple

from campaign.commands import RefusedError, as_printed
from campaign.memory import forget_peak, peak, resident
from campaign.mutations import mutate
from jumok.cache import MARKER
from jumok.errors import JumokError
from jumok.texts import localized

MOST_MEMORY = 1 << 30  # bytes that a case may take beside what the process has
MOST_LETTERS, MOST_LINES = 700, 40  # of a line of a message: a few sentences; a recipe has a line for each wrong key
CLASS_OF_ERROR = re.compile(r"\b\w*[a-z](Error|Exception|Warning)\b|\bTraceback\b|<class '|<[\w.]+ object at 0x")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # all but tabs and the ends of lines


class Given(NamedTuple):
    """What a reader is given."""

    folder: Path  # of all files
    file: Path  # that was mutated
    out: Path  # an empty folder, for what the call writes


@dataclass(frozen=True)
class Target:
    """A kind of file."""

    name: str
    make: Callable[[Path], None]  # writes good files into an empty folder
    read: Callable[[Given], object]
    files: Mapping[str, str]  # what is mutated: a glob inside the folder → its kind (mutations.KINDS)
    cases: int  # of a whole campaign
    also: tuple[str, ...] = ()  # what a message may name instead of the file

    def places(self, folder: Path) -> list[tuple[Path, str]]:
        """Return the files that are mutated, from the folder on, each with its kind."""
        found = {path.relative_to(folder): kind for glob, kind in self.files.items() for path in folder.glob(glob)}
        assert found, f"{self.name} has no files"
        return sorted(found.items())

    def examples(self, folder: Path) -> list[Path]:
        """Return a file of each glob, from the folder on."""
        return [min(folder.glob(glob)).relative_to(folder) for glob in self.files]


@dataclass(frozen=True)
class Outcome:
    """How a case ended."""

    target: str
    index: int
    failure: str = ""  # what is wrong, in a few words; nothing where all is well
    what: str = ""  # which file was mutated, and how
    detail: str = ""  # the traceback or the message
    root: str = ""  # of failures that are alike
    seconds: float = 0.0
    memory: int = 0  # bytes


def damage(target: Target, folder: Path, *, seed: int, index: int) -> tuple[Path, str]:
    """Mutate one of the files in a folder; return its place there, and what was done."""
    rng = Random(f"{target.name} {seed} {index}")
    place, kind = rng.choice(target.places(folder))
    name, content = mutate((folder / place).read_bytes(), kind, rng)
    (folder / place).write_bytes(content)
    return place, f"{place}: {name}"


def run_case(target: Target, good: Path, room: Path, *, seed: int, index: int) -> Outcome:
    """Return how one case ends; room is an empty folder, and is left empty."""
    place_of_case = room / f"case-{index}"  # of its own: some readers keep what they have read of a path
    folder, written = place_of_case / target.name, place_of_case / "written"
    shutil.copytree(good, folder, symlinks=True)
    written.mkdir()
    before = {*_files(folder)}
    place, what = damage(target, folder, seed=seed, index=index)
    forget_peak()
    held, start = resident(), time.perf_counter()
    with _caught_warnings() as said:
        failure, detail, root = _ending(target, Given(folder, folder / place, written))
    seconds, memory = time.perf_counter() - start, max(peak() - held, 0)
    fresh = sorted(path for path in {*_files(folder), *_files(written)} - before if not _is_cached(folder, path))
    if detail and not failure and fresh:
        failure, detail = "left behind", f"{', '.join(fresh)}\n{detail}"
    elif not failure and any(map(_is_half, fresh)):
        failure, detail = "left behind", ", ".join(filter(_is_half, fresh))
    if not failure and said:
        failure, detail, root = "warning", "\n".join(said), said[0].partition("\n")[0]
    if not failure and memory > MOST_MEMORY:
        failure, detail, root = f"memory: {memory >> 20:,} MB", "", f"memory {place.suffix}"
    shutil.rmtree(place_of_case)
    return Outcome(target.name, index, failure, what, detail, root if failure else "", seconds, memory)


def _ending(target: Target, given: Given) -> tuple[str, str, str]:
    """Return what is wrong with how a file is read, the message or the traceback, and where it was raised."""
    try:
        try:
            target.read(given)
        except JumokError as error:
            raise RefusedError(as_printed(error)) from error
    except RefusedError as refused:
        cause, message = refused.__cause__ or refused, str(refused)
        localized(message, "ko")  # as people read it: within the same time
        wrong = judge(message, (given.file.name, *target.also))
        return wrong, message, f"message of {type(cause).__name__}: {_raised_at(cause)}"
    except BaseException as error:  # whatever a program may end with
        return type(error).__name__, traceback.format_exc(), f"{type(error).__name__} {_raised_at(error)}"
    return "", "", ""


def judge(message: str, names: tuple[str, ...]) -> str:
    """Return what is wrong with a message, which must name one of names; nothing where all is well."""
    if not any(name in message for name in names):
        return "the file is not named"
    if CLASS_OF_ERROR.search(message):
        return "a class of errors is named"
    if CONTROL.search(message):
        return "control characters"
    lines = message.split("\n")
    if len(lines) > MOST_LINES or max(map(len, lines)) > MOST_LETTERS:
        return "a very long message"
    if message != message.strip() or not message:
        return "no sentence"
    return ""


@contextmanager
def _caught_warnings() -> Iterator[list[str]]:
    """Yield the warnings that a user would have seen."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        warnings.simplefilter("always")
        for hidden in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", hidden)
        try:
            yield said
        finally:
            said += [f"{one.category.__name__}: {one.message}" for one in caught]


def _raised_at(error: BaseException) -> str:
    """Return the innermost line of jumok in a traceback."""
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if f"{os.sep}jumok{os.sep}" in frame.filename]
    if not lines:
        return ""
    last = lines[-1]
    return f"jumok/{last.filename.rpartition(f'{os.sep}jumok{os.sep}')[2]}:{last.lineno} {last.name}"


def _files(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()]


def _is_half(name: str) -> bool:
    return Path(name).name.startswith(".") or name.endswith((".part", ".new", ".tmp"))


def _is_cached(folder: Path, name: str) -> bool:
    """Return whether a file belongs to a finished entry of the cache, which a refusal may well leave."""
    entry = (folder / name).parent
    return (entry / MARKER).is_file() and not entry.name.startswith(".")
