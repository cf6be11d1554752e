"""A run to translate with, where none is given: multi30k-tiny.toml, trained once for a quarter of an hour."""

import subprocess
import sys
from pathlib import Path

from contest import HERE

STEPS = 2000


def run_for(data: Path) -> Path:
    """Return the run, trained on the Multi30k in a folder, or as far as it had come before."""
    run = HERE.parent / "runs" / "bench-multi30k-tiny"
    settings = {
        "steps": STEPS, "optimizer": "muon", "learning_rate": 3e-3, "warmup": 200, "schedule": "cosine",
        "average": "ema", "average_decay": 0.998, "evaluate_every": 500, "save_every": 500, "log_every": 100,
    }  # fmt: skip
    command = [sys.executable, "-c", "from jumok.cli.main import main; main()", "train", HERE / "multi30k-tiny.toml"]
    options = [part for key, value in settings.items() for part in ("--set", f"training.{key}={value}")]
    subprocess.run([*map(str, command), "--data", str(data), "--out", str(run), "--resume", *options], check=True)
    return run
