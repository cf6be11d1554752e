"""The table of `jumok compare` for forecasters: scores, and p of the test of Diebold and Mariano.

ForecastComparison → columns, a row for each run, notes below
"""

from typing import TYPE_CHECKING

from jumok.cli.compare_captions import UNKNOWN

if TYPE_CHECKING:
    from jumok.api import ForecastComparison, ForecastResult

COLUMNS = ("run", "parameters", "minutes", "look-back", "windows/s")
SCORES = {"mse": "MSE", "mae": "MAE", "mase": "MASE", "pinball": "pinball", "crps": "CRPS"}
PATH_SCORES = {"ade": "ADE", "fde": "FDE", "best_ade": "best ADE", "best_fde": "best FDE"}
TESTED = ("mse", "pinball", "ade", "best_ade")


def parts(comparison: "ForecastComparison") -> tuple[tuple[str, ...], list[list[str]], list[str]]:
    """Return headings, rows and notes."""
    wanted = PATH_SCORES if comparison.main == "ade" else SCORES
    shown = {score: title for score, title in wanted.items() if any(_known(run, score) for run in comparison.runs)}
    columns, rows = list(COLUMNS[:4]), [_facts(run) for run in comparison.runs]
    for score, title in shown.items():
        columns += [title, "p"] if score in TESTED else [title]
        for row, run in zip(rows, comparison.runs, strict=True):
            row.append(f"{run.scores[score]:.5g}" if _known(run, score) else UNKNOWN)
            if score in TESTED:
                p = run.tests.get(score, {}).get("p")
                row.append(UNKNOWN if p is None else f"{p:.3f}")
    for row, run in zip(rows, comparison.runs, strict=True):
        row.append(f"{run.windows_per_second:,.0f}")
    return (*columns, COLUMNS[4]), rows, notes(comparison)


def _known(run: "ForecastResult", score: str) -> bool:
    return run.scores.get(score) is not None


def _facts(run: "ForecastResult") -> list[str]:
    seconds = run.training_seconds
    return [
        run.name,
        f"{run.parameters:,}",
        UNKNOWN if seconds is None else f"{seconds / 60:.1f}",
        f"{run.look_back:,}",
    ]


def notes(comparison: "ForecastComparison") -> list[str]:
    """Return what a reader must know to read the table."""
    name = {"mse": "MSE", "ade": "ADE"}[comparison.main]
    return [
        f"best floor of {comparison.runs[0].name}: {comparison.floor}, {name} {comparison.floor_score:.5g}",
        f"p: Diebold-Mariano test against {comparison.runs[0].name}; under 0.05 the difference is hardly chance; windows "
        f"without overlap in time: {comparison.independent:,.0f}",
    ]
