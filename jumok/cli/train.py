"""`jumok train`: train a recipe."""

from pathlib import Path

import typer

from jumok.cli.display import counting, error_console, recipe_names, say


def train(
    recipe: str = typer.Argument(
        ..., help="A recipe file, or the name of a shipped recipe (jumok list).", autocompletion=recipe_names
    ),
    data: Path | None = typer.Option(None, "--data", help="The folder of the recipe's files; JUMOK_DATA otherwise."),
    out: Path | None = typer.Option(None, "--out", help="The run's folder; runs/RECIPE by default."),
    overrides: list[str] = typer.Option([], "--set", help="Change a key: --set model.width=256. May be repeated."),
    compile_layers: bool = typer.Option(
        False, "--compile", help="Compile the layers (torch.compile): the same as --set training.compile=true."
    ),
    resume: bool = typer.Option(False, "--resume", help="Go on where the run stopped; start it where there is none."),
) -> None:
    """Train a model; Ctrl-C saves, and --resume goes on exactly.

    Example: [bold]jumok train multi30k-en-de --data multi30k --out runs/first --set training.steps=2000[/bold]
    """
    from shlex import quote

    from jumok import api
    from jumok.catalogue import predictor_class

    console = error_console()
    overrides = [*overrides, *(["training.compile=true"] if compile_layers else [])]
    with counting(console) as progress:
        job = api.prepare_job(recipe, data=data, out=out, overrides=overrides, resume=resume, progress=progress)
    if not job.train(console):
        raise typer.Exit(130)  # as a shell reports Ctrl-C, so that a script does not go on with half a model
    predictor, folder = predictor_class(job.recipe.task), quote(str(job.folder))
    if predictor.verb:
        say(f"Use it:    jumok {predictor.verb} {folder} {predictor.example}")
    else:
        say(f"Use it:    jumok.load({str(job.folder)!r}), in Python")
    say(f"Score it:  jumok evaluate {folder}")
