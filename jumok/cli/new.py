"""`jumok new`: write a commented recipe for two files."""

from pathlib import Path

import typer


def new(
    source: Path = typer.Argument(..., help="A file with one source sentence per line."),
    target: Path = typer.Argument(..., help="Its translations, line by line."),
    out: Path | None = typer.Option(None, "--out", help="The recipe to write; SOURCE-TARGET.toml by default."),
    val_source: Path | None = typer.Option(
        None, "--val-source", help="Sentences to score with; some are held out otherwise."
    ),
    val_target: Path | None = typer.Option(None, "--val-target", help="Their translations."),
) -> None:
    """Write a recipe for your own two files, with sizes chosen from the data.

    Example: [bold]jumok new talks.en talks.ko[/bold], then [bold]jumok check talks.en-talks.ko.toml[/bold]
    """
    from shlex import quote

    from jumok import api
    from jumok.cli.display import counting, error_console, say
    from jumok.errors import ConfigError

    path = out or Path(f"{source.name}-{target.name}.toml")
    if path.exists():
        raise ConfigError(f"{path} exists already; choose another name with --out, or remove it")
    if bool(val_source) != bool(val_target):
        raise ConfigError("--val-source and --val-target belong together")
    with counting(error_console()) as progress:
        progress("reading", 0)
        text = api.new_recipe(
            source.absolute(),
            target.absolute(),
            val_source=val_source and val_source.absolute(),
            val_target=val_target and val_target.absolute(),
        )
    try:
        path.write_text(text.replace("{name}", quote(str(path))), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}; choose another place with --out") from None
    say(f"{path} is written. Next:  jumok check {quote(str(path))}")
