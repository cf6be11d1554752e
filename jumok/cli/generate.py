"""`jumok generate`: let a language model write on."""

from pathlib import Path

import typer

from jumok.cli.display import error_console, run_folders


def generate(
    run: Path = typer.Argument(..., help="A run's folder.", autocompletion=run_folders),
    beginning: str = typer.Argument("", help="The start of the text; nothing = a new document."),
    length: int | None = typer.Option(None, "--length", min=1, help="Tokens to write; 200 by default."),
    samples: int = typer.Option(1, "--samples", min=1, help="How many continuations."),
    temperature: float | None = typer.Option(None, "--temperature", help="Above 1 bolder, below 1 safer."),
    top_k: int | None = typer.Option(None, "--top-k", min=0, help="Draw from the k likeliest tokens."),
    top_p: float | None = typer.Option(None, "--top-p", help="Draw from the likeliest tokens that make up this share."),
    min_p: float | None = typer.Option(
        None, "--min-p", help="Draw from tokens at least this share as likely as the likeliest."
    ),
    repetition_penalty: float | None = typer.Option(
        None, "--repetition-penalty", help="Make tokens already written less likely; 1 = off."
    ),
    greedy: bool = typer.Option(False, "--greedy", help="Always the likeliest token; nothing is drawn."),
    stop: list[str] = typer.Option([], "--stop", help="End before this text. May be repeated."),
    seed: int | None = typer.Option(None, "--seed", min=0, help="Of the random draws."),
    checkpoint: str = typer.Option("best", "--checkpoint", help="best, last or step-N."),
    as_json: bool = typer.Option(False, "--json", help="Print a JSON object a sample instead of streaming."),
) -> None:
    """Write on from the start of a text; shown while it is written.

    Example: [bold]jumok generate runs/shakespeare-char "ROMEO:" --temperature 0.8 --samples 2[/bold]
    """
    import json

    from jumok import api
    from jumok.config import DecodingConfig
    from jumok.predictors.writer import Writer

    console = error_console()
    writer = api.load_for(Writer, run, checkpoint=checkpoint)
    given = {
        "max_length": length,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "min_p": min_p,
        "repetition_penalty": repetition_penalty,
        "stop": stop or None,
        "seed": seed,
        "sample": False if greedy else None,
        "beam": 1,
    }
    changes = {key: value for key, value in given.items() if value is not None}
    options = DecodingConfig.parse(writer.options.model_dump() | changes, "decoding")

    def warn(message: str) -> None:
        console.print(f"\nwarning: {message}", highlight=False, markup=False, soft_wrap=True)

    writer.read(beginning)  # what nothing can be written after is refused before anything is shown
    shown = beginning.encode("utf-8", "ignore").decode()  # a shell may hand over bytes that are no UTF-8
    for number in range(samples):
        each = options.model_copy(update={"seed": options.seed + number})
        if as_json:
            text = writer.write(beginning, options=each, warn=warn)
            typer.echo(json.dumps({"beginning": shown, "text": text, "seed": each.seed}, ensure_ascii=False))
            continue
        if number:
            typer.echo("\n---")
        typer.echo(shown, nl=False)
        for piece in writer.stream(beginning, options=each, warn=warn):
            typer.echo(piece, nl=False)
        typer.echo()
