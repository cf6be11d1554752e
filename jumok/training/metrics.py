"""metrics.jsonl: what a run logs, one JSON object per line; a resumed run forgets what came after its checkpoint."""

import json
from pathlib import Path
from typing import Any

from jumok.errors import RunError
from jumok.reading import is_kind, read_log


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
        kept = [line for line, row in read_log(self.path) if is_kind(row.get("step"), int) and row["step"] <= step]
        fresh.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
        fresh.replace(self.path)  # a kill in the middle must not cost the log
