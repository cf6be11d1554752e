"""`jumok generate`: let a language model write on."""

from pathlib import Path

import typer

from jumok.cli.decoding_options import decoding_given
from jumok.cli.display import echo, error_console, run_folders, warn_on
from jumok.cli.precision_option import PRECISION
from jumok.json_text import json_text


def generate(
    context: typer.Context,
    run: Path = typer.Argument(..., help="A run's folder.", autocompletion=run_folders),
    beginning: str = typer.Argument("", help="The start of the text; nothing = a new document."),
    samples: int = typer.Option(1, "--samples", min=1, help="How many continuations."),
    greedy: bool = typer.Option(False, "--greedy", help="Always the likeliest token; nothing is drawn."),
    checkpoint: str = typer.Option("best", "--checkpoint", help="best, last or step-N."),
    precision: str = PRECISION,
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object per sample instead of streaming."),
) -> None:
    """Write on from the start of a text; shown while it is written.

    Example: [bold]jumok generate runs/shakespeare-char "ROMEO:" --temperature 0.8 --samples 2[/bold]
    """
    from jumok import api

    writer = api.load_for(api.Writer, run, api.LoadOptions(checkpoint=checkpoint, precision=precision))
    fixed = {"sample": False if greedy else None, "beam": 1}
    options = writer.options.changed(decoding_given(context) | fixed)
    warn = warn_on(error_console(), begin="\n")
    writer.read(beginning)  # what nothing can be written after is refused before anything is shown
    shown = beginning.encode("utf-8", "ignore").decode()  # a shell may hand over bytes that are no UTF-8
    for number in range(samples):
        each = options.model_copy(update={"seed": options.seed + number})
        if as_json:
            text = writer.generate(beginning, options=each, warn=warn)
            typer.echo(json_text({"beginning": shown, "text": text, "seed": each.seed}))
            continue
        if number:
            typer.echo("\n---")
        echo(shown, nl=False)
        for piece in writer.stream(beginning, options=each, warn=warn):
            echo(piece, nl=False)
        typer.echo()
