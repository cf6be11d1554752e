"""`jumok draw`: draw what texts say."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from jumok.cli.decoding_options import decoding_given
from jumok.cli.display import bar, error_console, run_folders, say, standard_console
from jumok.cli.lines import standard_input
from jumok.cli.look_page import save_page
from jumok.cli.precision_option import PRECISION
from jumok.json_text import json_text
from jumok.writing import check_can_write

if TYPE_CHECKING:
    from rich.console import Console

    from jumok.api import AnyPredictor, Drawer, Drawings

SHOWN = 16  # drawings of one text, to choose from
EACH = 0.15  # seconds between two looks at drawings that grow


def draw(
    context: typer.Context,
    run: Path = typer.Argument(..., help="A run's folder.", autocompletion=run_folders),
    texts: list[str] = typer.Argument(
        None, metavar="[TEXT]...", help="What to draw; none: each line of standard input is a text."
    ),
    samples: int | None = typer.Option(
        None, "--samples", min=1,
        help="Drawings of each text; by default 16 of one text that is shown on a terminal, a PNG or a page, else 1.",
    ),
    out: Path | None = typer.Option(
        None, "--out", help="Write each drawing as a PNG into this folder, and print its path, one per line."
    ),
    png: Path | None = typer.Option(None, "--png", help="Write all drawings as one image to this file."),
    html: Path | None = typer.Option(None, "--html", help="Write a page of them to this one file."),
    open_page: bool = typer.Option(False, "--open", help="Open the page in the browser."),
    begun: Path | None = typer.Option(
        None, "--from", help="Complete this image, as large as a drawing: its upper rows stay, the others are drawn."
    ),
    rows: int | None = typer.Option(None, "--rows", help="With --from: rows of codes that stay; by default half."),
    reader: Path | None = typer.Option(
        None, "--read", help="A captioner or image classifier, a run's folder or a name, that says what it sees in each.",
        autocompletion=run_folders,
    ),
    checkpoint: str = typer.Option("best", "--checkpoint", help="best, last or step-N."),
    precision: str = PRECISION,
    as_json: bool = typer.Option(
        False, "--json", help="Print a JSON object for each drawing: text, seed, log_probability, codes."
    ),
) -> None:  # fmt: skip
    """Draw what a text says: on the terminal in coloured blocks while it grows, or into files.

    Drawings differ by their seeds: --seed is that of the first, and the seed under a drawing draws it again.

    Example: [bold]jumok draw runs/shapes-dalle "a large red circle left of a small blue star"[/bold]

    Example: [bold]jumok draw runs/shapes-dalle "a small green square" --guidance 3 --seed 7 --png grid.png --read shapes[/bold]

    Example: [bold]jumok draw runs/shapes-dalle "a large red circle" --from begun.png --rows 4[/bold] (the first 4 rows of codes stay)

    As a filter: [bold]jumok draw runs/shapes-dalle "a large red circle" --out drawings | jumok caption shapes[/bold]
    """
    from jumok import api

    shown = html is not None or open_page
    in_blocks = not (out or png or shown or as_json)
    console, screen = error_console(), standard_console()
    _check_places(out, png, html, screen if in_blocks else None)
    if rows is not None and begun is None:
        _refuse(f"--rows {rows} says how much of an image stays; name the image: --from image.png")
    read = _reader(reader) if reader else None
    drawer = api.load_for(api.Drawer, run, api.LoadOptions(checkpoint=checkpoint, precision=precision))
    options = drawer.options.changed(decoding_given(context))
    wanted = [text.encode("utf-8", "replace").decode() for text in texts or _lines()]
    if not wanted:
        return
    number = samples or (SHOWN if len(wanted) == 1 and texts and (in_blocks or png or shown) else 1)
    complete = None if begun is None else (begun, drawer.model.grid[0] // 2 if rows is None else rows)
    drawer.read(wanted)  # what cannot be drawn is refused before anything is shown
    with _growing(console, drawer, wanted, number, live=in_blocks) as watching:
        found = drawer.draw(wanted, samples=number, options=options, complete=complete, **watching)
    found = found if read is None else found.read_by(read)
    paths = [None] * len(found) if out is None else found.save(out)
    # Standard output has paths or JSON, where it has them; then what was written besides is told on the error stream.
    told: Callable[[str], object] = console.print if out or as_json else say
    for one, path in zip(found, paths, strict=True):
        if as_json:
            place = {"image": str(path)} if path else {}
            typer.echo(json_text(one.to_dict() | found.options | place))
        elif path:
            typer.echo(str(path))
    if png is not None:
        found.save_png(png)
        told(f"image: {png}")
    if shown:
        save_page(found.page(), html, opened=open_page, tell=told)
    if in_blocks:
        _show(found, screen)


def _reader(run: Path) -> "AnyPredictor":
    from jumok import api

    found = api.load(run)
    api.reader_of(found)  # or a refusal
    return found


def _refuse(text: str) -> None:
    from jumok.errors import ConfigError

    raise ConfigError(text)


def _check_places(out: Path | None, png: Path | None, html: Path | None, screen: "Console | None") -> None:
    """Find out before the work whether drawings can be shown or written after it."""
    if screen is not None and (not screen.is_terminal or screen.no_color or screen.color_system is None):
        _refuse(
            "drawings are shown in colours on a terminal, and this is none that has them; write them elsewhere: "
            "--out FOLDER, --png grid.png, --html page.html or --json"
        )
    if out is not None and out.exists() and not out.is_dir():
        _refuse(f"--out {out}: must be a folder, and this is a file")
    for option, path in {"--png": png, "--html": html}.items():
        if path is not None:
            check_can_write(path, option)


def _lines() -> Iterator[str]:
    """Return the texts on standard input."""
    if sys.stdin.isatty():
        _refuse('say what to draw: jumok draw RUN "…", or a text per line on standard input')
    return standard_input()


@contextmanager
def _growing(
    console: "Console", drawer: "Drawer", texts: list[str], samples: int, *, live: bool
) -> Iterator[dict[str, Any]]:
    """Show a few drawings as they grow, more of them as a bar; on no terminal, nothing. Yield what tells how far they are."""
    if not (live and console.is_terminal and len(texts) == 1 and samples <= SHOWN):
        with bar(console, "drawing", len(texts) * samples * drawer.model.grid[0]) as advance:
            yield {"progress": advance}
        return
    from rich.live import Live

    from jumok import api

    last = 0.0
    with Live(console=console, transient=True, vertical_overflow="crop", auto_refresh=False) as screen:

        def watch(text: int, first: int, codes: Any) -> None:
            nonlocal last
            if time.monotonic() - last > EACH:
                images = drawer.begun(codes)
                screen.update(api.ImageBlocks(images, [""] * len(images), console.height), refresh=True)
                last = time.monotonic()

        yield {"watch": watch}


def _show(found: "Drawings", screen: "Console") -> None:
    """Show drawings in blocks below their texts."""
    from rich.text import Text

    for text, drawing in found.draw(lines=screen.height):
        screen.print(Text(text, style="bold"), soft_wrap=True)
        screen.print(drawing, soft_wrap=True, end="")
    options = ", ".join(f"{name} {value:g}" for name, value in found.options.items())
    if options:
        screen.print(Text(options, style="dim"))
