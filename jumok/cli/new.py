"""`jumok new`: write a commented recipe for your own data, whatever it is."""

from pathlib import Path

import typer

from jumok.cli.display import run_folders


def new(
    data: list[Path] = typer.Argument(
        ...,
        help="Two files of lines (source, target); images and their captions; or one table, text file, .npz, or folder "
        "(of class folders, of texts).",
    ),
    task: str = typer.Option(
        "", "--task", help="What to learn, where the data leaves a choice (jumok list has the tasks)."
    ),
    val: list[Path] = typer.Option(
        [],
        "--val",
        help="What to score on, laid out as the data (twice for two files); some of it is held out otherwise.",
    ),
    source: str = typer.Option("", "--source", help="A table's column to translate from: name, or number from 0."),
    target: str = typer.Option(
        "", "--target", help="A table's column to translate to, or to forecast (several with commas between)."
    ),
    text: str = typer.Option("", "--text", help="A table's column of texts, of captions, or of image files."),
    second: str = typer.Option("", "--second", help="A table's column of second texts, where a class belongs to two."),
    label: str = typer.Option("", "--label", help="A table's column of classes."),
    date: str = typer.Option("", "--date", help="Series: a table's column of dates, times or step numbers."),
    id: str = typer.Option(
        "", "--id", help="Series: the column that tells which series a row belongs to (several with commas between)."
    ),
    horizon: int = typer.Option(0, "--horizon", min=0, help="Series: how many steps to forecast; 0 = by their season."),
    model: str = typer.Option("", "--model", help="Another model than the usual one of the task (jumok list)."),
    preset: str = typer.Option("", "--preset", help="Another size: tiny, small, … (jumok recipe --presets)."),
    start_from: str = typer.Option(
        "",
        "--from",
        help="An earlier or imported run to fine-tune: its model and tokenizer.",
        autocompletion=run_folders,
    ),
    out: Path | None = typer.Option(None, "--out", help="The recipe to write; by default named as the data, here."),
) -> None:
    """Write a recipe for your own data: it is looked at, and task, columns, sizes and steps are chosen from it.

    Example: [bold]jumok new talks.en talks.ko[/bold] (two files: a translator; one table of pairs does as well)

    Example: [bold]jumok new reviews.csv[/bold] (a table of texts and classes: a classifier)

    Example: [bold]jumok new photos/[/bold] (a folder with a folder of images for each class: ViT)

    Example: [bold]jumok new photos/ captions.csv[/bold] (images, and a file of captions in any usual format: a captioner)

    Example: [bold]jumok new photos/ captions.csv --task text-to-image[/bold] (two recipes: image codes, and what draws in them)

    Example: [bold]jumok new sales.csv --date ds --id unique_id --target y[/bold] (a table of dates and numbers: a forecaster)

    Example: [bold]jumok new prices.csv --target open,close --horizon 5[/bold] (two columns, five steps ahead; date and id are found)

    Example: [bold]jumok new novel.txt[/bold] (a text: GPT; [bold]--task masked-language-modeling[/bold]: BERT)

    Example: [bold]jumok new reviews.csv --from runs/bert[/bold] (fine-tune an earlier or imported run)
    """
    from jumok import api
    from jumok.cli.display import counting, error_console, padded, say
    from jumok.texts import localized, localized_word, visible

    with counting(error_console()) as progress:
        progress("reading", 0)
        written = api.new_recipe(
            data,
            out=out,
            task=task,
            val=val,
            source=source,
            target=target,
            text=text,
            second=second,
            label=label,
            date=date,
            id=id,
            horizon=horizon,
            model=model,
            preset=preset,
            start_from=start_from or None,
        )
    for line in written.seen:
        typer.echo(padded(localized_word("saw:"), 8) + visible(localized(line)))
    for line in (f"task {written.task}", *filter(None, written.chosen)):
        typer.echo(padded(localized_word("chose:"), 8) + visible(localized(line)))
    say(f"{written.path} is written. Next:")
    for command in written.commands:
        typer.echo(f"  {command}")
