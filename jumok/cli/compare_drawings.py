"""The table of `jumok compare` for drawers: what a reader finds in the drawings of each, with significance.

DrawingComparison → columns, a row for each run, notes below
"""

from typing import TYPE_CHECKING

from jumok.cli.compare_captions import UNKNOWN, score, unlike
from jumok.errors import counted

if TYPE_CHECKING:
    from jumok.api import DrawingComparison, DrawingResult

COLUMNS = ("run", "parameters", "minutes", "right, %", "p", "all right, %", "p", "training tok/s", "drawings/s")


def parts(comparison: "DrawingComparison") -> tuple[tuple[str, ...], list[list[str]], list[str]]:
    """Return headings, rows and notes."""
    baseline = comparison.runs[0]
    decoding = baseline.decoding
    lines = [
        f"right: of what prompts say, read in the drawings by {comparison.reader}; all right: drawings in which everything is",
        f"guidance {decoding['guidance']:g}, temperature {decoding['temperature']:g}, seed {decoding['seed']}; "
        f"{counted(comparison.threads, 'thread')}",
        f"±: 95 % interval; p: paired bootstrap against {baseline.name}; under 0.05 the difference is hardly chance",
        *unlike([run.name for run in comparison.runs], comparison.decoding_differences),
    ]
    return COLUMNS, [cells(run) for run in comparison.runs], lines


def cells(run: "DrawingResult") -> list[str]:
    """Return a run's row, one text per column."""
    seconds, speed = run.training_seconds, run.training_tokens_per_second
    return [
        run.name,
        f"{run.parameters:,}",
        UNKNOWN if seconds is None else f"{seconds / 60:.1f}",
        *score(run.right, run.right_significance.interval, run.right_significance.p),
        *score(run.all_right, run.all_right_significance.interval, run.all_right_significance.p),
        UNKNOWN if speed is None else f"{speed:,.0f}",
        f"{run.drawings_per_second:,.1f}",
    ]
