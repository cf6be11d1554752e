"""`jumok fetch`: bring a public data set from its public home."""

from pathlib import Path

import typer


def fetch(
    name: str = typer.Argument(..., help="The data set, for example multi30k."),
    folder: Path | None = typer.Argument(None, help="Where to put it; by default where recipes look."),
    base_url: str = typer.Option("", "--from", help="A mirror: the address of the folder that holds the files."),
) -> None:
    """Download a data set, resuming and checking every file.

    Example: [bold]jumok fetch multi30k[/bold], then [bold]jumok train multi30k-en-de[/bold]
    """
    from rich.progress import Progress

    from jumok import api
    from jumok.cli.display import error_console, say

    console = error_console()
    with Progress(console=console, disable=not console.is_terminal) as progress:
        tasks = {}

        def show(file: str, done: int, total: int) -> None:
            if file not in tasks:
                tasks[file] = progress.add_task(file, total=total)
            progress.update(tasks[file], completed=done)

        fetched = api.fetch(name, folder, base_url=base_url, progress=show)
    say(f"{name} is in {fetched.folder}")
    say(f"licence: {fetched.licence}")
