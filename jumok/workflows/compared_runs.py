"""What comparisons share, whatever the runs do: the facts of a run, its time in training, how they are told.

a run's folder → ComparedRun, which a row of each comparison begins with; SideBySide → JSON
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jumok.errors import RunError
from jumok.reading import is_kind, read_log, read_object

Progress = Callable[[str, int, int], None]  # told the run, what is done since the last call, and all

TOLD = {"step": int, "seconds": float, "target_tokens": int}  # of rows that say how far a run was; evaluations do not


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
    step = re.fullmatch(r"step-(\d{1,18})", checkpoint)
    rows = [row for _, row in read_log(folder / "metrics.jsonl")]
    state = folder / (checkpoint if step else "last") / "training.json"
    with suppress(RunError):  # a time that is not known keeps no runs from being compared
        rows.append(read_object(state, _damaged))
    told = [row for row in rows if row.keys() >= TOLD.keys() and all(is_kind(row[key], TOLD[key]) for key in TOLD)]
    told = [row for row in told if row["seconds"] > 0 and (not step or row["step"] <= int(step[1]))]
    if not told:
        return None, None
    last = max(told, key=lambda row: (row["step"], row["seconds"]))
    return float(last["seconds"]), last["target_tokens"] / last["seconds"]


def _damaged(place: str, why: str) -> RunError:
    return RunError(f"{place} is damaged ({why}); copy the run again, or train it anew")
