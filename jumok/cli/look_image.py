"""`jumok look` at an image: the verdict, and a heat map of where the model looked."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli.display import say, standard_console
from jumok.cli.look_page import Wanted, save_page
from jumok.json_text import json_text

if TYPE_CHECKING:
    from jumok.api import ImageExplanation


def look_at_image(runs: Mapping[str, str], image: str, wanted: Wanted) -> None:
    """Show where each run, by its name, looked in an image; several of them on one page."""
    from jumok import api
    from jumok.errors import ConfigError

    if len(runs) > 1 and not wanted.page:
        raise ConfigError(f"{len(runs)} runs are given; --html FILE or --open shows them on one image")
    views = []
    for name, run in runs.items():
        classifier = api.load_for(api.ImageClassifier, run, api.LoadOptions(checkpoint=wanted.checkpoint))
        [file] = classifier.find([image])
        explanation = classifier.explain(file, details=wanted.page)
        show(explanation, file, wanted)
        views.append(explanation.view(name))
    if wanted.page and any(view.record.maps for view in views):  # without attention there is no page
        save_page(api.make_image_page(views, matrices=wanted.matrices), wanted.html, opened=wanted.opened)


def show(explanation: "ImageExplanation", file: Path, wanted: Wanted) -> None:
    """Show one run's heat map in the terminal or as a PNG, or print its numbers."""
    summary, png = explanation.summary, wanted.png
    if not explanation.record.maps:
        say(f"{file}: {summary}\n{explanation.note}")
        if png is not None and explanation.save_mixing_png(png):
            say(f"how it mixes them: {png}")
        return
    found = explanation.heat_map(kind=wanted.kind, layer=wanted.layer, head=wanted.head)
    if wanted.as_json:
        told = {
            "image": str(file),
            "label": explanation.verdict.label,
            "heat": found.heat.tolist(),
            "what": found.title,
        }
        typer.echo(json_text(told))
        return
    say(f"{file}: {summary}")
    if png is not None:
        found.save_png(png, caption=summary)
        say(f"{found.title}: {png}")
    elif not wanted.page:
        console = standard_console()
        say(f"{found.title}\n")
        console.print(found.draw(colour=console.is_terminal), soft_wrap=True)
