"""Disks that are full, read-only or slow, at every call that changes a file: one sentence, nothing half-written that is later
taken for whole, and once there is room the same command comes to the same end.

shim.c before libc → `jumok …` in a fork, whose n-th change of a file fails, and all after → how it ended → again, with room

Where we are root, small file systems are mounted, too. The shim is for Linux, and needs a C compiler.
"""

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

import torch
from forked import Command, import_all

from campaign.kills import itself
from campaign.place import LONGEST, MADE, Place, hashes, nothing
from campaign.row import Row
from jumok.native.build import kernels

SHIM = Path(__file__).with_name("shim.c")
TEXT = ("train", "text.toml", "--out", MADE, "--resume", "--set", "training.workers=1")
IMAGES = ("train", "images.toml", "--out", MADE, "--resume", "--set", "data.loaders=0")
HALF = (*TEXT, "--set", "training.steps=6")


@dataclass(frozen=True)
class Work:
    """A command that writes, and how often its disk fails."""

    name: str
    cases: int
    arguments: tuple[str, ...]
    cache: bool = False  # whether the disk is that of the cache
    first: tuple[str, ...] = ()  # what has been done before


WORKS = [
    Work("a run", 60, TEXT),
    Work("a run that goes on", 25, TEXT, first=HALF),
    Work("a corpus prepared", 25, TEXT, cache=True),
    Work("images prepared", 25, IMAGES, cache=True),
    Work("a page", 8, ("look", "en-ko", "I like you.", "--html", MADE)),
    Work("an image", 8, ("look", "en-ko", "I like you.", "--png", MADE)),
    Work("translations", 8, ("translate", "en-ko", "--in", "lines.txt", "--out", MADE)),
]
FULL, READ_ONLY, FAILING = "full", "read-only", "full at one call"
ENDS = {FULL: errno.ENOSPC, READ_ONLY: errno.EROFS, FAILING: errno.ENOSPC}


@dataclass
class Case:
    """A command on a bad disk, and all that is wrong with what came of it."""

    work: Work
    place: Place
    seed: str
    wrong: list[str] = field(default_factory=list)

    def on_a_bad_disk(self, changes: int) -> "Case":
        """Let the disk fail from a random one of so many changes on."""
        random, folder = Random(self.seed), self.begun()
        how = random.choice(list(ENDS))
        self._look_at(
            self.start(folder, shimmed(self.under(folder), at=random.randrange(1, changes + 1), how=how)), how
        )
        self._go_on(folder)
        return self

    def slow_and_killed(self) -> "Case":
        """Let each fsync take long, and kill the command at any moment."""
        random, folder = Random(self.seed), self.begun()
        command = self.start(folder, shimmed(self.under(folder), delay=20))
        itself(command, random, 2 * self.place.whole(self.work.arguments, own_cache=self.work.cache)[1])
        command.wait(LONGEST)
        self._go_on(folder)
        return self

    def mounted(self, size: int) -> "Case":
        """Let the command write to a file system of so many kB, or to one that is read-only: 0."""
        folder = self.begun()
        with file_system(self.under(folder), size) as grow:
            self._look_at(self.start(folder, nothing), f"of {size} kB")
            grow()
            self._go_on(folder)
        return self

    def begun(self) -> Path:
        """Return a new folder in which all has been done that comes before."""
        folder = self.place.new()
        self.under(folder).mkdir()
        if self.work.first:
            arguments = tuple(str(self._made(folder)) if part == MADE else part for part in self.work.first)
            command = self.place.start(arguments, folder)
            assert command.wait(LONGEST) == 0, command.err
        return folder

    def under(self, folder: Path) -> Path:
        """Return the folder whose disk is bad."""
        return folder / ("cache" if self.work.cache else "disk")

    def _made(self, folder: Path) -> Path:
        return folder / ("made" if self.work.cache else "disk/made")

    def start(self, folder: Path, before: Callable[[], object]) -> Command:
        arguments = tuple(str(self._made(folder)) if part == MADE else part for part in self.work.arguments)
        return self.place.start(arguments, folder, own_cache=self.work.cache, before=before)

    def _look_at(self, command: Command, how: str) -> None:
        try:
            code = command.wait(LONGEST)
        except AssertionError as hang:
            self.wrong.append(f"{how}: hangs: {hang}")
            return
        last = (command.err.splitlines() or [""])[-1]
        if "Traceback" in command.err:
            self.wrong.append(f"{how}: a traceback: {command.err[-500:]}")
        elif code not in (0, 2) or (code == 2 and command.err.count("jumok: ") != 1):
            self.wrong.append(f"{how}: exit code {code}: {last[-300:]}")

    def _go_on(self, folder: Path) -> None:
        """Run the command again, now that there is room; what it makes must be what a whole one does."""
        made = self._made(folder)
        wanted, _ = self.place.whole(self.work.arguments, own_cache=self.work.cache)
        if made.is_file() and hashes(made) != wanted:
            self.wrong.append("half a file under its name")
        command = self.start(folder, nothing)
        try:
            if command.wait(LONGEST):
                self.wrong.append(f"does not go on: {command.err[-300:]}")
            elif hashes(made) != wanted:
                self.wrong.append("goes on to another end")
        except AssertionError as hang:
            self.wrong.append(f"hangs when it goes on: {hang}")


def shimmed(
    under: Path, *, at: int = 0, how: str = FULL, delay: int = 0, log: Path | None = None
) -> Callable[[], object]:
    """Return what lets the disk of a folder be bad in this process from now on."""

    def prepare() -> None:
        os.environ |= {
            "SHIM_UNDER": f"{under}/",
            "SHIM_AT": str(at),
            "SHIM_ERRNO": str(ENDS[how]),
            "SHIM_DELAY": str(delay),
        }
        if how == FAILING:
            os.environ["SHIM_ONCE"] = "1"
        if log:
            os.environ["SHIM_LOG"] = str(log)

    return prepare


@contextmanager
def file_system(folder: Path, size: int) -> Iterator[Callable[[], object]]:
    """Mount a file system of so many kB, or a read-only one, on a folder; yield what gives it room."""
    how = f"size={size}k" if size else "ro"
    subprocess.run(["mount", "-t", "tmpfs", "-o", how, "tmpfs", folder], check=True, capture_output=True)
    try:
        yield lambda: subprocess.run(["mount", "-o", "remount,rw,size=100m", folder], check=True, capture_output=True)
    finally:
        subprocess.run(["umount", "-l", folder], check=True, capture_output=True)


# --- all of them


def rows(*, share: float, seed: int) -> list[Row]:
    """Return the rows of a share of all cases; this process has the shim before its libc."""
    import_all()
    kernels()
    torch.set_num_threads(1)  # the commands are forks of this process, and another thread would not be in them
    with tempfile.TemporaryDirectory() as name:
        place = Place(Path(name))
        chosen = Random(seed)
        tasks = [(work, number) for work in WORKS for number in range(work.cases)]
        chosen.shuffle(tasks)
        bad: dict[str, list[Case]] = {}
        for work, number in tasks[: max(round(share * len(tasks)), 1)]:
            bad.setdefault(f"bad disk: {work.name}", []).append(
                Case(work, place, f"{seed} {number}").on_a_bad_disk(changes(work, place))
            )
        for number in range(round(20 * share)):
            bad.setdefault("slow disk, killed: a run", []).append(
                Case(WORKS[0], place, f"{seed} {number}").slow_and_killed()
            )
        whole = WORKS[:4] if share >= 1 else []
        synced = [Row(f"synced before it has its name: {work.name}", *unsynced(calls(work, place))) for work in whole]
        mountable = can_mount(place.new())
        if not mountable:
            synced.append(Row("small disks", 0, 0, "skipped: only root may mount file systems"))
        for work in WORKS if mountable else []:
            for size in SIZES[: round(len(SIZES) * share)]:
                bad.setdefault(f"small disk: {work.name}", []).append(Case(work, place, f"{seed} {size}").mounted(size))
        return [*map(_row, bad, bad.values()), *synced]


SIZES = [0, 4, 16, 40, 64, 100, 160, 300]  # kB of a mounted file system; 0: read-only


def changes(work: Work, place: Place) -> int:
    """Return how many calls of a command change files."""
    return sum(call.name != "to" for call in calls(work, place))


class Call(NamedTuple):
    """A call that changes a file: what it does, and the file's number and path below its disk."""

    name: str
    file: int
    path: str


def calls(work: Work, place: Place) -> list[Call]:
    """Return the calls of a command that change files, from the log of one."""
    if work.name not in _calls:
        case = Case(work, place, "")
        folder = case.begun()
        log = folder / "log"
        command = case.start(folder, shimmed(case.under(folder), log=log))
        assert command.wait(LONGEST) == 0, command.err
        lines = (line.split(" ", 2) for line in log.read_text().splitlines())
        disk = f"{case.under(folder)}/"
        _calls[work.name] = [Call(name, int(file), path.removeprefix(disk)) for name, file, path in lines]
    return _calls[work.name]


_calls: dict[str, list[Call]] = {}


def unsynced(done: Sequence[Call]) -> tuple[int, int, str]:
    """Return how often something gets its final name, how many files in it were not synced before, and one of them.

    What begins with a dot, and what is inside of it, has no final name yet.
    """
    named, wrong, source = 0, [], ""
    dirty: dict[int, str] = {}
    for name, file, path in done:
        if name == "rename":
            source = path
        elif name == "to":
            moved = {file: path for file, path in dirty.items() if f"{path}/".startswith(f"{source}/")}
            if not any(part.startswith(".") for part in path.split("/")):
                named += 1
                wrong += moved.values()
            dirty |= {file: path + old.removeprefix(source) for file, old in moved.items()}
        elif name == "fsync":
            dirty.pop(file, None)
        elif name in ("write", "writev", "pwrite", "pwrite64", "ftruncate", "ftruncate64"):
            dirty[file] = path
    return named, len(wrong), ", ".join(wrong[:1])


def can_mount(folder: Path) -> bool:
    """Return whether this process may mount file systems."""
    try:
        with file_system(folder, 100):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def _row(name: str, cases: list[Case]) -> Row:
    wrong = [case for case in cases if case.wrong]
    return Row(name, len(cases), len(wrong), f"{wrong[0].seed}: {'; '.join(wrong[0].wrong)}" if wrong else "")


def campaign(*, share: float, seed: int) -> list[Row]:
    """Try a share of all disks; return a row for each kind that was among them, or why there is none."""
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    if compiler is None or not sys.platform.startswith("linux"):
        return [Row("bad disks", 0, 0, "skipped: they need Linux and a C compiler")]
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "shim.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SHIM, "-ldl"], check=True)
        places = [str(Path(__file__).parents[1]), *sys.path]
        done = subprocess.run(
            [sys.executable, "-m", "campaign.disks", str(share), str(seed)],
            env=os.environ | {"LD_PRELOAD": str(library), "PYTHONPATH": os.pathsep.join(places)},
            stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
    return [Row(*row) for row in json.loads(done.stdout)]


if __name__ == "__main__":
    print(json.dumps(rows(share=float(sys.argv[1]), seed=int(sys.argv[2]))))
