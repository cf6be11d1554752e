"""Checkpoints that a kill at any moment cannot spoil.

RUN/.step-N.new/ → written and synced → renamed RUN/step-N/ → links `last` and `best` swapped → older folders removed

step-N/model.safetensors holds the weights to use (averaged where the recipe averages), training.safetensors and
training.json all that is needed to go on exactly.
"""

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from jumok.arrays import read_tensors
from jumok.errors import RunError
from jumok.reading import read_object

KEEP = 2  # newest checkpoints, beside the best


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
        """Write step-N and make it `last`, and `best` where it is."""
        folder, fresh = self.run / f"step-{step}", self.run / f".step-{step}.new"
        try:
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
            save_file(_contiguous(weights), fresh / "model.safetensors")
            save_file(_contiguous(training), fresh / "training.safetensors")
            (fresh / "training.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")
            for path in [*fresh.iterdir(), fresh]:
                _sync(path)
            if folder.exists():  # saved before a kill that came before the links: the same contents
                shutil.rmtree(folder)
            fresh.rename(folder)
            self._link("last", folder)
            if best:
                self._link("best", folder)
            _sync(self.run)
        except (OSError, SafetensorError) as error:
            shutil.rmtree(fresh, ignore_errors=True)
            full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error)
            kept = self.steps()
            raise RunError(
                f"{f'the disk of {self.run} is full' if full else f'{self.run} cannot be written ({error})'}: "
                f"the checkpoint of step {step} could not be written; "
                f"{f'step-{kept[-1]} is whole' if kept else 'no checkpoint is there yet'}. "
                f"{'Free some space' if full else 'Mend that'}, then go on with --resume."
            ) from None
        self._prune()

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
        return self._read(self.find(name) / "model.safetensors")

    def load_training(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return what the newest checkpoint holds for going on."""
        # A kill may come after the first folder and before its link: a folder under its own name is whole.
        steps = [] if (self.run / "last").is_dir() else self.steps()
        folder = self.find(f"step-{steps[-1]}" if steps else "last")
        facts = read_object(folder / "training.json", self._refuse)
        return self._read(folder / "training.safetensors"), facts

    def _read(self, path: Path) -> dict[str, Tensor]:
        return read_tensors(path, self._refuse)

    def _refuse(self, place: str, why: str) -> RunError:
        return RunError(self._damage(Path(place)))

    def _damage(self, path: Path) -> str:
        folder = path.parent.resolve().name
        others = [f"step-{step}" for step in reversed(self.steps()) if f"step-{step}" != folder]
        state = (
            f"damaged ({path.stat().st_size:,} bytes; was it cut off while copying?)" if path.exists() else "missing"
        )
        if not others:
            return f"{path} is {state} and {self.run} holds no other checkpoint; copy it again or train anew."
        return (
            f"{path} is {state}. {others[0]} is another checkpoint: use --checkpoint {others[0]}, or to train on from it "
            f"remove {self.run / folder} and type: ln -sfn {others[0]} {self.run / 'last'}"
        )


def _contiguous(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().cpu().contiguous() for name, value in tensors.items()}


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
