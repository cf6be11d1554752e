"""`jumok …`: the commands, and how their errors end."""

import gc
import os
import sys

import typer

from jumok.cli.cache import cache
from jumok.cli.caption import caption
from jumok.cli.check import check
from jumok.cli.classify import classify
from jumok.cli.compare import compare
from jumok.cli.decoding_options import decoding_command
from jumok.cli.display import mend_broken_pipes, mend_wrapping
from jumok.cli.draw import draw
from jumok.cli.ending import exit_code
from jumok.cli.evaluate import evaluate
from jumok.cli.export import export
from jumok.cli.fetch import fetch
from jumok.cli.fill import fill
from jumok.cli.forecast import forecast
from jumok.cli.generate import generate
from jumok.cli.import_ import import_
from jumok.cli.list import list_inventory
from jumok.cli.local_help import localize
from jumok.cli.look import look
from jumok.cli.new import new
from jumok.cli.recipe import recipe
from jumok.cli.sample import sample
from jumok.cli.schema import schema
from jumok.cli.train import train
from jumok.cli.translate import translate
from jumok.errors import ConfigError
from jumok.texts import LANGUAGES, language, speak

NAME = "jumok"
COMPLETING = "_JUMOK_COMPLETE"  # set by a shell that wants to know how a command may go on

app = typer.Typer(
    name=NAME,
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
app.command()(recipe)
app.command()(sample)
app.command(
    cls=decoding_command("beam", "length_penalty", "shortlist", "guidance", "temperature", "top_k", "top_p", "seed")
)(evaluate)
app.command(cls=decoding_command("beam"))(compare)
app.command(cls=decoding_command(without=("stop", "guidance")))(translate)
app.command(
    cls=decoding_command("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "stop", "seed", "max_length")
)(generate)
app.command(cls=decoding_command(without=("stop", "shortlist", "guidance")))(caption)
app.command(cls=decoding_command("temperature", "top_k", "top_p", "guidance", "seed", "batch_size"))(draw)
app.command()(classify)
app.command()(fill)
app.command()(forecast)
app.command(cls=decoding_command("beam", "max_length", "temperature", "top_k", "top_p", "guidance", "seed"))(look)
app.command("import")(import_)
app.command()(export)
app.command()(fetch)
app.command()(cache)
app.command()(schema)
localize(app)


def version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        from jumok import __version__

        typer.echo(f"jumok {__version__}")
        raise typer.Exit


def take_language(arguments: list[str]) -> list[str]:
    """Speak the language of --lang, wherever it stands before a lone --, and return the other arguments."""
    rest = list(arguments)
    end = rest.index("--") if "--" in rest else len(rest)
    for place, argument in enumerate(rest[:end]):
        name, given, value = argument.partition("=")
        if name == "--lang":
            value = value if given else "".join(rest[place + 1 : place + 2])
            if value not in LANGUAGES:
                raise ConfigError(f"--lang {value}: must be {' or '.join(LANGUAGES)}")
            speak(value)
            del rest[place : place + (1 if given else 2)]
            return take_language(rest)
    return rest


def can_be_written(text: str) -> bool:
    """Return whether both output streams can write a text: not every terminal knows Hangul."""
    try:
        for stream in (sys.stdout, sys.stderr):
            text.encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


@app.callback()
def root(
    show_version: bool = typer.Option(False, "--version", callback=version, is_eager=True, help="Print the version."),
    spoken: str = typer.Option(
        "",
        "--lang",
        metavar="en|ko",
        help="The language of help and messages, before or after the command; JUMOK_LANG or the system's otherwise.",
    ),
) -> None:
    """Hold the options that every command shares; main() takes --lang before they are read."""


def open_streams() -> None:
    """Read nothing and write nowhere in place of streams that the caller closed: jumok … <&- >&-."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for as long as we run


def check_folder() -> None:
    """Refuse to run in a folder that was removed: no relative path means anything there."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise ConfigError("the folder that this was called in is not there any more; go to another: cd") from None


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code; what stops it is raised as it is.

    app() itself would do all this, and take Ctrl-C for an end like others and every broken pipe for that of its output.
    """
    if COMPLETING in os.environ:
        app(arguments, prog_name=NAME)  # answers the shell, and leaves
    command = typer.main.get_command(app)
    try:
        with command.make_context(NAME, arguments) as context:
            command.invoke(context)
    except typer.Exit as leaving:
        return leaving.exit_code
    return 0


def main() -> None:
    """Run the command line; what stops a command becomes one clear message and an exit code."""
    # Importing torch makes a million objects that stay: looking for garbage among them takes a tenth of the start-up.
    gc.set_threshold(50_000, 20, 50)
    open_streams()
    try:
        check_folder()
        arguments = take_language(sys.argv[1:])
        if not can_be_written(LANGUAGES[language()]):
            speak("en")
        mend_broken_pipes()
        if language() != "en":
            mend_wrapping()
        code = run(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    except (Exception, KeyboardInterrupt) as error:
        known = exit_code(error)
        if known is None:
            raise
        code = known
    sys.exit(code)
