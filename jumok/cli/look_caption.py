"""`jumok look` at a captioner: the caption of an image, and where each of its words looked."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from jumok.cli.display import error_console, say, standard_console, warn_on
from jumok.cli.lines import one_line
from jumok.cli.look_page import Wanted, save_page
from jumok.cli.look_text import tell_choices, tell_worth
from jumok.json_text import json_text

if TYPE_CHECKING:
    from jumok.api import Alignment, CaptionExplanation, Look, WordHeat


def look_at_caption(runs: Mapping[str, str], image: str, wanted: Wanted, asked: "Look", *, words: bool | None) -> None:
    """Show where each run, by its name, looked in an image while it described it; several of them on one page."""
    from jumok import api

    views = []
    options = api.LoadOptions(checkpoint=wanted.checkpoint)
    predictors = {name: api.load_for(api.CaptionWriter, run, options) for name, run in runs.items()}
    for name, predictor in predictors.items():
        explanation = predictor.look(image, asked)
        shown = explanation.in_words() if words or words is None else explanation
        show(shown, image, wanted, name=name if len(runs) > 1 else "")
        views.append(explanation.view(name))
    if wanted.page and any(view.record.maps for view in views):  # without attention there is no page
        save_page(api.make_caption_page(views, words=words), wanted.html, opened=wanted.opened)


def show(explanation: "CaptionExplanation", image: str, wanted: Wanted, *, name: str = "") -> None:
    """Show one run's maps in the terminal or as a PNG, or print its numbers; name it where there are several."""
    from jumok import api

    found = _chosen(explanation, wanted)  # first: a layer that is not there is refused before anything is printed
    if wanted.as_json:
        told = ({"run": name} if name else {}) | explanation.to_dict() | _weights(explanation, found)
        typer.echo(json_text(told))
        return
    console = standard_console()
    if name:
        console.print(f"[{name}]", markup=False, soft_wrap=True)
    console.print(f"{one_line(image)}  →  {one_line(explanation.answer.text)}", soft_wrap=True)
    for warning in explanation.warnings:
        warn_on(error_console())(api.Notice(None, warning))
    if found is None:
        say(explanation.note)
        tell_choices([choice for choice in explanation.choices if choice is not None])
    elif wanted.png is not None:
        found.save_png(wanted.png)
        say(f"{found.title}: {wanted.png}")
    elif not wanted.page:
        say(f"{found.title}\n")
        console.print(found.draw(colour=console.is_terminal), soft_wrap=True)
    if explanation.worth:
        tell_worth(explanation.worth)


def _chosen(explanation: "CaptionExplanation", wanted: Wanted) -> "WordHeat | Alignment | None":
    """Return the maps of words over the image, or where words looked at words; None without attention."""
    if not explanation.record.kinds:
        return None
    if explanation.is_over_image(wanted.kind):
        return explanation.word_heat(kind=wanted.kind, layer=wanted.layer, head=wanted.head)
    return explanation.alignment(kind=wanted.kind, layer=wanted.layer, head=wanted.head)


def _weights(explanation: "CaptionExplanation", found: "WordHeat | Alignment | None") -> dict[str, Any]:
    """Return the chosen weights as JSON has them: of each word, row by row of the image."""
    from jumok import api

    if found is None:
        return {"weights": None, "note": explanation.note}
    shared = {"what": found.title, "warnings": list(explanation.warnings)}
    if isinstance(found, api.Alignment):
        return {"queries": found.queries, "keys": found.keys, "weights": found.weights.tolist(), **shared}
    return {"words": found.words, "grid": list(found.heat.shape[1:]), "weights": found.heat.tolist(), **shared}
