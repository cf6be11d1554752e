"""`jumok forecast`: tell what comes next of the series of a table."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli.display import bar, error_console, print_table, run_folders, say, standard_console, warn_on
from jumok.cli.lines import output
from jumok.cli.look_page import save_page
from jumok.cli.precision_option import PRECISION
from jumok.json_text import json_text
from jumok.writing import check_can_write

if TYPE_CHECKING:
    from jumok.api import Forecast, Forecasts

MOST_CHARTS = 3  # on the terminal
MOST_STEPS, MOST_TARGETS = 5, 4  # whose numbers stand below them


def forecast(
    run: Path = typer.Argument(..., help="A run's folder.", autocompletion=run_folders),
    table: str = typer.Argument(
        "-",
        metavar="[TABLE]",
        help="A .csv, .tsv, .jsonl or .parquet table with the columns of training; - or none: CSV on standard input.",
    ),
    steps: int = typer.Option(0, "--steps", min=0, help="How far to forecast; 0: as far as the model was trained for."),
    quantiles: str = typer.Option(
        "", "--quantiles", help="Levels to tell, such as 0.1,0.9; by default the model's own, where it has some."
    ),
    series: list[str] = typer.Option([], "--series", help="Only this series of a table that has several; repeatable."),
    at: str = typer.Option(
        "", "--at", help="Take this date or step for the last one known, and show what came after it."
    ),
    csv_file: Path | None = typer.Option(
        None, "--csv", help="Write a table to this file: series, date, target, point, quantiles."
    ),
    png: Path | None = typer.Option(None, "--png", help="Draw it to this file."),
    html: Path | None = typer.Option(
        None, "--html", help="Write a page to this one file; of one series, with where the model looked."
    ),
    open_page: bool = typer.Option(False, "--open", help="Open the page in the browser."),
    checkpoint: str = typer.Option("best", "--checkpoint", help="best, last or step-N."),
    precision: str = PRECISION,
    as_json: bool = typer.Option(False, "--json", help="Print a JSON object for each series."),
) -> None:
    """Forecast each series of a table: a chart and the first numbers, or in a pipe a table of all.

    Columns are found by name, in any order; values come back in the table's own units. Dates go on as they did (days
    without weekends by weekdays). What is known ahead, such as holidays, stands in rows below the last value, the columns
    to forecast left empty. More steps than the model was trained for are made of its own forecasts, and told.

    Example: [bold]jumok forecast runs/etth1-forecaster new.csv[/bold]

    Example: [bold]jumok forecast runs/stocks-forecaster prices.csv --steps 5 --quantiles 0.1,0.9 --csv forecast.csv[/bold]

    Example: [bold]jumok forecast runs/etth1-forecaster table.csv --at "2017-12-01 00:00" --png forecast.png[/bold] (beside what came)

    Example: [bold]jumok forecast runs/etth1-forecaster new.csv --open[/bold] (a page: point at a step, and see where it looked)

    As a filter: [bold]jumok forecast runs/etth1-forecaster < new.csv > forecast.csv[/bold]
    """  # fmt: skip
    from jumok import api

    levels = _levels(quantiles)
    _keep_table(table, {"--csv": csv_file, "--png": png, "--html": html})
    if png is not None:
        api.check_can_draw(png)
    if html is not None:
        check_can_write(html, "--html")
    forecaster = api.load_for(api.SeriesForecaster, run, api.LoadOptions(checkpoint=checkpoint, precision=precision))
    console, given = error_console(), _standard_input() if table == "-" else table
    shown = html is not None or open_page
    elsewhere = shown or csv_file is not None or png is not None
    with bar(console, "forecasting", None) as advance:
        found = forecaster.forecast(
            given,
            steps=steps,
            quantiles=levels,
            series=series,
            at=at,
            progress=advance,
            warn=warn_on(console),
        )
    if csv_file is not None:
        _write(found, csv_file)
        say(f"table: {csv_file} ({sum(len(one) * len(one.targets) for one in found):,} rows)")
    if png is not None:
        left = found.save_png(png)
        say(f"image: {png}" + (f" ({left:,} further charts found no room; --series chooses)" if left else ""))
    if shown:
        looked = len(found) == 1 and steps in (0, forecaster.data.horizon)  # else there is no one window to look into
        page = (
            forecaster.explain(given, at=at, series=found[0].series, quantiles=levels).page()
            if looked
            else found.page()
        )
        save_page(page, html, opened=open_page)
        if len(found) > found.most_on_page:
            say(f"the page has the first {found.most_on_page} of {len(found):,} series; --series chooses")
    if as_json:
        for one in found:
            typer.echo(json_text(one.to_dict()))
    elif not elsewhere and sys.stdout.isatty():
        _draw(found)
    elif not elsewhere:
        _write(found, None)


def _levels(text: str) -> list[float] | None:
    """Return the levels that --quantiles names; None: it names none."""
    from jumok.errors import ConfigError

    try:
        return [float(part) for part in text.split(",")] if text else None
    except ValueError:
        raise ConfigError(f"--quantiles {text}: must be numbers between 0 and 1, for example 0.1,0.9") from None


def _keep_table(table: str, written: dict[str, Path | None]) -> None:
    """Refuse to write over the table."""
    from jumok.errors import ConfigError

    for option, path in written.items():
        if path is not None and table != "-" and path.exists() and Path(table).exists() and path.samefile(table):
            raise ConfigError(f"{option} {path} is the table itself; choose another file")


def _standard_input() -> bytes:
    from jumok.errors import ConfigError

    if sys.stdin.isatty():
        raise ConfigError("forecast needs a table: jumok forecast RUN TABLE.csv, or one on standard input")
    return sys.stdin.buffer.read()


def _write(found: "Forecasts", path: Path | None) -> None:
    """Write all forecasts as one CSV."""
    with output(path, "--csv") as write:
        for part in found.csv_parts():
            write(part)


def _draw(found: "Forecasts") -> None:
    """Draw the first charts on the terminal, with the first numbers of each series that is drawn."""
    console, room = standard_console(), MOST_CHARTS
    left = sum(len(one.draw()) for one in found) - room
    for one in found:
        charts = one.draw()[:room]
        if not charts:
            break
        if one.series:
            console.print(one.series, style="bold")
        for chart in charts:
            console.print(chart, soft_wrap=True)
        _print_numbers(one)
        room -= len(charts)
    if left > 0:
        say(f"{left:,} further charts; --series chooses, --csv, --png and --html have more")


def _print_numbers(one: "Forecast") -> None:
    """Print the first steps of a forecast."""
    from rich.table import Table

    names = one.targets[:MOST_TARGETS]
    bands = one.bands()
    table = Table("date", *names, box=None, padding=(0, 2))
    for column in table.columns[1:]:
        column.justify = "right"
    for step, label in enumerate(one.labels[:MOST_STEPS]):
        cells = []
        for place in range(len(names)):
            band = [f"{one.quantiles[level][step, place]:,.5g}" for level in bands[0]] if bands else []
            cells.append(f"{one.point[step, place]:,.5g}" + (f" ({band[0]} … {band[1]})" if band else ""))
        table.add_row(label, *cells)
    print_table(table, as_given=names)
    further = len(one) - MOST_STEPS
    if further > 0:
        say(f"and {further:,} further steps up to {one.labels[-1]}\n")
