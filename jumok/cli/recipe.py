"""`jumok recipe`: a shipped recipe to read or to change, and the sizes that models have by name."""

from pathlib import Path

import typer

from jumok.cli.display import print_table, recipe_names, say


def recipe(
    name: str = typer.Argument("", help="A shipped recipe (jumok list).", autocompletion=recipe_names),
    out: Path | None = typer.Option(None, "--out", help="Write it to a file, to be changed and trained."),
    presets: bool = typer.Option(False, "--presets", help="Show the presets of every model with their sizes instead."),
    as_json: bool = typer.Option(False, "--json", help="With --presets: print JSON."),
) -> None:
    """Print a shipped recipe, its head with command, time, score and data; or the models' presets.

    Example: [bold]jumok recipe nsmc-bert --out mine.toml[/bold]

    Example: [bold]jumok recipe --presets[/bold]
    """
    from jumok.config.recipe import shipped_recipes
    from jumok.errors import ConfigError, did_you_mean
    from jumok.writing import ANOTHER_PLACE, write_text

    if presets:
        if name or out is not None:
            raise ConfigError("--presets shows the sizes of all models; leave out the recipe and --out")
        show_presets(as_json=as_json)
        return
    shipped = shipped_recipes()
    if name not in shipped:
        raise ConfigError(f"there is no shipped recipe '{name}'; {did_you_mean(name, shipped)}")
    text = shipped[name].read_text(encoding="utf-8")
    if out is None:
        typer.echo(text, nl=False)
        return
    if out.exists():
        raise ConfigError(f"{out} exists already; choose another name, or remove it")
    write_text(out, text, ANOTHER_PLACE)
    say(f"{out} is written. Next:  jumok check {out}")


def show_presets(*, as_json: bool) -> None:
    """Print each model's presets with their sizes."""
    from rich.table import Table

    from jumok.catalogue import MODELS, config_class
    from jumok.json_text import json_text

    found = {name: config_class(name).PRESETS for name in MODELS}
    if as_json:
        typer.echo(json_text(found, indent=1))
        return
    table = Table("model", "preset", "sizes", box=None, padding=(0, 2))
    for model, named in found.items():
        for preset, sizes in named.items():
            table.add_row(model, preset, ", ".join(f"{key} {value}" for key, value in sizes.items()))
    print_table(table)
