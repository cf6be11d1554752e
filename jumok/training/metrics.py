"""metrics.jsonl: what a run logs, one JSON object per line; a resumed run forgets what came after its checkpoint."""

import json
import math
from pathlib import Path
from typing import Any

from jumok.errors import RunError


class Metrics:
    """The log of a run."""

    def __init__(self, run: Path) -> None:
        self.path = run / "metrics.jsonl"

    def write(self, row: dict[str, Any]) -> None:
        """Add a row."""
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        except OSError as error:
            raise RunError(
                f"{self.path} cannot be written ({error.strerror}); mend that, then go on with --resume."
            ) from None

    def forget_after(self, step: int) -> None:
        """Remove the rows of later steps."""
        fresh = self.path.with_name(".metrics.jsonl.new")
        text = self.path.read_text(encoding="utf-8", errors="replace") if self.path.exists() else ""
        fresh.write_text("".join(f"{row}\n" for row in text.split("\n") if _step_of(row) <= step), encoding="utf-8")
        fresh.replace(self.path)  # a kill in the middle must not cost the log


def _step_of(row: str) -> float:
    """Return the step of a row; a row cut off by a kill counts as the future."""
    try:
        return float(json.loads(row)["step"])
    except (ValueError, KeyError, TypeError):
        return math.inf
