"""What runs had learnt after so many minutes: their val scores side by side, as a table and as curves.

    python benchmarks/learning_curves.py runs/cifar10-* --png docs/figures/cifar10-curves.png

Read from the runs' own metrics.jsonl; the minutes are those of training, without the evaluations themselves.
"""

import argparse
import json
from pathlib import Path

Curve = list[tuple[float, float]]  # minutes, score


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Scores of runs against the minutes they were trained.")
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--score", default="accuracy", help="a val score of theirs")
    parser.add_argument("--every", type=float, default=10.0, help="minutes from column to column of the table")
    parser.add_argument("--png", type=Path, help="draw the curves to this file")
    return parser.parse_args()


def read(run: Path, score: str) -> Curve:
    """Return a run's curve."""
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    found = [(row["seconds"] / 60, row["evaluation"][score]) for row in rows if "evaluation" in row]
    if not found:
        raise SystemExit(f"{run} was never evaluated")
    return found


def at(curve: Curve, minutes: float) -> str:
    """Return the newest score of a curve after so many minutes; nothing where the run was over, or not yet scored."""
    seen = [score for when, score in curve if when <= minutes + 0.05]
    over = minutes > curve[-1][0] + 0.05
    return f"{seen[-1]:.2f}" if seen and not over else ""


def draw(curves: dict[str, Curve], score: str, path: Path) -> None:
    """Draw one line a run."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), dpi=150, layout="constrained")
    axes = figure.subplots()
    for name, curve in curves.items():
        axes.plot(*zip(*curve, strict=True), marker=".", label=f"{name} {curve[-1][1]:.2f}")
    axes.set(xlabel="minutes of training", ylabel=f"val {score}")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path)


def main() -> None:
    """Show the table, draw the curves."""
    given = arguments()
    curves = {run.name: read(run, given.score) for run in given.runs}
    last = max(curve[-1][0] for curve in curves.values())
    minutes = [given.every * number for number in range(1, int(last / given.every) + 1)]
    print(f"| {given.score} after | " + " | ".join(f"{value:g} min" for value in minutes) + " | at the end |")
    print("| --- |" + " --- |" * (len(minutes) + 1))
    for name, curve in curves.items():
        cells = [at(curve, value) for value in minutes]
        print(f"| {name} | " + " | ".join([*cells, f"{curve[-1][1]:.2f} ({curve[-1][0]:.0f} min)"]) + " |")
    if given.png:
        draw(curves, given.score, given.png)
        print(given.png)


if __name__ == "__main__":
    main()
