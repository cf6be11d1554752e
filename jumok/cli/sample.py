"""`jumok sample`: examples of a built-in data set, to look at or to try a model on."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from jumok.api import AlignedSample


def sample(
    name: str = typer.Argument(..., metavar="SET", help="A built-in data set: shapes, dates, stdlib, … (jumok list)."),
    file: Path | None = typer.Argument(
        None, help="Where to write it: an image, a folder for several, or a file of text; none: lines are printed."
    ),
    number: int = typer.Option(1, "--number", min=1, help="How many examples."),
    split: str = typer.Option("test", "--split", help="test, val or train."),
    skip: int = typer.Option(0, "--skip", min=0, help="Pass over so many first."),
    captions: bool = typer.Option(
        False, "--captions", help="shapes: images of one to five objects, with their captions instead of classes."
    ),
    alignment: bool = typer.Option(
        False, "--alignment", help="korean: which words stand for each word; those in brackets only belong to it."
    ),
    as_json: bool = typer.Option(
        False, "--json", help="Print one JSON object per line: source and target, alignments as places of words."
    ),
) -> None:
    """Write or print examples of a built-in data set: an image and its class, lines of text, or whole series.

    Pairs have a tab between source and target. Several images go to a folder with a folder for each class, or with
    captions.csv beside them.

    Example: [bold]jumok sample shapes image.png[/bold], then [bold]jumok classify runs/shapes-vit image.png[/bold]

    Example: [bold]jumok sample shapes image.png --captions[/bold], then [bold]jumok caption shapes image.png[/bold]

    Example: [bold]jumok sample waves waves.csv --number 4[/bold], then [bold]jumok new waves.csv[/bold]

    Example: [bold]jumok sample korean --number 5 --alignment[/bold]

    Example: [bold]jumok sample dates dates.tsv --number 500[/bold], then [bold]jumok new dates.tsv[/bold]
    """
    import csv
    import io

    from jumok import api
    from jumok.cli.display import say
    from jumok.errors import ConfigError, counted
    from jumok.writing import ANOTHER_PLACE, write_text

    if name == "shapes":
        if alignment or as_json:
            raise ConfigError("--alignment and --json are for text: jumok sample korean")
        if file is None:
            raise ConfigError("images go to a file or a folder: jumok sample shapes image.png")
        written = api.sample_images(name, file, split=split, number=number, skip=skip, captions=captions)
        for image in written if number == 1 else []:
            typer.echo(f"{image.path}: {image.label}")
        if number > 1 and captions:
            say(f"{file}: {counted(number, 'image')} and captions.csv. Next:  jumok new {file} {file}/captions.csv")
        elif number > 1:
            say(f"{file}: {counted(number, 'image')} in folders {', '.join(sorted({one.label for one in written}))}")
        return
    if captions:
        raise ConfigError(f"--captions is for images: jumok sample shapes; {name} is text")
    if alignment:
        aligned = api.sample_aligned(name, split=split, number=number, skip=skip)
        texts = _json_of_aligned(aligned) if as_json else [line for pair in aligned for line in _shown(pair)]
    else:
        texts = api.sample_texts(name, split=split, number=number, skip=skip)
        texts = _json_of_texts(texts) if as_json else texts
    if file is None:
        typer.echo("\n".join(texts))
        return
    if file.exists():
        raise ConfigError(f"{file} exists already; choose another name, or remove it")
    rows = io.StringIO(newline="")
    if file.suffix.lower() == ".csv":
        csv.writer(rows).writerows(text.split("\t") for text in texts)
    else:
        rows.write("\n".join([*texts, ""]))
    write_text(file, rows.getvalue(), ANOTHER_PLACE)
    say(f"{file}: {counted(number, 'example')} of {name}")


def _shown(pair: "AlignedSample") -> list[str]:
    """Return the lines of a pair: both sentences, then each word with those that stand for it, and an empty line."""
    from rich.cells import cell_len

    groups = pair.groups()
    width = max(cell_len(word) for word, _ in groups)
    rows = [f"  {word}{' ' * (width - cell_len(word))}  {others}".rstrip() for word, others in groups]
    return [" ".join(pair.source), " ".join(pair.target), *rows, ""]


def _json_of_aligned(pairs: "Sequence[AlignedSample]") -> list[str]:
    from dataclasses import asdict

    from jumok.json_text import json_text

    return [json_text(asdict(pair)) for pair in pairs]


def _json_of_texts(texts: Sequence[str]) -> list[str]:
    """Return a JSON object of each text; source and target of pairs have a tab between them."""
    from jumok.json_text import json_text

    cells = [text.split("\t") for text in texts]
    return [
        json_text({"source": row[0], "target": row[1]} if len(row) == 2 else {"text": "\t".join(row)}) for row in cells
    ]
