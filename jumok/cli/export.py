"""`jumok export`: a run for another engine."""

from pathlib import Path

import typer

from jumok.cli.display import bar, error_console, run_folders, say


def export(
    run: Path = typer.Argument(..., help="A run's folder.", autocompletion=run_folders),
    folder: Path = typer.Argument(..., help="The folder to make."),
    to: str = typer.Option(..., "--to", help="ctranslate2, huggingface or onnx."),
    source: Path | None = typer.Option(
        None, "--source", help="Check it on these sentences, one per line, instead of the run's val data."
    ),
    data: Path | None = typer.Option(None, "--data", help="The data folder, where it has moved since training."),
    checkpoint: str = typer.Option("best", "--checkpoint", help="best, last or step-N."),
) -> None:
    """Write a translator for a faster engine, and prove that it answers the same.

    Held-out sentences go through the run and through the export; an export that answers otherwise is not kept.

    Example: [bold]jumok export runs/multi30k-en-de runs/fast --to ctranslate2[/bold], then
    [bold]jumok translate runs/fast "A dog runs."[/bold]; huggingface writes what
    [bold]AutoModelForSeq2SeqLM.from_pretrained[/bold] reads.
    """
    from jumok import api

    with bar(error_console(), "comparing", None) as advance:
        parity = api.export_model(run, folder, to=to, source=source, data=data, checkpoint=checkpoint, progress=advance)
    say(f"{folder}: {run} for {to}")
    say(str(parity))
    if to == "ctranslate2":
        say(f'Use it:    jumok translate {folder} "…"')
