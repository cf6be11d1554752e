"""`jumok …`: the commands, and how their errors end."""

import gc
import os
import sys

import typer

from jumok.cli.cache import cache
from jumok.cli.check import check
from jumok.cli.classify import classify
from jumok.cli.compare import compare
from jumok.cli.decoding_options import decoding_command
from jumok.cli.evaluate import evaluate
from jumok.cli.export import export
from jumok.cli.fetch import fetch
from jumok.cli.fill import fill
from jumok.cli.generate import generate
from jumok.cli.import_ import import_
from jumok.cli.list import list_inventory
from jumok.cli.look import look
from jumok.cli.new import new
from jumok.cli.schema import schema
from jumok.cli.train import train
from jumok.cli.translate import translate

app = typer.Typer(
    name="jumok",
    help="Train, run and look inside attention models.\n\nFirst steps: [bold]jumok train dates-transformer[/bold], then "
    '[bold]jumok translate runs/dates-transformer "2026년 11월 15일"[/bold].',
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("list")(list_inventory)
app.command()(check)
app.command()(train)
app.command()(new)
app.command(cls=decoding_command("beam", "length_penalty", "shortlist"))(evaluate)
app.command(cls=decoding_command("beam"))(compare)
app.command(cls=decoding_command(without=("stop",)))(translate)
app.command(cls=decoding_command("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "stop", "seed"))(
    generate
)
app.command()(classify)
app.command()(fill)
app.command(cls=decoding_command("beam", "max_length", "temperature", "top_k", "top_p", "seed"))(look)
app.command("import")(import_)
app.command()(export)
app.command()(fetch)
app.command()(cache)
app.command()(schema)


def version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        from jumok import __version__

        typer.echo(f"jumok {__version__}")
        raise typer.Exit


@app.callback()
def root(
    show_version: bool = typer.Option(False, "--version", callback=version, is_eager=True, help="Print the version."),
) -> None:
    """Hold the options that every command shares."""


def main() -> None:
    """Run the command line; a JumokError becomes one clear message and exit code 2."""
    from jumok.errors import JumokError

    # Importing torch makes a million objects that stay: looking for garbage among them takes a tenth of the start-up.
    gc.set_threshold(50_000, 20, 50)
    try:
        app(prog_name="jumok")  # as `python -m jumok`, too
    except JumokError as error:
        first, *rest = str(error).splitlines() or [""]
        print("\n".join([f"jumok: {first}", *(f"       {line}" for line in rest)]), file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("jumok: stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
