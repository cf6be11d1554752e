"""`jumok evaluate`: score a run."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli.decoding_options import decoding_given
from jumok.cli.display import bar, error_console, print_table, run_folders, say
from jumok.cli.precision_option import PRECISION
from jumok.json_text import json_text
from jumok.texts import localized_word

if TYPE_CHECKING:
    from rich.table import Table


def evaluate(
    context: typer.Context,
    run: Path = typer.Argument(..., help="A run's folder.", autocompletion=run_folders),
    split: str = typer.Option("val", "--split", help="val, test or train."),
    source: Path | None = typer.Option(None, "--source", help="A file of your own to score (or to translate …"),
    target: Path | None = typer.Option(None, "--target", help="… with its reference translations)."),
    data: Path | None = typer.Option(None, "--data", help="The data folder, where it has moved since training."),
    to: str = typer.Option("", "--to", help="Only what is translated to this language, of a run that has several."),
    checkpoint: str = typer.Option("best", "--checkpoint", help="best, last or step-N."),
    precision: str = PRECISION,
    engine: str = typer.Option("", "--engine", help="jumok or ctranslate2; by default what the folder is for."),
    int8: bool = typer.Option(False, "--int8", help="Weights of 8 bits, by CTranslate2: faster, nearly as good."),
    read: str = typer.Option("", "--read", help="A drawer: the captioner or image classifier that reads its drawings."),
    drawings: int | None = typer.Option(None, "--drawings", min=1, help="A drawer: drawings of each corpus; 200."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Score a run on held-out data.

    Translator: BLEU, chrF, exact match and loss, by length of the source.

    Captioner: CIDEr-D, BLEU-1 to 4 and ROUGE-L, beside one caption for all images, that of the nearest image, and people's.

    Language model: loss, perplexity, bits per byte and per character; of BERT, the masked tokens found.

    Classifier: accuracy, macro-F1 and confusions, beside the commonest class and an n-gram baseline.

    Forecaster: MSE, MAE, MASE (of spread pinball, CRPS, coverage; of paths ADE, FDE), by step ahead, beside repeating the last value, the last season, drift and ridge on the same windows; whether it is better than they are, and whether it copies.

    Drawer: loss and bits per code; what another run (--read) sees in its drawings, beside real images, their reconstructions and drawings of other prompts; the nearest training images and their groups; the Fréchet distance on that run's features.

    Example: [bold]jumok evaluate runs/multi30k-en-de --split val --beam 5[/bold]

    Example: [bold]jumok evaluate runs/flickr8k-attend --split test --data flickr8k[/bold] (a captioner)

    Example: [bold]jumok evaluate runs/etth1-forecaster --source newer.csv[/bold] (a forecaster, on a table of your own)

    Example: [bold]jumok evaluate runs/mnist-dalle --read runs/mnist-cnn --drawings 500[/bold] (a drawer)
    """
    from jumok import api
    from jumok.catalogue import report_of

    predictor = api.load(run, to=to, checkpoint=checkpoint, engine=engine, int8=int8, precision=precision)
    with bar(error_console(), "scoring", None) as advance:
        results = api.evaluate(
            predictor,
            split=split,
            source=source,
            target=target,
            data=data,
            options=predictor.options.changed(decoding_given(context)),
            read=read,
            drawings=drawings,
            progress=lambda label, done, total: advance(done),
        )
    if as_json:
        typer.echo(json_text(results, indent=1))
        return
    make_report = report_of(predictor.run.recipe.task)
    legend: dict[str, None] = {}
    for label, scores in results.items():
        report = make_report(label, split if source is None else "files", scores)
        for line in report.lines:
            say(line)
        own_words = scores.get("labels", ())
        if report.table is not None:
            print_table(drawn(report.table.headings, report.table.rows, own_words), as_given=own_words)
        for line in report.footnotes:
            say(line)
        for further in report.further:
            typer.echo()
            print_table(drawn(further.headings, further.rows))
        legend |= dict.fromkeys(report.legend)
    for line in legend:
        say(line)


def drawn(headings: Sequence[str], rows: Sequence[Sequence[str]], as_given: Collection[str] = ()) -> "Table":
    """Return a table of scores as rich draws it; what its rows are called is translated, but for users' own words."""
    from rich.table import Table

    table = Table(*headings, box=None, padding=(0, 2))
    for name, *figures in rows:
        table.add_row(name if name in as_given else localized_word(name), *figures)
    return table
