"""`jumok check`: look at a recipe and its data before a run."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli.display import counting, error_console, padded, print_table, recipe_names, say, standard_console
from jumok.texts import localized, localized_word, visible

if TYPE_CHECKING:
    from jumok.api import CheckReport


def check(
    recipe: str = typer.Argument(
        ..., help="A recipe file, or the name of a shipped recipe (jumok list).", autocompletion=recipe_names
    ),
    data: Path | None = typer.Option(None, "--data", help="The folder of the recipe's files; JUMOK_DATA otherwise."),
    overrides: list[str] = typer.Option([], "--set", help="Change a key: --set model.width=256. May be repeated."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Look at a recipe and its data before training: counts, samples, memory, time, problems and their cures.

    Of series: steps that are missing or uneven, constant or mostly missing columns, columns that tell what is to be forecast, too little history, val that stands in train.

    Example: [bold]jumok check multi30k-en-de --data multi30k[/bold]

    Example: [bold]jumok check sales.toml --set data.look_back=336[/bold] (a forecaster of your own table)
    """
    from jumok import api
    from jumok.json_text import json_text

    with counting(error_console()) as progress:
        report = api.check(recipe, data=data, overrides=overrides, progress=progress)
    if as_json:
        typer.echo(json_text(report.to_dict(), indent=1))
    else:
        show(report)


def show(report: "CheckReport") -> None:
    """Print the report for people."""
    from rich.table import Table

    from jumok.errors import counted

    reasons = [
        name for name in next(iter(report.counts.values())) if any(counts[name] for counts in report.counts.values())
    ]
    console = standard_console()
    table = Table(report.unit, *(name.replace("_", " ") for name in reasons), box=None, padding=(0, 2))
    for split, counts in report.counts.items():
        table.add_row(localized(split), *(f"{counts[name]:,}" for name in reasons))
    print_table(table)
    if report.lengths:
        table = Table("tokens each", "mean", "median", "99 % up to", "longest", box=None, padding=(0, 2))
        for side, found in report.lengths.items():
            table.add_row(side, f"{found.mean:.1f}", str(found.median), str(found.nearly_all), str(found.longest))
        print_table(table)
    if report.samples:
        say(f"\n{counted(len(report.samples), report.unit[:-1])} as the model sees them")
    for sample in report.samples:
        console.print("  " + "\n  → ".join(" ".join(side) for side in sample), markup=False, soft_wrap=True)
    rows, *sizes = report.largest
    words = (
        f"of up to {' and '.join(map(str, sizes))} tokens" if report.lengths else f"of {' × '.join(map(str, sizes))}"
    )
    facts = {
        localized_word("vocabulary"): ", ".join(f"{size:,} {name}" for name, size in report.vocabularies.items()),
        localized_word("parameters"): f"{report.parameters:,}",
        localized_word(
            "largest batch"
        ): f"{counted(rows, report.unit[:-1])} {words}; {report.memory / 1e6:,.0f} MB at its peak",
        localized_word("padding"): f"{report.padding:.1%}" if report.lengths else "",
        localized_word("products"): ", ".join(
            localized(f"{name} ({speed:.3g} batches/s)") for name, speed in report.precisions.items()
        ),
        localized_word(
            "speed"
        ): f"{report.tokens_per_second:,.0f} {report.counted}/s with the machine as busy as it is now",
        localized_word("kernels in C"): report.kernels,
        localized_word(
            "processes"
        ): f"{report.workers} ({', '.join(localized(f'{speed:.3g} batches/s in {name}') for name, speed in report.settings.items())})",
        localized_word(
            "time"
        ): f"{report.times[0]} per epoch ({counted(report.steps_per_epoch, 'step')}), {report.times[1]} in all, "
        "evaluations not counted",
    }
    console.print()
    for name, fact in facts.items():
        if fact:
            typer.echo(visible(f"{padded(name, 14)} {localized(fact)}"))
    if not report.problems:
        say("\nno problems found")
    for problem, cure in report.problems:
        say(f"\nproblem  {problem}\ncure     {cure}")
