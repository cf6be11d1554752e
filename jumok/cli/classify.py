"""`jumok classify`: name the classes of texts or images."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli.display import bar, error_console, run_folders, warn_on
from jumok.cli.lines import check_inputs, chunks, one_line, output
from jumok.cli.precision_option import PRECISION
from jumok.json_text import json_text
from jumok.texts import visible

if TYPE_CHECKING:
    from jumok.api import Verdict


def classify(
    run: Path = typer.Argument(..., help="A run's folder.", autocompletion=run_folders),
    inputs: list[str] = typer.Argument(
        None,
        metavar="[TEXT|IMAGE]...",
        help="Texts, or image files and folders of them, as the run is for; none: each line of standard input is one.",
    ),
    in_file: Path | None = typer.Option(None, "--in", help="Read lines from a file (.gz allowed)."),
    out_file: Path | None = typer.Option(None, "--out", help="Write verdicts to a file."),
    top: int = typer.Option(1, "--top", min=1, help="How many classes to show, the likeliest first."),
    checkpoint: str = typer.Option("best", "--checkpoint", help="best, last or step-N."),
    precision: str = PRECISION,
    as_json: bool = typer.Option(False, "--json", help="Print a JSON object for each."),
) -> None:
    """Name the class of each text or image: class, probability and text or file, with tabs between.

    The run decides whether its arguments are texts or images. A model of two texts takes them with a tab between.
    An image that cannot be read is named, the others are classified, and the exit code is 1.

    Example: [bold]jumok classify runs/nsmc-bert "정말 재미있어요"[/bold]

    Example: [bold]jumok classify runs/cifar10-vit cat.png holidays/ --json[/bold]
    """
    from jumok import api

    check_inputs(inputs, in_file, what="texts")
    classifier = api.load_for(api.Classifier, run, api.LoadOptions(checkpoint=checkpoint, precision=precision))
    silent = out_file is None and sys.stdout.isatty()
    total = len(inputs) if inputs else None
    console, done, unread = error_console(), 0, 0
    with output(out_file) as write, nullcontext(None) if silent else bar(console, "reading", total) as advance:
        for chunk in chunks(inputs, in_file):
            tell = advance or (lambda count: None)
            for name, verdict in classifier.verdicts(chunk, progress=tell, warn=warn_on(console, lines_before=done)):
                write(_line(classifier.classified, name, verdict, top=top, as_json=as_json))
                unread += verdict is None
            done += len(chunk)
    if unread:
        raise typer.Exit(1)


def _line(what: str, name: str, verdict: "Verdict | None", *, top: int, as_json: bool) -> str:
    """Return the line of one verdict; None: the input could not be read."""
    if verdict is None:
        return json_text({what: name, "label": None}) + "\n" if as_json else f"-\t-\t{name}\n"
    if as_json:
        return json_text({what: name} | verdict.to_dict()) + "\n"
    best = list(verdict.probabilities.items())[:top]
    return "\t".join(f"{visible(label)}\t{probability:.3f}" for label, probability in best) + f"\t{one_line(name)}\n"
