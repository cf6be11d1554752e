"""`jumok list`: models, tasks, recipes, built-in data sets, and trained models that ship with jumok."""

from typing import TYPE_CHECKING

import typer

from jumok.cli.display import say, standard_console
from jumok.texts import localized, localized_word

if TYPE_CHECKING:
    from pathlib import Path


def list_inventory(
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show models, tasks, recipes, built-in data sets, trained models that are ready for use, and whether C speeds them up.

    Example: [bold]jumok list[/bold]
    """
    from rich.table import Table

    from jumok.catalogue import DATASETS, MODELS, SHIPPED, TASKS, registered
    from jumok.config.recipe import shipped_recipes
    from jumok.json_text import json_text
    from jumok.native import build

    inventory = {
        "models": {name: entry.summary for name, entry in MODELS.items()} | registered("models"),
        "tasks": {name: entry.summary for name, entry in TASKS.items()} | registered("tasks"),
        "data sets": {name: entry.summary for name, entry in DATASETS.items()},
        "recipes": {name: summary(path) for name, path in shipped_recipes().items()},
    }
    if SHIPPED:
        inventory["shipped models"] = {name: entry.summary for name, entry in SHIPPED.items()}
    native = build.state()
    inventory["kernels in C"] = {"not in use" if native.library is None else "in use": native.told}
    if as_json:
        typer.echo(json_text(inventory, indent=1))
        return
    console = standard_console()
    for title, entries in inventory.items():
        table = Table(
            title=localized_word(title),
            title_justify="left",
            title_style="bold",
            show_header=False,
            box=None,
            padding=(0, 2),
        )
        for name, text in entries.items():
            table.add_row(localized_word(name) if title == "kernels in C" else name, localized(text))
        console.print(table)
        console.print()
    say("jumok recipe NAME prints a recipe, jumok recipe --presets the sizes that models have by name.")


def summary(recipe: "Path") -> str:
    """Return the first comment of a recipe."""
    for line in recipe.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            return line.lstrip("# ")
    return ""
