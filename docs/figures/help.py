"""Draw docs/figures/help-ko.png: `jumok --help` in Korean, as a terminal of 100 columns shows it.

python docs/figures/help.py          needs playwright and Chromium
"""

import html
import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.cells import cell_len
from rich.color import Color
from rich.console import Console
from rich.segment import Segment
from rich.text import Text

FIGURES = Path(__file__).parent
WIDTH = 100  # columns
PAGE = """<pre style="display: inline-block; margin: 0; padding: 12px; background: #1d1f21; color: #d8dee9;
font: 15px/1.35 'DejaVu Sans Mono', 'Noto Sans Mono CJK KR', monospace">{}</pre>"""


def help_in_korean() -> str:
    """Return what the command prints, with its colours."""
    settings = {"TERMINAL_WIDTH": str(WIDTH), "FORCE_COLOR": "1"}
    command = [sys.executable, "-m", "jumok", "--lang", "ko", "--help"]
    return subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True).stdout


def drawn(segment: Segment) -> str:
    """Return a piece of a line as HTML; every character takes as many columns as in a terminal."""
    style = segment.style
    colour = style.color.get_truecolor().hex if style and style.color and style.color != Color.default() else "inherit"
    weight = "bold" if style and style.bold else "normal"
    letters = (
        f'<i style="font-style: normal; display: inline-block; width: {cell_len(letter)}ch">{html.escape(letter)}</i>'
        for letter in segment.text
    )
    return f'<span style="color: {colour}; font-weight: {weight}">{"".join(letters)}</span>'


def main() -> None:
    """Draw the help by Chromium."""
    console = Console(width=WIDTH, force_terminal=True)
    lines = console.render_lines(Text.from_ansi(help_in_korean()))
    page_of_help = PAGE.format("\n".join("".join(map(drawn, line)) for line in lines))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_content(page_of_help)
        page.locator("pre").screenshot(path=FIGURES / "help-ko.png")
        browser.close()


if __name__ == "__main__":
    main()
