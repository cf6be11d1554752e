"""Two small runs that draw, trained once for the whole suite: image codes of built-in scenes, and a drawer that uses them.

Each is trained the first time that a test asks for it, whatever the number of workers. Nobody may change them.
"""

import fcntl
import os
from pathlib import Path
from typing import Any

import jumok

SIZE, ROWS, COLUMNS, CODES = 32, 4, 4, 60  # pixels a side, the grid of codes, how many codes there are
TRAINING = {"steps": 60, "batch_size": 16, "learning_rate": 1e-2, "warmup": 5, "probes": 0}
DATA = {"set": "shapes", "captions": "relations", "set_size": 200}

CODES_RECIPE = {
    "task": "image-codes",
    "data": DATA | {"size": SIZE},
    "model": {"name": "image-codes", "halvings": 3, "width": 8, "most_width": 16, "levels": [5, 4, 3]},
    "training": TRAINING,
}

DRAWER_RECIPE = {
    "task": "text-to-image",
    "data": DATA | {"max_length": 60},
    "tokenizer": {"kind": "word", "min_frequency": 1},
    "model": {"name": "dalle", "layers": 2, "width": 32, "heads": 2, "feedforward": 64},
    "training": TRAINING | {"label_smoothing": 0.0},
    "decoding": {"guidance": 2.0},
}


def train_once(tmp_path_factory: Any, name: str, recipe: dict[str, Any], **changes: str) -> Path:
    """Return the run of a recipe."""
    root: Path = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    run = root / f"{name}-run"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (run / "last").exists():
            jumok.train(recipe, out=run, overrides=changes, quiet=True)
    return run
