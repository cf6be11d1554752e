"""`jumok look` at a drawer: the drawing of a text, and which of its cells looked at each word."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli.display import say, standard_console
from jumok.cli.lines import one_line
from jumok.cli.look_page import Wanted, save_page
from jumok.json_text import json_text

if TYPE_CHECKING:
    from jumok.api import DrawingExplanation, Look


def look_at_drawing(
    runs: Mapping[str, str], text: str, wanted: Wanted, asked: "Look", *, image: Path | None, words: bool | None
) -> None:
    """Show what the cells of each run's drawing looked at, or those of an image; several runs on one page."""
    from jumok import api

    views = []
    options = api.LoadOptions(checkpoint=wanted.checkpoint)
    predictors = {name: api.load_for(api.Drawer, run, options) for name, run in runs.items()}
    for name, predictor in predictors.items():
        explanation = predictor.look_at(text, asked, image=image)
        shown = explanation.in_words() if words or words is None else explanation
        show(shown, wanted, name=name if len(runs) > 1 else "")
        views.append(replace(explanation, name=name))
    if wanted.page:
        save_page(api.make_drawing_page(views, words=words), wanted.html, opened=wanted.opened)


def show(explanation: "DrawingExplanation", wanted: Wanted, *, name: str = "") -> None:
    """Show one run's drawing and maps in the terminal or as a PNG, or print its numbers; name it among several."""
    from jumok import api

    which = {"layer": wanted.layer, "head": wanted.head}
    found = api.alignment_of(explanation.record, kind=wanted.kind, **which)  # first: what is not there is refused
    if wanted.as_json:
        typer.echo(json_text(({"run": name} if name else {}) | explanation.to_dict(**which)))
        return
    console = standard_console()
    if name:
        console.print(f"[{name}]", markup=False, soft_wrap=True)
    console.print(one_line(explanation.text), soft_wrap=True)
    if wanted.png is not None:
        explanation.save_png(wanted.png, **which)
        say(f"{found.title}: {wanted.png}")
    elif not wanted.page:
        if console.is_terminal:
            console.print(api.ImageBlocks([explanation.pixels], [""], console.height))
        shares = explanation.shares(**which)
        words, cells, marks = (f"{share:.0%}" for share in (sum(shares.words), shares.cells, shares.marks))
        say(f"cells looked at words {words}, at earlier cells {cells}, at start, end and begin {marks}")
        say(f"which cells looked at each word, below it its share of all attention ({found.title})\n")
        console.print(explanation.draw_words(**which, colour=console.is_terminal), soft_wrap=True)
