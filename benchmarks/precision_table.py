"""What pairs of runs in fp32 and bf16 came to: a row and a panel for each recipe, for precision.py.

results of runs → compare → table, curves → OUT.json, OUT.md, a figure
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from contest import PRECISIONS, machine

NAMES = {"exact_match": "exact match, %", "accuracy": "accuracy, %", "bleu": "BLEU", "loss": "loss"}
DIGITS = {"loss": 4}  # of a score; others have two
COLOURS = {"fp32": "C0", "bf16": "C1"}
STROKES = {"fp32": (2.2, 0.5), "bf16": (0.9, 1.0)}  # width, opacity: so that a line that hides another does not
Result = dict[str, Any]


def told(found: Result) -> str:
    """Return a result in a few words."""
    return f"val {NAMES[found['score']]}: {shown(found['value'], found['score'])} after {found['minutes']:.0f} min"


def shown(value: float, score: str, sign: str = "") -> str:
    """Return a score as text."""
    return f"{value:{sign}.{DIGITS.get(score, 2)}f}"


def compare(results: Sequence[Result]) -> list[Result]:
    """Return a row for each recipe that has runs in both precisions with the same seeds."""
    rows = []
    for recipe in dict.fromkeys(result["recipe"] for result in results):
        by_precision = {
            precision: {r["seed"]: r for r in results if (r["recipe"], r["precision"]) == (recipe, precision)}
            for precision in PRECISIONS
        }
        seeds = sorted(set.intersection(*map(set, by_precision.values())))
        if not seeds:
            continue
        values = {precision: [found[seed]["value"] for seed in seeds] for precision, found in by_precision.items()}
        some = by_precision["fp32"][seeds[0]]
        rows.append(
            {
                "recipe": recipe,
                "score": some["score"],
                "steps": some["steps"],
                "seeds": seeds,
                "floor": some["floor"],
                **values,
                "difference": mean(values["bf16"]) - mean(values["fp32"]),
                "spread": {precision: max(found) - min(found) for precision, found in values.items()},
                "minutes": {
                    precision: mean(found[seed]["minutes"] for seed in seeds)
                    for precision, found in by_precision.items()
                },
            }
        )
    return rows


def table(rows: Sequence[Result]) -> list[str]:
    """Return the rows as lines of markdown."""
    lines = [
        "| recipe | val score | steps | trivial answer | fp32, each seed | bf16, each seed | bf16 − fp32, means "
        "| spread of seeds, fp32 | bf16 | minutes, fp32 | bf16 |",
        "| --- | --- | ---: | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        score = row["score"]
        seeds = [" ".join(shown(value, score) for value in row[precision]) for precision in PRECISIONS]
        several = len(row["seeds"]) > 1
        spreads = [shown(row["spread"][precision], score) if several else "" for precision in PRECISIONS]
        minutes = [f"{row['minutes'][precision]:.0f}" for precision in PRECISIONS]
        difference = shown(row["difference"], score, "+")
        cells = [row["recipe"], NAMES[score], f"{row['steps']:,}", shown(row["floor"], score), *seeds, difference]
        lines.append(f"| {' | '.join([*cells, *spreads, *minutes])} |")
    return lines


def draw(results: Sequence[Result], path: Path) -> None:
    """Draw a panel for each recipe and a line for each run."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    recipes = list(dict.fromkeys(result["recipe"] for result in results))
    columns = min(len(recipes) + 1, 3)
    rows = math.ceil((len(recipes) + 1) / columns)  # the last panel is the legend's
    figure = Figure(figsize=(3.4 * columns, 2.9 * rows), dpi=150, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).flatten().tolist()
    for recipe in recipes:
        axes = panels.pop(0)
        for result in (one for one in results if one["recipe"] == recipe):
            colour, (width, alpha) = COLOURS[result["precision"]], STROKES[result["precision"]]
            axes.plot(*zip(*result["curve"], strict=True), color=colour, linewidth=width, alpha=alpha)
            score = NAMES[result["score"]]
        axes.set(title=recipe, xlabel="step", ylabel=f"val {score}")
        axes.grid(alpha=0.3)
    lines = [
        Line2D([], [], color=colour, linewidth=STROKES[precision][0], alpha=STROKES[precision][1], label=precision)
        for precision, colour in COLOURS.items()
    ]
    panels[0].legend(handles=lines, title="products in", loc="center", frameon=False, fontsize=11)
    for axes in panels:
        axes.axis("off")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def save(results: Sequence[Result], *, out: Path, png: Path) -> str:
    """Write OUT.json, OUT.md and the figure; return the table."""
    rows, facts = compare(results), machine()
    machines = dict.fromkeys(result["processor"] for result in results)
    text = "\n".join(
        [
            "# Quality of training in bf16, beside fp32 at equal steps",
            "",
            f"`{facts['command']}` at {facts['commit']}, {facts['when']}. The runs were made on: {'; '.join(machines)}; each "
            "in one process of one thread, with others beside it, so that minutes tell little.",
            "",
            *table(rows),
            "",
            "Val scores of each run's best step, by `jumok evaluate --precision fp32`; the spread is the most less the least.",
            "",
        ]
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    content = {"machine": facts, "rows": rows, "runs": [f"{r['recipe']}-{r['precision']}-{r['seed']}" for r in results]}
    out.with_suffix(".json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    draw(results, png)
    return text
