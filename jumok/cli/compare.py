"""`jumok compare`: runs side by side, and whether the difference may be chance.

Comparison → its table and notes here; CaptionComparison → compare_captions.py; ForecastComparison → compare_forecasts.py
DrawingComparison → compare_drawings.py
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli import compare_captions, compare_drawings, compare_forecasts
from jumok.cli.decoding_options import decoding_given
from jumok.cli.display import bar, error_console, padded, run_folders, say
from jumok.errors import are, counted
from jumok.json_text import json_text
from jumok.texts import localized_word, visible

if TYPE_CHECKING:
    from jumok.api import CaptionComparison, Comparison, DrawingComparison, ForecastComparison, RunResult

COLUMNS = (
    "run", "parameters", "minutes", "BLEU", "p", "longest fifth", "chrF", "p", "training tok/s", "translation tok/s",
    "sentences/s",
)  # fmt: skip


def compare(
    context: typer.Context,
    runs: list[Path] = typer.Argument(
        ..., help="Folders of two or more runs; the first is the baseline.", autocompletion=run_folders
    ),
    split: str = typer.Option("val", "--split", help="val, test or train."),
    source: Path | None = typer.Option(None, "--source", help="A file of your own to translate, or of captions …"),
    target: Path | None = typer.Option(
        None, "--target", help="… and its reference translations, or the captions' images."
    ),
    data: Path | None = typer.Option(None, "--data", help="The data folder, where it has moved since training."),
    to: str = typer.Option("", "--to", help="The target language of runs that have several."),
    checkpoint: str = typer.Option("best", "--checkpoint", help="best, last or step-N."),
    png: Path | None = typer.Option(
        None,
        "--png",
        help="Draw BLEU by source length, captions by number of objects, or errors by steps ahead, to this file.",
    ),
    read: str = typer.Option(
        "", "--read", help="Drawers: the captioner or image classifier that reads their drawings."
    ),
    drawings: int | None = typer.Option(None, "--drawings", min=1, help="Drawers: drawings of each corpus; 200."),
    markdown: bool = typer.Option(False, "--markdown", help="Print a table to paste into a README."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Translate the same sentences, describe the same images, forecast the same windows or draw the same prompts.

    Scores with significance, size and time. Each run decodes as its recipe says; --beam is for all of them.
    Forecasters must have the same windows to forecast; their test is that of Diebold and Mariano, the best floor beside it.

    Example: [bold]jumok compare runs/seq2seq runs/transformer --beam 5 --png lengths.png[/bold]

    Example: [bold]jumok compare runs/etth1-variables runs/etth1-forecaster --png steps.png[/bold] (forecasters: errors by step ahead)
    """
    from jumok import api
    from jumok.errors import ConfigError

    if markdown and as_json:
        raise ConfigError("--markdown and --json are both given; choose one")
    with bar(error_console(), "comparing", None) as advance:
        comparisons: Mapping[str, Comparison | CaptionComparison | DrawingComparison | ForecastComparison] = (
            api.compare(
                runs,
                split=split,
                source=source,
                target=target,
                data=data,
                to=to,
                beam=decoding_given(context).get("beam"),
                checkpoint=checkpoint,
                png=png,
                read=read,
                drawings=drawings,
                progress=lambda name, done, total: advance(done),
            )
        )
    if as_json:
        found = {label: comparison.to_dict() for label, comparison in comparisons.items()}
        typer.echo(json_text(found, indent=1))
        return
    for number, (label, comparison) in enumerate(comparisons.items()):
        if number:
            typer.echo()
        if isinstance(comparison, api.CaptionComparison):
            columns, rows, told = compare_captions.parts(comparison)
            examples = counted(comparison.images, "image")
        elif isinstance(comparison, api.DrawingComparison):
            columns, rows, told = compare_drawings.parts(comparison)
            examples = counted(comparison.drawings, "drawing")
        elif isinstance(comparison, api.ForecastComparison):
            columns, rows, told = compare_forecasts.parts(comparison)
            examples = counted(comparison.windows, "window")
        else:
            columns, rows, told = COLUMNS, [cells(run) for run in comparison.runs], notes(comparison)
            examples = counted(comparison.sentences, "sentence")
        if markdown:
            typer.echo(visible(markdown_table(columns, rows)))
        else:
            say(f"{label} ({split if source is None else 'files'}), {examples}")
            typer.echo(visible(plain_table(columns, rows)))
        say("\n" + "\n".join(told))


def plain_table(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """Return the table in columns; lines are as long as they need to be, whatever the terminal."""
    from rich.cells import cell_len

    rows = [[localized_word(column) for column in columns], *cells]
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(columns))]
    lines = []
    for first, *rest in rows:
        figures = (padded(text, width, right=True) for text, width in zip(rest, widths[1:], strict=True))
        lines.append("  ".join([padded(first, widths[0]), *figures]))
    return "\n".join(lines)


def markdown_table(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """Return the table as Markdown."""
    rows = [
        [localized_word(column) for column in columns],
        ["---"] + ["---:"] * (len(columns) - 1),
        *cells,
    ]
    return "\n".join("| " + " | ".join(text.replace("|", r"\|") for text in row) + " |" for row in rows)


def cells(run: "RunResult") -> list[str]:
    """Return a run's row, one text per column."""
    seconds, speed = run.training_seconds, run.training_tokens_per_second
    return [
        run.name,
        f"{run.parameters:,}",
        compare_captions.UNKNOWN if seconds is None else f"{seconds / 60:.1f}",
        *compare_captions.score(run.bleu, run.bleu_significance.interval, run.bleu_significance.p),
        f"{run.bleu_longest_fifth:.2f}",
        *compare_captions.score(run.chrf, run.chrf_significance.interval, run.chrf_significance.p),
        compare_captions.UNKNOWN if speed is None else f"{speed:,.0f}",
        f"{run.translation_tokens_per_second:,.0f}",
        f"{run.sentences_per_second:,.1f}",
    ]


def notes(comparison: "Comparison") -> list[str]:
    """Return what a reader must know to read the table."""
    baseline, longest = comparison.runs[0], comparison.runs[0].by_length[-1]
    lines = [
        f"longest fifth: BLEU of the {counted(longest.sentences, 'source')} of {longest.shortest} to {longest.longest} words; "
        f"beam {baseline.decoding['beam']}; {counted(comparison.threads, 'thread')}",
        f"±: 95 % interval; p: paired bootstrap against {baseline.name}; under 0.05 the difference is hardly chance",
    ]
    lines += compare_captions.unlike([run.name for run in comparison.runs], comparison.decoding_differences)
    lines += [
        f"{run.name}: {counted(run.cut, 'source')} {are(run.cut)} longer than the model takes and were cut"
        for run in comparison.runs
        if run.cut
    ]
    return [*lines, comparison.bleu_signature, comparison.chrf_signature]
