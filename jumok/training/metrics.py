"""metrics.jsonl: what a run logs, one JSON object per line; a resumed run forgets what came after its checkpoint."""

from pathlib import Path
from typing import Any

from jumok.json_text import json_text
from jumok.reading import is_kind, read_log
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
        kept = [line for line, row in read_log(self.path) if is_kind(row.get("step"), int) and row["step"] <= step]
        with whole_file(self.path, durable=True) as part:
            part.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
