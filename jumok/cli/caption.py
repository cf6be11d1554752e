"""`jumok caption`: describe images in a sentence each."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli.decoding_options import decoding_given
from jumok.cli.display import bar, error_console, run_folders, warn_on
from jumok.cli.lines import check_inputs, chunks, one_line, output
from jumok.cli.precision_option import PRECISION
from jumok.json_text import json_text

if TYPE_CHECKING:
    from jumok.api import Answer


def caption(
    context: typer.Context,
    run: Path = typer.Argument(..., help="A run's folder.", autocompletion=run_folders),
    images: list[str] = typer.Argument(
        None, metavar="[IMAGE]...", help="Image files and folders of them; none: each line of standard input names one."
    ),
    in_file: Path | None = typer.Option(None, "--in", help="Read the names of images from a file (.gz allowed)."),
    out_file: Path | None = typer.Option(None, "--out", help="Write captions to a file."),
    checkpoint: str = typer.Option("best", "--checkpoint", help="best, last or step-N."),
    precision: str = PRECISION,
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object per image: image, text, score, tokens."),
) -> None:
    """Describe each image in a sentence: the caption of one image, or caption and file of several, with a tab between.

    With --n-best, each line has a score, a caption and the file. An image that cannot be read is named, the others are
    described, and the exit code is 1.

    Example: [bold]jumok caption shapes image.png[/bold]

    Example: [bold]jumok caption runs/flickr8k-attend dog.jpg holidays/ --beam 5 --json[/bold]

    As a filter: [bold]ls *.jpg | jumok caption runs/flickr8k-attend > captions.tsv[/bold]
    """
    from jumok import api

    given = decoding_given(context)
    check_inputs(images, in_file, what="images")
    predictor = api.load_for(api.CaptionWriter, run, api.LoadOptions(checkpoint=checkpoint, precision=precision))
    options = predictor.options.changed(given)
    alone = images is not None and len(images) == 1 and not Path(images[0]).is_dir()
    silent = out_file is None and sys.stdout.isatty()
    console, unread = error_console(), 0
    with output(out_file) as write, nullcontext(None) if silent else bar(console, "reading", None) as advance:
        for chunk in chunks(images, in_file):
            tell = advance or (lambda count: None)
            for name, answers in predictor.captions(chunk, options=options, progress=tell, warn=warn_on(console)):
                write(_lines(name, answers, alone=alone, several=options.n_best > 1, as_json=as_json))
                unread += answers is None
    if unread:
        raise typer.Exit(1)


def _lines(name: str, answers: "list[Answer] | None", *, alone: bool, several: bool, as_json: bool) -> str:
    """Return the output for one image; None: it could not be read."""
    if as_json:
        items = [{"text": a.text, "score": round(a.score, 6), "tokens": a.tokens} for a in answers or []]
        best = items[0] if items else {"text": None}
        told = {"image": name, **best, **({"captions": items} if several else {})}
        return json_text(told) + "\n"
    if answers is None:
        return f"-\t{one_line(name)}\n"
    if several:
        return "".join(f"{answer.score:.4f}\t{one_line(answer.text)}\t{one_line(name)}\n" for answer in answers)
    text = one_line(answers[0].text)
    return f"{text}\n" if alone else f"{text}\t{one_line(name)}\n"
