"""Checkpoints that a kill at any moment cannot spoil.

RUN/.step-N.new/ → written and synced → renamed RUN/step-N/ → links `last` and `best` swapped → older folders removed

step-N/model.safetensors holds the weights to use (averaged where the recipe averages), training.safetensors and
training.json all that is needed to go on exactly. Each file holds its own checksum. Where the newest checkpoint is
damaged, a run goes on from the one before it.
"""

import json
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor

from jumok.errors import RunError
from jumok.reading import read_object
from jumok.tensor_file import WRONG_CHECKSUM, DamagedFileError, read_tensors, write_tensors
from jumok.writing import FULL, RESUME, explained, put_on_disk, reason, remove_parts

KEEP = 2  # newest checkpoints, beside the best
STATE, CHECKSUM = "training.json", "crc32"


class Checkpoints:
    """The checkpoints in a run's folder."""

    def __init__(self, run: Path) -> None:
        self.run = run

    def steps(self) -> list[int]:
        """Return the steps of whole checkpoints, oldest first."""
        folders = (path.name.removeprefix("step-") for path in self.run.glob("step-*") if path.is_dir())
        return sorted(int(number) for number in folders if number.isdigit())

    def save(
        self, step: int, *, weights: dict[str, Tensor], training: dict[str, Tensor], facts: dict[str, Any], best: bool
    ) -> None:
        """Write step-N and make it `last`, and `best` where it is; remove what is no longer needed."""
        try:
            self.write(step, weights=weights, training=training, facts=facts, best=best)
        except OSError as error:
            full, kept = error.errno in FULL, [one for one in self.steps() if one != step]
            raise RunError(
                f"{f'the disk of {self.run} is full' if full else f'{self.run} cannot be written ({reason(error)})'}: "
                f"the checkpoint of step {step} could not be written; "
                f"{f'step-{kept[-1]} is whole' if kept else 'no checkpoint is there yet'}. "
                f"{'Free some space' if full else 'Mend that'}, then go on with --resume."
            ) from None
        with explained(self.run, RESUME):
            self._prune()

    def write(
        self, step: int, *, weights: dict[str, Tensor], training: dict[str, Tensor], facts: dict[str, Any], best: bool
    ) -> None:
        """Do what save does, but remove nothing; a failure is an OSError, and nothing is left of it."""
        folder, fresh = self.run / f"step-{step}", self.run / f".step-{step}.new"
        try:
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
            write_tensors(weights, fresh / "model.safetensors")
            write_tensors(training, fresh / "training.safetensors")
            (fresh / STATE).write_text(_as_json({**facts, CHECKSUM: _checksum(facts)}), encoding="utf-8")
            put_on_disk(*fresh.iterdir(), fresh)
            if folder.exists():  # saved before a kill that came before the links: the same contents
                shutil.rmtree(folder)
            fresh.rename(folder)
            self._link("last", folder)
            if best:
                self._link("best", folder)
            put_on_disk(self.run)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def mark_best(self, step: int) -> None:
        """Make step-N `best`, in case a kill came between the two links."""
        self._link("best", self.run / f"step-{step}")

    def _link(self, name: str, folder: Path) -> None:
        fresh = self.run / f".{name}.new"
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(folder.name)
        fresh.replace(self.run / name)  # atomic: a reader sees the old or the new, never none

    def _prune(self) -> None:
        kept = {os.readlink(self.run / name) for name in ("last", "best") if (self.run / name).is_symlink()}
        kept |= {f"step-{step}" for step in self.steps()[-KEEP:]}
        old = [self.run / f"step-{step}" for step in self.steps() if f"step-{step}" not in kept]
        for folder in [*old, *self.run.glob(".step-*.new")]:  # those were left half-written by a kill
            shutil.rmtree(folder)
        remove_parts(self.run)

    def find(self, name: str = "best") -> Path:
        """Return the folder of `best`, `last` or `step-N`."""
        folder = self.run / name
        if folder.is_dir():
            return folder
        if not self.run.is_dir():
            raise RunError(f"there is no run folder {self.run}; jumok train makes one")
        there = [f"step-{step}" for step in self.steps()] + [n for n in ("best", "last") if (self.run / n).is_dir()]
        if not there:
            raise RunError(f"{self.run} holds no checkpoint yet; train it first: jumok train RECIPE --out {self.run}")
        raise RunError(f"{self.run} has no checkpoint '{name}'; there are {', '.join(there)}")

    def load_weights(self, name: str = "best") -> dict[str, Tensor]:
        """Return the weights to use."""
        folder = self.find(name)
        try:
            return _read(folder / "model.safetensors")
        except DamagedFileError as damage:
            raise RunError(self._with_way_out(damage, folder)) from None

    def load_training(
        self, tell: Callable[[str], object] = lambda note: None
    ) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return what the newest whole checkpoint holds for going on; tell hears of each that is passed over."""
        # A kill may come after the first folder and before its link: a folder under its own name is whole.
        steps = [f"step-{step}" for step in reversed(self.steps())]
        newest = self.find(steps[0] if steps and not (self.run / "last").is_dir() else "last").resolve().name
        damages = []
        for step in [newest, *(step for step in steps if step != newest)]:
            try:
                found = _read_training(self.run / step)
            except DamagedFileError as damage:
                damages.append(damage)
                continue
            if damages:
                tell(f"{damages[0]}: going back to {step}, and what came after it is trained again")
            return found
        raise RunError(
            f"{damages[0]}, and {self.run} holds no other whole checkpoint; copy the run again, or train it anew"
        )

    def _with_way_out(self, damage: DamagedFileError, folder: Path) -> str:
        """Return what is wrong with a checkpoint's weights, and what to do about it."""
        others = [f"step-{step}" for step in reversed(self.steps()) if f"step-{step}" != folder.resolve().name]
        if others:
            return f"{damage}. {others[0]} is another checkpoint: use --checkpoint {others[0]}."
        if folder.name == "best" and not folder.is_symlink():  # of an installed package, which has no links
            return f"{damage}; copy the folder again, or install jumok again."
        return f"{damage}, and {self.run} holds no other checkpoint; copy the run again, or train it anew."


def _read_training(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and facts of a checkpoint's state of training."""
    tensors = _read(folder / "training.safetensors")
    path = folder / STATE
    if not path.exists():
        raise DamagedFileError(f"{path} is missing")
    facts = read_object(path, lambda place, why: DamagedFileError(f"{place} is damaged ({why})"))
    if facts.pop(CHECKSUM, None) not in (None, _checksum(facts)):
        raise DamagedFileError(f"{path} is damaged ({WRONG_CHECKSUM})")
    return tensors, facts


def _read(path: Path) -> dict[str, Tensor]:
    try:
        return read_tensors(path)[0]
    except DamagedFileError as damage:
        raise DamagedFileError(f"{path} is damaged ({damage})") from None
    except OSError as error:
        raise DamagedFileError(_unreadable(path, error)) from None


def _unreadable(path: Path, error: OSError) -> str:
    return f"{path} cannot be read ({error.strerror or error})" if path.exists() else f"{path} is missing"


def _checksum(facts: dict[str, Any]) -> str:
    return f"{zlib.crc32(_as_json(facts).encode()):08x}"


def _as_json(facts: dict[str, Any]) -> str:
    return json.dumps(facts, indent=1)  # Python's own, so that an infinite best score comes back as it was
