"""What `jumok look` shows, and where: the terminal, a PNG, JSON, or a page kept in a file or opened at once."""

import tempfile
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.cli.display import say

if TYPE_CHECKING:
    from jumok.api import Page


@dataclass(frozen=True)
class Wanted:
    """Which weights are shown, of which checkpoint, and where."""

    kind: str = ""
    layer: int | None = None
    head: int | None = None
    checkpoint: str = "best"
    png: Path | None = None
    html: Path | None = None
    opened: bool = False  # in the browser
    as_json: bool = False
    matrices: bool | None = None  # whether a page has the layers' matrices; None: where they are small

    @property
    def page(self) -> bool:
        """Whether a page is shown, so that the terminal gets no drawing."""
        return self.html is not None or self.opened


def temporary_page() -> Path:
    """Return an empty file that nobody else may read; what replaces it keeps its mode."""
    from jumok.errors import ConfigError
    from jumok.writing import Refusal, explained

    cures = "set TMPDIR to another folder, or give --html FILE", "free some space there, or give --html FILE"
    with (
        explained("", Refusal(ConfigError, *cures), name="the folder of temporary files"),
        tempfile.NamedTemporaryFile(prefix="jumok-", suffix=".html", delete=False) as file,
    ):
        return Path(file.name)


def save_page(page: "Page", path: Path | None, *, opened: bool, tell: Callable[[str], object] = say) -> None:
    """Write a page and open it on request; without a path it goes to a temporary file."""
    if path is None:
        path = temporary_page()
    page.save(path)
    tell(f"page: {path} ({path.stat().st_size / 1000:,.0f} kB)")
    if opened and not webbrowser.open(path.absolute().as_uri()):
        tell("there is no browser here to open it in; open the file in yours")
