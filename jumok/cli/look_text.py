"""`jumok look` at a translation: the alignment in the terminal, as a PNG or as JSON; what each head was worth."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from jumok.cli.display import print_table, standard_console

if TYPE_CHECKING:
    from torch import Tensor

    from jumok.config import DecodingConfig
    from jumok.inspection.film import Shot
    from jumok.predictors.explanation import Choice, Explanation, HeadWorth
    from jumok.predictors.translator import Translator

ANSWERS = 5  # that a page lists, where the beam is as wide
DEAREST = 20  # heads that the table in the terminal has room for


@dataclass(frozen=True)
class Wanted:
    """What of a record is to be drawn."""

    kind: str = ""
    layer: int | None = None
    head: int | None = None
    words: bool = False
    name: str = ""  # of the run, where there are several


@dataclass(frozen=True)
class Alignment:
    """Weights (Q, K) with their labels, and what they are."""

    weights: "Tensor"
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    title: str


def explain_with(
    predictor: "Translator",
    text: str,
    *,
    to: str,
    target: str | None,
    options: "DecodingConfig",
    importance: bool,
    page: bool,
    warn: Callable[[str], None],
) -> "tuple[Explanation, list[HeadWorth]]":
    """Return the explanation and, on request, what each head is worth; a page is also told details and other answers."""
    if page and not options.sample:
        more = max(options.n_best, min(options.beam, ANSWERS))
        options = options.model_copy(update={"n_best": more})
    if importance:
        return predictor.importance(text, to=to, target=target, options=options, details=page, warn=warn)
    return predictor.explain(text, to=to, target=target, options=options, details=page, warn=warn), []


def look_at_answer(
    explanation: "Explanation",
    text: str,
    worth: "Sequence[HeadWorth]",
    wanted: Wanted,
    *,
    png: Path | None,
    as_json: bool,
    drawn: bool,
) -> None:
    """Print where the model looked, or draw it to a file; drawn says whether the terminal gets the drawing."""
    from jumok.lens.figure import save_alignment
    from jumok.lens.terminal import draw_alignment

    if wanted.words:
        explanation = explanation.in_words()
    console, said = standard_console(), f"{text}  →  {explanation.answer.text}"
    if wanted.name and not as_json:
        console.print(f"[{wanted.name}]", soft_wrap=True)
    if not explanation.record.kinds:
        _tell_without_attention(explanation, said, name=wanted.name, as_json=as_json)
        return
    found = chosen_weights(explanation, wanted)
    if as_json:
        _as_json(explanation, found, worth, name=wanted.name)
        return
    console.print(said, soft_wrap=True)
    if png is not None:
        save_alignment(found.weights, found.queries, found.keys, png, title=found.title)
        console.print(f"{found.title}: {png}", soft_wrap=True)
    elif drawn:
        console.print(f"{found.title}\n")
        drawing = draw_alignment(found.weights, found.queries, found.keys, colour=console.is_terminal)
        console.print(drawing, soft_wrap=True)
    if worth:
        _tell_worth(worth)


def chosen_weights(looked: "Explanation | Shot", wanted: Wanted) -> Alignment:
    """Return the weights that are wanted: one head's, or a mean."""
    import torch

    from jumok.errors import ConfigError

    kinds, layer, head = looked.record.kinds, wanted.layer, wanted.head
    kind = wanted.kind or next((name for name in ("cross", "recurrent") if name in kinds), kinds[0])
    maps = looked.record.of_kind(kind)
    if not maps:
        raise ConfigError(f"--kind {kind}: this model has {', '.join(kinds)}")
    if layer is not None and layer > len(maps):
        raise ConfigError(f"--layer {layer}: there are {len(maps)}")
    chosen = [maps[layer - 1]] if layer else maps
    heads = len(chosen[0].weights)
    if head is not None and head > heads:
        raise ConfigError(f"--head {head}: there are {heads}")
    grids = [found.weights[head - 1] if head else found.weights.mean(dim=0) for found in chosen]
    title = f"{kind} attention, {_which('layer', layer, len(maps))}, {_which('head', head, heads)}"
    return Alignment(torch.stack(grids).mean(dim=0), chosen[0].queries, chosen[0].keys, title)


def _tell_without_attention(explanation: "Explanation", said: str, *, name: str, as_json: bool) -> None:
    """Say that there is nothing to draw, and how sure the model was."""
    from jumok.lens.view import NOTHING_TO_SHOW

    if as_json:
        found = {"text": explanation.answer.text, "weights": None, "note": NOTHING_TO_SHOW}
        typer.echo(json.dumps(({"run": name} if name else {}) | found, ensure_ascii=False))
        return
    typer.echo(f"{said}\n{NOTHING_TO_SHOW}")
    _tell_choices(explanation.choices)


def _tell_choices(choices: "Sequence[Choice]") -> None:
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
    typer.echo("What the answer's log-probability loses without each head, dearest first:")
    print_table(table)
    if len(worth) > DEAREST:
        typer.echo(f"… and {len(worth) - DEAREST} more that lose less")


def _as_json(explanation: "Explanation", found: Alignment, worth: "Sequence[HeadWorth]", *, name: str) -> None:
    """Print the weights, and the run's name and its heads' worth where they are asked for."""
    told: dict[str, Any] = {"run": name} if name else {}
    told |= {"text": explanation.answer.text, "queries": found.queries, "keys": found.keys}
    told["weights"] = found.weights.tolist()
    if worth:
        told["heads"] = [vars(one) for one in worth]
    typer.echo(json.dumps(told, ensure_ascii=False))


def _which(what: str, number: int | None, count: int) -> str:
    """Return the chosen one's name, or what the mean is of."""
    return f"{what} {number}" if number else f"mean of {count} {what}s" if count > 1 else f"its one {what}"
