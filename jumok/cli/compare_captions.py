"""The table of `jumok compare` for captioners: scores with significance, and objects where scenes were drawn.

CaptionComparison → columns, a row for each run, notes below
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jumok.errors import counted

if TYPE_CHECKING:
    from jumok.api import CaptionComparison, CaptionResult

COLUMNS = (
    "run", "parameters", "minutes", "CIDEr-D", "p", "BLEU-4", "p", "ROUGE-L", "distinct", "training tok/s", "images/s",
)  # fmt: skip
UNKNOWN = "–"


def parts(comparison: "CaptionComparison") -> tuple[tuple[str, ...], list[list[str]], list[str]]:
    """Return headings, rows and notes."""
    return COLUMNS, [cells(run) for run in comparison.runs], notes(comparison)


def cells(run: "CaptionResult") -> list[str]:
    """Return a run's row, one text per column."""
    seconds, speed = run.training_seconds, run.training_tokens_per_second
    return [
        run.name,
        f"{run.parameters:,}",
        UNKNOWN if seconds is None else f"{seconds / 60:.1f}",
        *score(run.cider_d, run.cider_d_significance.interval, run.cider_d_significance.p),
        *score(run.bleu4, run.bleu4_significance.interval, run.bleu4_significance.p),
        f"{run.rouge_l:.1f}",
        f"{run.distinct:,}",
        UNKNOWN if speed is None else f"{speed:,.0f}",
        f"{run.images_per_second:,.1f}",
    ]


def score(value: float, interval: float, p: float | None) -> tuple[str, str]:
    """Return a score with its interval, and its p."""
    return f"{value:.2f} ± {interval:.2f}", UNKNOWN if p is None else f"{p:.3f}"


def unlike(runs: Sequence[str], differences: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return in what runs decode unlike each other, one line each."""
    lines = []
    for key, values in differences.items():
        given = ", ".join(f"{run} {value}" for run, value in zip(runs, values, strict=True))
        lines.append(
            f"the runs decode unlike each other: {key} is {given}"
            + ("; --beam makes them alike" if key == "beam" else "")
        )
    return lines


def notes(comparison: "CaptionComparison") -> list[str]:
    """Return what a reader must know to read the table, and the scenes that are all right by their number of objects."""
    baseline = comparison.runs[0]
    lines = []
    for number, each in enumerate(baseline.objects):
        shares = "; ".join(_share(run, number) for run in comparison.runs)
        which = f"of {counted(each.objects, 'object')}" if each.objects else "in all"
        lines.append(f"all objects right, {which} ({counted(each.scenes, 'image')}): {shares}")
    lines += [
        f"beam {baseline.decoding['beam']}; {counted(comparison.threads, 'thread')}",
        f"±: 95 % interval; p: paired bootstrap against {baseline.name}; under 0.05 the difference is hardly chance",
    ]
    lines += unlike([run.name for run in comparison.runs], comparison.decoding_differences)
    return [*lines, comparison.signature]


def _share(run: "CaptionResult", number: int) -> str:
    """Return a run's share of scenes that are all right, with its p."""
    each = run.objects[number]
    p = "" if each.significance.p is None else f" (p {each.significance.p:.3f})"
    return f"{run.name} {each.all_right:.1f} %{p}"
