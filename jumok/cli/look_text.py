"""`jumok look` at a text: answer, probabilities and attention in the terminal, as a PNG, as JSON, or on a page."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from jumok.cli.display import error_console, print_table, say, standard_console, warn_on
from jumok.cli.lines import one_line
from jumok.cli.look_page import Wanted, save_page
from jumok.json_text import json_text

if TYPE_CHECKING:
    from jumok.api import Alignment, Explanation, HeadWorth, Look, TokenChoice, TokenWorth

CLASSES = 6  # that the terminal tells
DEAREST = 20  # heads, and tokens, that a table in the terminal has room for


def look_at_text(runs: Mapping[str, str], text: str, wanted: Wanted, asked: "Look", *, words: bool | None) -> None:
    """Show where each run, by its name, looked in a text; several of them one after the other."""
    from jumok import api

    views, warn = [], warn_on(error_console())
    options = api.LoadOptions(checkpoint=wanted.checkpoint)
    predictors = {name: api.load_for(api.Predictor, run, options) for name, run in runs.items()}
    for name, predictor in predictors.items():
        explanation = predictor.look(text, asked, warn=warn)
        shown = explanation.in_words() if words else explanation
        show(shown, text, wanted, name=name if len(runs) > 1 else "")
        views.append(explanation.view(name))
    if wanted.page:
        save_page(api.make_page(views, words=words, matrices=wanted.matrices), wanted.html, opened=wanted.opened)


def show(explanation: "Explanation[Any]", text: str, wanted: Wanted, *, name: str = "") -> None:
    """Show one run's alignment in the terminal or as a PNG, or print its numbers; name it where there are several."""
    found = None  # looked for first: a layer that is not there is refused before anything is printed
    if explanation.record.kinds:
        found = explanation.alignment(kind=wanted.kind, layer=wanted.layer, head=wanted.head)
    if wanted.as_json:
        _print_json(explanation, found, name=name)
        return
    console = standard_console()
    if name:
        console.print(f"[{name}]", soft_wrap=True)
    fills = not explanation.written and bool(explanation.choices)  # the table then tells the answer
    answer = "" if fills else f"  →  {explanation.answer.headline}"
    console.print(f"{one_line(text)}{one_line(answer)}", soft_wrap=True)
    if explanation.note:
        say(explanation.note)
    if fills or explanation.note:
        tell_choices([choice for choice in explanation.choices if choice is not None])
    if len(explanation.classes) > 1:
        _tell_classes(explanation)
    if found is not None:
        _draw(found, wanted)
    if explanation.token_worth:
        _tell_token_worth(explanation.token_worth)
    if explanation.worth:
        tell_worth(explanation.worth)


def _draw(found: "Alignment", wanted: Wanted) -> None:
    """Draw the chosen weights in the terminal or as a PNG; a page has them all."""
    console = standard_console()
    if wanted.png is not None:
        found.save_png(wanted.png)
        say(f"{found.title}: {wanted.png}")
    elif not wanted.page:
        say(f"{found.title}\n")
        console.print(found.draw(colour=console.is_terminal), soft_wrap=True)


def tell_choices(choices: "Sequence[TokenChoice]") -> None:
    """Print how likely each token was, and its rivals."""
    from rich.table import Table

    if not choices:
        return
    table = Table("token", "probability", "rivals", box=None, pad_edge=False)
    for choice in choices:
        rivals = ", ".join(f"{token} {share:.1%}" for token, share in choice.rivals)
        table.add_row(choice.token, f"{choice.probability:.1%}", rivals)
    print_table(table)


def _tell_classes(explanation: "Explanation[Any]") -> None:
    """Print how likely the other classes were."""
    chosen = explanation.answer.label
    others = [f"{label} {share:.1%}" for label, share in explanation.classes if label != chosen]
    listed, more = ", ".join(others[:CLASSES]), len(others) - CLASSES
    say(f"rivals: {listed}, and {more} less likely ones" if more > 0 else f"rivals: {listed}")


def tell_worth(worth: "Sequence[HeadWorth]") -> None:
    """Print what the answer loses without each head, beside how sharply it looks."""
    from rich.table import Table

    table = Table(
        "attention", "layer", "head", "lost without it", "strongest weight", "spread", box=None, pad_edge=False
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for one in worth[:DEAREST]:
        figures = f"{one.lost:+.3f}", f"{one.strongest:.2f}", f"{one.entropy:.2f}"
        table.add_row(one.kind, str(one.layer + 1), str(one.head + 1), *figures)
    say("What the answer's log-probability loses without each head, dearest first:")
    print_table(table)
    if len(worth) > DEAREST:
        say(f"… and {len(worth) - DEAREST} more that lose less")


def _tell_token_worth(worth: "Sequence[TokenWorth]") -> None:
    """Print what the answer loses without each token of the text."""
    from rich.table import Table

    table = Table("token", "place", "lost without it", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for one in sorted(worth, key=lambda token: -token.lost)[:DEAREST]:
        table.add_row(one.token, str(one.place + 1), f"{one.lost:+.3f}")
    say("What the answer's log-probability loses when a token is left out of the text, dearest first:")
    print_table(table)
    if len(worth) > DEAREST:
        say(f"… and {len(worth) - DEAREST} more that lose less")


def _print_json(explanation: "Explanation[Any]", found: "Alignment | None", *, name: str) -> None:
    """Print answer, probabilities and weights, and the run's name where there are several."""
    told: dict[str, Any] = {"run": name} if name else {}
    told |= explanation.to_dict()
    if found is not None:
        told |= {"queries": found.queries, "keys": found.keys, "weights": found.weights.tolist()}
    else:
        told |= {"weights": None, "note": explanation.note}
    typer.echo(json_text(told))
