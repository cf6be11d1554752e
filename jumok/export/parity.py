"""Does an export answer as the run does? Held-out sentences through both, compared."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from jumok.json_text import json_text

ALLOWED_SCORE = 1e-3  # difference in a score, of answers that are equal
ALLOWED_SHARE = 0.99  # of answers that must be equal: near ties may fall either way


@dataclass(frozen=True)
class Parity:
    """How alike two engines answer."""

    sentences: int
    equal: int
    largest_difference: float  # between the scores of equal answers
    first_difference: list[str]  # source, the run's answer, the export's; empty where there is none

    @property
    def holds(self) -> bool:
        """Whether the export may be called right."""
        return self.equal >= ALLOWED_SHARE * self.sentences and self.largest_difference <= ALLOWED_SCORE

    def __str__(self) -> str:
        lines = [
            f"{self.equal:,} of {self.sentences:,} held-out sentences are answered alike; "
            f"their scores differ by {self.largest_difference:.1e} at most"
        ]
        if self.first_difference:
            source, ours, theirs = self.first_difference
            lines.append(f"the first that differs: {source}\n  the run     {ours}\n  the export  {theirs}")
        return "\n".join(lines)

    def save(self, path: Path) -> None:
        """Write the report beside the export."""
        path.write_text(json_text(asdict(self), indent=1) + "\n", encoding="utf-8")


def compare(sources: Sequence[str], ours: Sequence[tuple[str, float]], theirs: Sequence[tuple[str, float]]) -> Parity:
    """Return how alike the answers (text, score) of two engines are."""
    equal, largest, first = 0, 0.0, list[str]()
    for source, mine, other in zip(sources, ours, theirs, strict=True):
        if mine[0] == other[0]:
            equal, largest = equal + 1, max(largest, abs(mine[1] - other[1]))
        elif not first:
            first = [source, mine[0], other[0]]
    return Parity(len(sources), equal, largest, first)
