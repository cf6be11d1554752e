"""metrics.jsonl: what a run logs, one JSON object per line; a resumed run forgets what came after its checkpoint."""

import json
import math
from pathlib import Path
from typing import Any

from jumok.json_text import json_text
from jumok.writing import RESUME, explained, put_on_disk, whole_file


class Metrics:
    """The log of a run."""

    def __init__(self, run: Path) -> None:
        self.path = run / "metrics.jsonl"

    def write(self, row: dict[str, Any]) -> None:
        """Add a row."""
        with explained(self.path, RESUME), self.path.open("a", encoding="utf-8") as file:
            file.write(json_text(row) + "\n")

    def settle(self) -> None:
        """Wait until the rows would outlast a power cut, as a checkpoint does that counts on them."""
        with explained(self.path, RESUME):
            if self.path.exists():
                put_on_disk(self.path)

    def forget_after(self, step: int) -> None:
        """Remove the rows of later steps."""
        text = self.path.read_text(encoding="utf-8", errors="replace") if self.path.exists() else ""
        with whole_file(self.path, durable=True) as part:
            rows = (f"{row}\n" for row in text.split("\n") if _step_of(row) <= step)
            part.write_text("".join(rows), encoding="utf-8")


def _step_of(row: str) -> float:
    """Return the step of a row; a row cut off by a kill counts as the future."""
    try:
        return float(json.loads(row)["step"])
    except (ValueError, KeyError, TypeError):
        return math.inf
