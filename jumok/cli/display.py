"""What the commands share: consoles, progress, completion of names."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console


def error_console() -> Console:
    """Return the console for progress and messages: the error stream."""
    return Console(stderr=True)


def recipe_names(incomplete: str) -> list[str]:
    """Return shipped recipes that begin with what is typed."""
    folder = Path(__file__).parent.parent / "recipes"
    return sorted(path.stem for path in folder.glob("*.toml") if path.stem.startswith(incomplete))


def run_folders(incomplete: str) -> list[str]:
    """Return run folders that begin with what is typed."""
    found = [str(path.parent) for path in [*Path().glob("*/run.json"), *Path().glob("runs/*/run.json")]]
    return sorted(name for name in found if name.startswith(incomplete))


@contextmanager
def counting(console: Console) -> Iterator[Callable[[str, int], None]]:
    """Show what is being done and how many items are through; on no terminal, a line whenever the work changes."""
    if not console.is_terminal:
        said = set()

        def say(what: str, done: int) -> None:
            if what not in said:
                said.add(what)
                console.print(f"{what} …", highlight=False)

        yield say
        return
    with console.status("") as status:
        yield lambda what, done: status.update(f"{what} … {done:,}")


@contextmanager
def bar(console: Console, what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on a terminal, and nothing elsewhere; the callable takes how many more are done."""
    if not console.is_terminal:
        yield lambda more: None
        return
    from rich.progress import Progress

    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda more: progress.advance(task, more)
