"""What a campaign found: a line for each target, failures by what they have in common, and the table as Markdown."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from platform import python_version

from rich.console import Console
from rich.table import Table

from campaign.row import Row
from campaign.target import Outcome
from jumok import __version__

LIBRARIES = ("torch", "tokenizers", "safetensors", "numpy", "pillow", "pyarrow")


@dataclass
class Tally:
    """How the cases of a target ended."""

    name: str
    cases: int = 0
    slowest: float = 0.0
    memory: int = 0
    refused: int = 0
    failures: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Count an outcome."""
        self.cases += 1
        self.refused += bool(outcome.detail) and not outcome.failure
        self.slowest, self.memory = max(self.slowest, outcome.seconds), max(self.memory, outcome.memory)
        if outcome.failure:
            self.failures.append(outcome)

    def lines(self, seed: int) -> Iterator[str]:
        """Yield a line for each kind of failure: how often, what, where, and the command that shows it."""
        kinds = Counter((one.failure, one.root) for one in self.failures)
        for (failure, root), count in kinds.most_common():
            first = next(one for one in self.failures if (one.failure, one.root) == (failure, root))
            last = (first.detail.strip().splitlines() or [""])[-1][:200]
            command = f"python -m campaign {self.name} --seed {seed} --only {first.index}"
            yield f"{count}\t{failure}\t{root}\t{first.what}\t{last}\t{command}"

    @property
    def figures(self) -> tuple[str, ...]:
        """The cells of the target's line."""
        return (
            self.name,
            f"{self.cases:,}",
            f"{self.refused:,}",
            f"{len(self.failures):,}",
            f"{self.slowest:.1f} s",
            f"{self.memory >> 20:,} MB",
        )


HEADS = ("file", "mutations", "refused in a sentence", "failures", "slowest", "most memory")


def show(tallies: Sequence[Tally], rows: Sequence[Row], *, seed: int) -> None:
    """Print the tables, and a line for each kind of failure."""
    console = Console()
    table = Table(*HEADS)
    for tally in tallies:
        table.add_row(*tally.figures, style="red" if tally.failures else "")
    console.print(table)
    if rows:
        table = Table("what", "cases", "failures", "")
        for row in rows:
            table.add_row(
                row.name, f"{row.cases:,}", f"{row.failures:,}", row.note, style="red" if row.failures else ""
            )
        console.print(table)
    for tally in tallies:
        for line in tally.lines(seed):
            print(line.encode("utf-8", "backslashreplace").decode())


def as_markdown(tallies: Sequence[Tally], rows: Sequence[Row], *, seed: int, share: float, day: date) -> str:
    """Return the tables as a page."""
    cases, failures = sum(tally.cases for tally in tallies), sum(len(tally.failures) for tally in tallies)
    all_of_them = ("all", f"{cases:,}", f"{sum(tally.refused for tally in tallies):,}", f"{failures:,}", "", "")
    lines = [
        "# The campaign",
        "",
        _line(HEADS),
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *(_line(tally.figures) for tally in tallies),
        _line(all_of_them),
        "",
    ]
    if rows:
        lines += [_line(("what", "cases", "failures", "")), "| --- | ---: | ---: | --- |"]
        lines += [_line((row.name, f"{row.cases:,}", f"{row.failures:,}", row.note)) for row in rows] + [""]
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    lines += [
        f"`make campaign` (`python -m campaign --seed {seed} --share {share:g}`) on {day}: jumok {__version__}, Python {python_version()}, {libraries}.",
        "A mutation that is not refused changed nothing that matters, or nothing that can be seen. Memory is what a case took beside the process.",
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
