"""`jumok look` at a translation: the alignment in the terminal, as a PNG or as JSON; what each head was worth."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from jumok.cli.display import error_console, print_table, say, standard_console, warn_on
from jumok.cli.look_page import Wanted, save_page

if TYPE_CHECKING:
    from jumok.api import Alignment, Explanation, HeadWorth, TokenChoice

ANSWERS = 5  # that a page lists, where the beam is as wide
DEAREST = 20  # heads that the table in the terminal has room for


def look_at_text(
    runs: Mapping[str, str],
    text: str,
    wanted: Wanted,
    *,
    to: str,
    target: str | None,
    decoding: Mapping[str, Any],
    importance: bool,
    words: bool | None,
) -> None:
    """Show where each run, by its name, looked while it translated a text; several of them one after the other."""
    from jumok import api

    predictors = {
        name: api.load_for(
            api.Translator,
            run,
            api.LoadOptions(checkpoint=wanted.checkpoint),
            otherwise="look is for translation and images",
        )
        for name, run in runs.items()
    }
    views, warn = [], warn_on(error_console())
    for name, predictor in predictors.items():
        options = predictor.options.changed(decoding)
        if wanted.page and not options.sample:  # a page lists other answers, too
            options = options.changed({"n_best": max(options.n_best, min(options.beam, ANSWERS))})
        worth: list[HeadWorth] = []
        if importance:
            explanation, worth = predictor.importance(
                text, to=to, target=target, options=options, details=wanted.page, warn=warn
            )
        else:
            explanation = predictor.explain(text, to=to, target=target, options=options, details=wanted.page, warn=warn)
        shown = explanation.in_words() if words else explanation
        show(shown, text, worth, wanted, name=name if len(runs) > 1 else "")
        views.append(explanation.view(name, worth=worth))
    if wanted.page:
        save_page(api.make_page(views, words=words, matrices=wanted.matrices), wanted.html, opened=wanted.opened)


def show(
    explanation: "Explanation", text: str, worth: "Sequence[HeadWorth]", wanted: Wanted, *, name: str = ""
) -> None:
    """Show one run's alignment in the terminal or as a PNG, or print its numbers; name it where there are several."""
    console, said = standard_console(), f"{text}  →  {explanation.answer.text}"
    if name and not wanted.as_json:
        console.print(f"[{name}]", soft_wrap=True)
    if not explanation.record.kinds:
        _tell_without_attention(explanation, said, name=name, as_json=wanted.as_json)
        return
    found = explanation.alignment(kind=wanted.kind, layer=wanted.layer, head=wanted.head)
    if wanted.as_json:
        _as_json(explanation, found, worth, name=name)
        return
    console.print(said, soft_wrap=True)
    if wanted.png is not None:
        found.save_png(wanted.png)
        say(f"{found.title}: {wanted.png}")
    elif not wanted.page:
        say(f"{found.title}\n")
        console.print(found.draw(colour=console.is_terminal), soft_wrap=True)
    if worth:
        _tell_worth(worth)


def _tell_without_attention(explanation: "Explanation", said: str, *, name: str, as_json: bool) -> None:
    """Say that there is nothing to draw, and how sure the model was."""
    if as_json:
        found = {"text": explanation.answer.text, "weights": None, "note": explanation.note}
        typer.echo(json.dumps(({"run": name} if name else {}) | found, ensure_ascii=False))
        return
    typer.echo(said)
    say(explanation.note)
    _tell_choices(explanation.choices)


def _tell_choices(choices: "Sequence[TokenChoice]") -> None:
    """Print how likely each token was, and its rivals."""
    from rich.table import Table

    table = Table("token", "probability", "rivals", box=None, pad_edge=False)
    for choice in choices:
        rivals = ", ".join(f"{token} {share:.1%}" for token, share in choice.rivals)
        table.add_row(choice.token, f"{choice.probability:.1%}", rivals)
    print_table(table)


def _tell_worth(worth: "Sequence[HeadWorth]") -> None:
    """Print what the answer loses without each head, beside how sharply it looks."""
    from rich.table import Table

    table = Table(
        "attention", "layer", "head", "lost without it", "strongest weight", "entropy", box=None, pad_edge=False
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


def _as_json(explanation: "Explanation", found: "Alignment", worth: "Sequence[HeadWorth]", *, name: str) -> None:
    """Print the weights, and the run's name and its heads' worth where there are some."""
    told: dict[str, Any] = {"run": name} if name else {}
    told |= {"text": explanation.answer.text, "queries": found.queries, "keys": found.keys}
    told["weights"] = found.weights.tolist()
    if worth:
        told["heads"] = [vars(one) for one in worth]
    typer.echo(json.dumps(told, ensure_ascii=False))
