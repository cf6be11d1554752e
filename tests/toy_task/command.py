"""The command `count`: how many bits of a row are set."""

from pathlib import Path

import typer


def count(
    run: Path = typer.Argument(..., help="A run's folder."), row: str = typer.Argument(..., help="Bits.")
) -> None:
    """Count the bits of a row.

    Example: [bold]jumok count runs/counting 010110[/bold]
    """
    from jumok import api
    from toy_task.predictor import BitsCounter

    typer.echo(api.load_for(BitsCounter, run).count(row))
