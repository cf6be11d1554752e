"""What the commands share: consoles, progress, warnings, completion of names."""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from jumok.texts import localized, localized_word, visible

if TYPE_CHECKING:
    from rich.table import Table

    from jumok.api import Notice

WIDEST = 10_000  # columns of a table


class PlainConsole(Console):
    """A console that shows control characters in what it is given, such as the name of a class, and obeys none."""

    def render_str(self, text: str, **settings: Any) -> Text:
        """Return a plain string as rich's text, before anything is measured."""
        return super().render_str(visible(text), **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield what is shown; rich's own commands to the terminal are no texts."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def standard_console() -> Console:
    """Return the console for results: standard output, with users' text left as it is (no :dog: turned into an image)."""
    return PlainConsole(highlight=False, emoji=False, markup=False)


def echo(text: str, *, nl: bool = True) -> None:
    """Print what a model or a user wrote to standard output: as it is, but on a terminal, which would obey it."""
    typer.echo(visible(text) if sys.stdout.isatty() else text, nl=nl)


def say(text: str) -> None:
    """Print a message of ours to standard output, in the language that is spoken."""
    typer.echo(visible(localized(text)))


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Return text with blanks to its left or right; a Hangul syllable is two columns wide."""
    blanks = " " * (width - cell_len(text))
    return blanks + text if right else text + blanks


def print_table(table: "Table", *, as_given: Collection[str] = ()) -> None:
    """Print a table as wide as its contents: a terminal wraps lines, but figures must not be cut off.

    Its headings are in the language that is spoken, but for users' own words.
    """
    for column in table.columns:
        if isinstance(column.header, str) and column.header not in as_given:
            column.header = localized_word(column.header)
    PlainConsole(highlight=False, emoji=False, markup=False, width=WIDEST).print(table)


class LocalConsole(PlainConsole):
    """A console for messages: plain strings are in the language that is spoken, rich's Text is as it is."""

    def print(self, *objects: Any, **settings: Any) -> None:
        """Print messages."""
        super().print(*(localized(one) if isinstance(one, str) else one for one in objects), **settings)


def error_console() -> Console:
    """Return the console for progress and messages: the error stream."""
    return LocalConsole(stderr=True, emoji=False)


def mend_wrapping() -> None:
    """Let rich count columns, not letters, where it drops the blanks at a line's end: Hangul takes two columns each.

    Without this (rich 15) a line that ends in Hangul keeps its blank, is too wide by it, and loses its last syllable.
    """

    def rstrip_end(text: Text, size: int) -> None:
        if text.cell_len > size:
            text.right_crop(min(text.cell_len - size, len(text.plain) - len(text.plain.rstrip())))

    setattr(Text, "rstrip_end", rstrip_end)  # noqa: B010 - mypy forbids the assignment


def mend_broken_pipes() -> None:
    """Let rich raise the error of a reader that left, as any other write does; it would leave with exit code 1."""

    def on_broken_pipe(console: Console) -> None:
        raise  # called where the error is caught

    setattr(Console, "on_broken_pipe", on_broken_pipe)  # noqa: B010 - mypy forbids the assignment


def recipe_names(incomplete: str) -> list[str]:
    """Return shipped recipes that begin with what is typed."""
    folder = Path(__file__).parent.parent / "recipes"
    return sorted(path.stem for path in folder.glob("*.toml") if path.stem.startswith(incomplete))


def run_folders(incomplete: str) -> list[str]:
    """Return run folders and shipped models that begin with what is typed."""
    from jumok import api

    return sorted(name for name in api.known_runs().values() if name.startswith(incomplete))


def warn_on(console: Console, *, lines_before: int = 0, begin: str = "") -> "Callable[[Notice], None]":
    """Return what prints a notice as a warning, its line counted on from the lines that came before the call."""

    def warn(notice: "Notice") -> None:
        console.print(
            begin + localized(f"warning: {notice.after(lines_before)}"), highlight=False, markup=False, soft_wrap=True
        )

    return warn


@contextmanager
def counting(console: Console) -> Iterator[Callable[[str, int], None]]:
    """Show what is being done and how many items are through; on no terminal, a line whenever the work changes."""
    if not console.is_terminal:
        said = set()

        def say(what: str, done: int) -> None:
            if what not in said:
                said.add(what)
                console.print(f"{localized_word(what)} …", highlight=False)

        yield say
        return
    with console.status("") as status:
        yield lambda what, done: status.update(f"{localized_word(what)} … {done:,}")


@contextmanager
def bar(console: Console, what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on a terminal, and nothing elsewhere; the callable takes how many more are done."""
    if not console.is_terminal:
        yield lambda more: None
        return
    from rich.progress import Progress

    # Without redirect_stdout=False a bar on the error stream would swallow what is written to standard output.
    with Progress(console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as progress:
        task = progress.add_task(localized_word(what), total=total)
        yield lambda more: progress.advance(task, more)
