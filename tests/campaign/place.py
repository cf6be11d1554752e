"""Where kills and full disks are tried: small recipes and data, a folder for each case, and what comes of undisturbed commands.

Place → start: `jumok …` in a fork, what it makes in folder/run → hashes of that, to be compared with the whole's
"""

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tomli_w
from forked import Command
from PIL import Image

from jumok.data.images import image_store

LONGEST = 60.0  # seconds that a command may take: more is a hang
MADE = "MADE"  # in a command: where it writes
CHUNK = 8  # images that a process decodes at once here, so that there are several
TEXT = {
    "data": {"set": "copy", "size": 60},
    "tokenizer": {"kind": "word", "min_frequency": 1},
    "model": {"layers": 1, "heads": 2, "width": 8, "feedforward": 8},
    "training": {
        "steps": 12, "batch_tokens": 200, "warmup": 2, "learning_rate": 0.01, "average": "ema", "log_every": 2, "save_every": 3,
        "evaluate_every": 4, "evaluate_sentences": 2, "workers": 2,
    },
    "decoding": {"beam": 1, "max_length": 5},
}  # fmt: skip
IMAGES = {
    "task": "image-classification",
    "data": {"train": "images", "val": "images", "size": 8, "loaders": 2, "augment": {"flip": True, "crop": 1}},
    "model": {"name": "vit", "patch_size": 4, "layers": 1, "heads": 2, "width": 8, "feedforward": 8},
    "training": {
        "steps": 12, "batch_size": 4, "warmup": 2, "learning_rate": 0.01, "log_every": 2, "save_every": 3, "evaluate_every": 4,
        "workers": 1,
    },
}  # fmt: skip


def nothing() -> None:
    """Let a command be."""


class Place:
    """Where the campaign works: recipes and data, a folder for each case, and what undisturbed commands come to."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.number = folder, 0
        self.wholes: dict[str, tuple[dict[str, str], float]] = {}
        (folder / "text.toml").write_text(tomli_w.dumps(TEXT))
        (folder / "images.toml").write_text(tomli_w.dumps(IMAGES))
        (folder / "lines.txt").write_text("Where is the station?\n" * 64)
        generator = np.random.default_rng(1)
        for number in range(60):
            path = folder / "images" / "ab"[number % 2] / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(generator.integers(0, 255, (160, 160, 3), dtype=np.uint8)).save(path)

    def new(self) -> Path:
        """Return a new folder."""
        self.number += 1
        folder = self.folder / f"case-{self.number}"
        folder.mkdir()
        return folder

    def start(
        self,
        arguments: tuple[str, ...],
        folder: Path,
        *,
        own_cache: bool = False,
        before: Callable[[], object] = nothing,
    ) -> Command:
        """Start a command of jumok; what it makes is folder/run."""

        def prepare() -> None:
            os.environ["JUMOK_CACHE"] = str((folder if own_cache else self.folder) / "cache")
            os.environ.pop("JUMOK_DATA", None)
            os.chdir(self.folder)
            image_store.CHUNK = CHUNK
            os.sched_getaffinity = lambda process: {0, 1}  # type: ignore[assignment]
            before()

        given = (str(folder / "run") if part == MADE else part for part in arguments)
        return Command(*given, folder=folder, before=prepare)

    def whole(self, arguments: tuple[str, ...], *, own_cache: bool = False) -> tuple[dict[str, str], float]:
        """Return what the command makes that nobody disturbs, and the seconds that it takes."""
        key = " ".join((*arguments, str(own_cache)))
        if key not in self.wholes:
            self.start(arguments, self.new()).wait(LONGEST)  # fills the cache
            begun, folder = time.monotonic(), self.new()
            command = self.start(arguments, folder, own_cache=own_cache)
            assert command.wait(LONGEST) == 0, command.err
            self.wholes[key] = hashes(folder / "run"), time.monotonic() - begun
        return self.wholes[key]


def hashes(made: Path) -> dict[str, str]:
    """Return the hash of a file, or of each file of weights in a run, and where the run's links lead."""
    if made.is_file():
        return {"": hashlib.sha256(made.read_bytes()).hexdigest()}
    names = ("best/model.safetensors", "last/model.safetensors", "last/training.safetensors")
    found = {name: hashlib.sha256((made / name).read_bytes()).hexdigest() for name in names}
    return found | {name: (made / name).resolve().name for name in ("best", "last")}
