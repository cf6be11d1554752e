"""What comparisons share, whatever the runs do: the facts of a run, its time in training, how they are told.

a run's folder → ComparedRun, which a row of each comparison begins with; SideBySide → JSON
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Progress = Callable[[str, int, int], None]  # told the run, what is done since the last call, and all


@dataclass(frozen=True)
class ComparedRun:
    """The facts of one run."""

    name: str
    folder: str
    model: str
    parameters: int
    training_seconds: float | None  # None where the run's folder does not say


@dataclass(frozen=True)
class SideBySide:
    """Runs side by side on one corpus."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return asdict(self)


def differences(options: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the options in which runs differ, with the value of each run."""
    values = {key: [of_run[key] for of_run in options] for key in options[0]}
    return {key: found for key, found in values.items() if any(value != found[0] for value in found)}


def advance_of(progress: Progress, name: str, total: int) -> Callable[[int], None]:
    """Return what tells progress of one run."""
    return lambda done: progress(name, done, total)


def training_time(folder: Path, checkpoint: str = "best") -> tuple[float | None, float | None]:
    """Return a run's seconds in training and target tokens per second: of all of it, or up to checkpoint step-N."""
    step = re.fullmatch(r"step-(\d+)", checkpoint)
    lines: list[str] = []
    for path in (folder / "metrics.jsonl", folder / (checkpoint if step else "last") / "training.json"):
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            lines += [text] if path.suffix == ".json" else text.splitlines()
    rows = [row for row in map(_row, lines) if not step or row.get("step", 0) <= int(step[1])]
    rows = [row for row in rows if row.get("seconds") and "target_tokens" in row]  # rows of evaluations have no tokens
    if not rows:
        return None, None
    last = max(rows, key=lambda row: (row["step"], row["seconds"]))
    return float(last["seconds"]), last["target_tokens"] / last["seconds"]


def _row(line: str) -> dict[str, Any]:
    """Return a line of the log; one that a kill cut off is empty."""
    try:
        row = json.loads(line)
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}
