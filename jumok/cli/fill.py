"""`jumok fill`: find the missing words of a text."""

from pathlib import Path

import typer

from jumok.cli.display import echo, error_console, print_table, run_folders, warn_on
from jumok.cli.precision_option import PRECISION
from jumok.json_text import json_text


def fill(
    run: Path = typer.Argument(..., help="A run's folder.", autocompletion=run_folders),
    text: str = typer.Argument(..., help="A text with [MASK] where a word is missing; several are all filled."),
    top: int = typer.Option(5, "--top", min=1, help="Answers shown for each mask."),
    checkpoint: str = typer.Option("best", "--checkpoint", help="best, last or step-N."),
    precision: str = PRECISION,
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Fill in the masked tokens of a text: the likeliest tokens with their probabilities.

    Example: [bold]jumok fill runs/nsmc-pretrain "이 영화 정말 [MASK]"[/bold]
    """
    from rich.table import Table

    from jumok import api

    filler = api.load_for(api.Filler, run, api.LoadOptions(checkpoint=checkpoint, precision=precision))
    found = filler.fill(text, top=top, warn=warn_on(error_console()))
    if as_json:
        typer.echo(json_text({"text": found.text, "masks": found.masks}))
        return
    echo(found.text)
    table = Table(*(f"mask {number}" for number in range(1, len(found.masks) + 1)), box=None, padding=(0, 2))
    for answers in zip(*found.masks, strict=True):
        table.add_row(*(f"{share:6.1%}  {word}" for word, share in answers))
    print_table(table)
