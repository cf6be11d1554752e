"""`jumok look` as a page: one HTML file, kept where the user wants it or opened at once."""

import tempfile
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from jumok.lens.html import Page
    from jumok.lens.image_view import ImageView
    from jumok.lens.view import View


def check_can_write(path: Path) -> None:
    """Find out before the work whether the page can be written after it."""
    from jumok.errors import ConfigError

    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ConfigError(f"--html {path}: must be a file in a folder that exists")


def write_page(views: "Sequence[View]", path: Path | None, *, words: bool, opened: bool) -> None:
    """Write the page of one run or several, and open it on request."""
    from jumok.lens.html import make_page

    save_page(make_page(views, words=words), path, opened=opened)


def write_image_page(views: "Sequence[ImageView]", path: Path | None, *, opened: bool) -> None:
    """Write the page of one run or several on an image, and open it on request; without attention there is none."""
    from jumok.lens.image_page import make_image_page

    if any(view.record.maps for view in views):
        save_page(make_image_page(views), path, opened=opened)


def save_page(page: "Page", path: Path | None, *, opened: bool) -> None:
    """Write a page and open it on request; without a path it goes to a temporary file."""
    if path is None:
        with tempfile.NamedTemporaryFile(prefix="jumok-", suffix=".html", delete=False) as file:
            path = Path(file.name)
    page.save(path)
    typer.echo(f"page: {path} ({path.stat().st_size / 1000:,.0f} kB)")
    if opened and not webbrowser.open(path.absolute().as_uri()):
        typer.echo("there is no browser here to open it in; open the file in yours")
