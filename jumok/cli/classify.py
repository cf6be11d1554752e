"""`jumok classify`: name the classes of texts or images."""

import json
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli.display import bar, error_console, run_folders, warn_on
from jumok.cli.lines import chunks, one_line, output

if TYPE_CHECKING:
    from rich.console import Console

    from jumok.predictors.base import Verdict


def classify(
    run: Path = typer.Argument(..., help="A run's folder.", autocompletion=run_folders),
    inputs: list[str] = typer.Argument(
        None,
        metavar="[TEXT|IMAGE]...",
        help="Texts, or image files and folders of them, as the run is for; none: a line of standard input each.",
    ),
    in_file: Path | None = typer.Option(None, "--in", help="Read lines from a file (.gz allowed)."),
    out_file: Path | None = typer.Option(None, "--out", help="Write verdicts to a file."),
    top: int = typer.Option(1, "--top", min=1, help="How many classes to show, the likeliest first."),
    checkpoint: str = typer.Option("best", "--checkpoint", help="best, last or step-N."),
    as_json: bool = typer.Option(False, "--json", help="Print a JSON object for each."),
) -> None:
    """Name the class of each text or image: class, probability and text or file, with tabs between.

    The run decides whether its arguments are texts or images. A model of two texts takes them with a tab between.
    An image that cannot be read is named, the others are classified, and the exit code is 1.

    Example: [bold]jumok classify runs/nsmc-bert "정말 재미있어요"[/bold]

    Example: [bold]jumok classify runs/cifar10-vit cat.png holidays/ --json[/bold]
    """
    from jumok import api
    from jumok.errors import ConfigError
    from jumok.predictors.base import Classifier
    from jumok.predictors.image_classifier import ImageClassifier
    from jumok.predictors.text_classifier import TextClassifier

    if inputs and in_file:
        raise ConfigError("give texts or --in FILE, not both")
    if in_file and not in_file.exists():
        raise ConfigError(f"--in {in_file}: there is no such file")
    classifier = api.load_for(Classifier, run, checkpoint=checkpoint)
    silent = out_file is None and sys.stdout.isatty()
    total = len(inputs) if inputs else None
    console, done, unread = error_console(), 0, 0
    with output(out_file) as write, nullcontext(None) if silent else bar(console, "reading", total) as advance:
        for chunk in chunks(inputs, in_file):
            tell = advance or (lambda count: None)
            if isinstance(classifier, ImageClassifier):
                names = list(map(str, classifier.find(chunk)))
                verdicts = classifier.classify(names, progress=tell, warn=partial(_warn, console))
                for name, verdict in zip(names, verdicts, strict=True):
                    write(_line("image", name, verdict, top=top, as_json=as_json))
                    unread += verdict is None
                continue
            assert isinstance(classifier, TextClassifier)
            pairs = [_split(text) if classifier.takes_two else (text, "") for text in chunk]
            found = classifier.classify(pairs, progress=tell, warn=warn_on(console, done))
            done += len(chunk)
            for text, verdict in zip(chunk, found, strict=True):
                write(_line("text", text, verdict, top=top, as_json=as_json))
    if unread:
        raise typer.Exit(1)


def _warn(console: "Console", message: str) -> None:
    console.print(f"warning: {message}", highlight=False, markup=False, soft_wrap=True)


def _line(what: str, name: str, verdict: "Verdict | None", *, top: int, as_json: bool) -> str:
    """Return the line of one verdict; None: the input could not be read."""
    if verdict is None:
        return json.dumps({what: name, "label": None}, ensure_ascii=False) + "\n" if as_json else f"-\t-\t{name}\n"
    if as_json:
        found = {what: name, "label": verdict.label, "probability": round(verdict.probability, 6)}
        ranked = {label: round(probability, 6) for label, probability in verdict.probabilities.items()}
        return json.dumps(found | {"probabilities": ranked}, ensure_ascii=False) + "\n"
    best = list(verdict.probabilities.items())[:top]
    return "\t".join(f"{label}\t{probability:.3f}" for label, probability in best) + f"\t{one_line(name)}\n"


def _split(text: str) -> tuple[str, str]:
    first, _, second = text.partition("\t")
    return first, second
