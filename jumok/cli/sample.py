"""`jumok sample`: examples of a built-in data set, to look at or to try a model on."""

from pathlib import Path

import typer


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
) -> None:
    """Write or print examples of a built-in data set: an image and its class, lines of text, or whole series.

    Pairs have a tab between source and target. Several images go to a folder with a folder for each class, or with
    captions.csv beside them.

    Example: [bold]jumok sample shapes image.png[/bold], then [bold]jumok classify runs/shapes-vit image.png[/bold]

    Example: [bold]jumok sample shapes image.png --captions[/bold], then [bold]jumok caption shapes image.png[/bold]

    Example: [bold]jumok sample waves waves.csv --number 4[/bold], then [bold]jumok new waves.csv[/bold]

    Example: [bold]jumok sample dates dates.tsv --number 500[/bold], then [bold]jumok new dates.tsv[/bold]
    """
    import csv
    import io

    from jumok import api
    from jumok.cli.display import say
    from jumok.errors import ConfigError, counted
    from jumok.writing import ANOTHER_PLACE, write_text

    if name == "shapes":
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
    texts = api.sample_texts(name, split=split, number=number, skip=skip)
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
