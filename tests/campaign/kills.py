"""Kills of every process that jumok starts, at random and aimed moments: a sentence, no orphan, no hang, and afterwards the
same command goes on as if nothing had been.

`jumok …` in a fork → one of its processes is killed → how it ended, who is left → again, with --resume → the same files
"""

import io
import os
import signal
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

import torch
from children import gone
from forked import Command, import_all

from campaign.place import LONGEST, MADE, Place, hashes, nothing
from campaign.row import Row
from jumok.native.build import kernels
from jumok.training.trainer import Trainer

LEAVING = 10.0  # seconds in which processes must be gone once the one that started them is
SHARED = "--set", "training.workers=2", "--set", "data.loaders=1"
WORKER, LOADER = "worker process 1 died at step", "a process that prepares images died"
DECODER, SEARCHER = "a process that decodes images died", "a process that was searching died"


# --- who is killed, and when


def itself(command: Command, random: Random, seconds: float) -> None:
    """Kill the command at any moment."""
    command.until(command.over, random.uniform(0, seconds))
    if not command.over():
        command.kill()


def all_of_them(command: Command, random: Random, seconds: float) -> None:
    """Kill all its processes at once."""
    command.until(command.over, random.uniform(0, seconds))
    command.kill_all()


def politely(command: Command, random: Random, seconds: float) -> None:
    """Ask it to stop, by a signal to its whole group, as a terminal does."""
    command.until(command.over, random.uniform(0, seconds))
    if not command.over():
        os.killpg(command.process, random.choice([signal.SIGINT, signal.SIGTERM]))


def a_child(command: Command, random: Random, seconds: float) -> None:
    """Kill one of its processes, a while after there are any."""
    command.until(lambda: command.over() or command.others(), LONGEST)
    command.until(command.over, random.uniform(0, seconds / 6))
    if others := command.others():
        os.kill(random.choice(others), signal.SIGKILL)


def the_first_child(command: Command, random: Random, seconds: float) -> None:
    """Kill the first of its processes that is seen."""
    command.until(lambda: command.over() or command.others(), LONGEST)
    if others := command.others():
        os.kill(random.choice(others), signal.SIGKILL)


def itself_later(command: Command, random: Random, seconds: float) -> None:
    """Leave it to the hand that was laid on it before."""


def die() -> None:
    """Kill this process."""
    os.kill(os.getpid(), signal.SIGKILL)


def before_a_change(random: Random) -> None:
    """Let this process die before any one of its calls that change what is on the disk."""
    left = random.randrange(1, 180)  # a run has about so many

    def mortal(plain: Callable[..., object]) -> Callable[..., object]:
        def call(*given: object, **named: object) -> object:
            nonlocal left
            left -= 1
            if not left:
                die()
            return plain(*given, **named)

        return call

    for name in ("fsync", "rename", "replace", "symlink", "unlink", "rmdir", "mkdir"):
        setattr(os, name, mortal(getattr(os, name)))
    setattr(io, "open", mortal(io.open))  # noqa: B010 - what pathlib calls


def in_a_phase(random: Random) -> None:
    """Let this process die at the beginning or at the end of a step, an evaluation or a save."""
    name, left, late = (
        random.choice(["_take_step", "_evaluate", "_save"]),
        random.randrange(1, 4),
        random.random() < 0.5,
    )
    plain = getattr(Trainer, name)

    def mortal(*given: object, **named: object) -> object:
        nonlocal left
        left -= 1
        if not left and not late:
            die()
        found = plain(*given, **named)
        if not left:
            die()
        return found

    setattr(Trainer, name, mortal)


@dataclass(frozen=True)
class Kind:
    """A kind of kill: what runs, who dies, and what the command says where it lives on itself."""

    name: str
    cases: int
    arguments: tuple[str, ...]
    strike: Callable[[Command, Random, float], None]
    said: tuple[str, ...] = ()
    aim: Callable[[Random], None] | None = None  # in the command's process, before it begins
    own_cache: bool = False


TEXT = ("train", "text.toml", "--out", MADE, "--resume")
IMAGES = ("train", "images.toml", "--out", MADE, "--resume")
SEARCH = ("translate", "en-ko", "--workers", "2", "--in", "lines.txt", "--out", MADE)
KINDS = [
    Kind("trainer, at any moment", 24, TEXT, itself),
    Kind("trainer, before any change of a file", 24, TEXT, itself_later, aim=before_a_change),
    Kind("trainer, in a step, an evaluation or a save", 12, TEXT, itself_later, aim=in_a_phase),
    Kind("trainer beside its loaders", 8, IMAGES, itself),
    Kind("trainer, workers and loaders at once", 8, (*IMAGES, *SHARED), all_of_them),
    Kind("trainer, asked to stop", 8, TEXT, politely),
    Kind("training worker", 14, TEXT, a_child, (WORKER,)),
    Kind("loader", 12, IMAGES, a_child, (LOADER,)),
    Kind("training worker or its loader", 8, (*IMAGES, *SHARED), a_child, (WORKER, LOADER)),
    Kind("image-decoding process", 8, IMAGES, the_first_child, (DECODER,), own_cache=True),
    Kind("searching process", 8, SEARCH, a_child, (SEARCHER,)),
    Kind("translator beside its processes", 6, SEARCH, itself),
]


# --- a case


@dataclass
class Case:
    """One kill, and all that is wrong with what came of it."""

    kind: Kind
    place: Place
    seed: str
    wrong: list[str] = field(default_factory=list)

    def run(self) -> "Case":
        """Strike, look at what is left, go on, compare."""
        kind, random, folder = self.kind, Random(self.seed), self.place.new()
        wanted, seconds = self.place.whole(kind.arguments, own_cache=kind.own_cache)
        aim = kind.aim
        before = partial(aim, random) if aim else nothing
        command = self.place.start(kind.arguments, folder, own_cache=kind.own_cache, before=before)
        kind.strike(command, random, seconds)
        try:
            self._look_at(command, command.wait(LONGEST))
            for _ in range(3):  # one that was asked to stop may be asked once more
                again = self.place.start(kind.arguments, folder, own_cache=kind.own_cache)
                if again.wait(LONGEST) == 0:
                    break
                self.wrong.append(f"does not go on: {again.err[-300:]}")
            if not self.wrong and hashes(folder / "run") != wanted:
                self.wrong.append("goes on to another end")
        except AssertionError as hang:
            self.wrong.append(f"hangs: {hang}")
        finally:
            command.kill_all()
        return self

    def _look_at(self, command: Command, code: int) -> None:
        if not gone(command.others(), within=LEAVING):
            self.wrong.append("leaves processes behind")
        if "Traceback" in command.err:
            self.wrong.append(f"a traceback: {command.err[-300:]}")
        if code == 2:
            last = command.err.splitlines()[-1].removeprefix("jumok: ")
            if not last.startswith(self.kind.said or "nothing"):
                self.wrong.append(f"says: {last}")
        elif code not in ((0, 130) if self.kind.strike is politely else (0, -signal.SIGKILL, -signal.SIGTERM)):
            self.wrong.append(f"exit code {code}: {command.err[-300:]}")


def campaign(*, share: float, seed: int) -> list[Row]:
    """Kill a share of all that can be killed; return a row for each kind that was among them."""
    import_all()
    kernels()
    torch.set_num_threads(1)  # the commands are forks of this process, and another thread would not be in them
    cases = [kind for kind in KINDS for _ in range(kind.cases)]
    chosen = Random(seed).sample(range(len(cases)), max(round(share * len(cases)), 1))
    ended: dict[str, list[Case]] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        for number in sorted(chosen):
            kind = cases[number]
            ended.setdefault(kind.name, []).append(Case(kind, place, f"{seed} {number}").run())
    return [
        Row(f"killed: {name}", len(done), sum(bool(case.wrong) for case in done), _note(done))
        for name, done in ended.items()
    ]


def _note(done: list[Case]) -> str:
    """Return what is wrong first, with the case's seed."""
    return next((f"{case.seed}: {'; '.join(case.wrong)}" for case in done if case.wrong), "")
