"""`jumok import`: bring in a model of Hugging Face's layout."""

from pathlib import Path

import typer

from jumok.cli.display import run_folders, say


def import_(
    folder: Path = typer.Argument(
        ..., help="A local folder that save_pretrained or jumok export wrote: GPT-2, BERT, ViT, Swin or Marian."
    ),
    run: Path = typer.Argument(..., help="The run's folder to make.", autocompletion=run_folders),
) -> None:
    """Bring in a GPT-2, BERT, ViT, Swin or Marian model from a local folder of Hugging Face's layout.

    Example: [bold]jumok import models/gpt2 runs/gpt2[/bold]
    """
    from jumok import api

    predictor, missing = api.import_model(folder, run)
    say(f"{run}: {predictor.run.recipe.model.name}, {predictor.parameters:,} parameters, from {folder}")
    if missing:
        say(f"not in the folder, started afresh: {', '.join(missing)}")
    say(f'Use it:    jumok {predictor.verb} {run} "…"')
