"""How a command ends that does not come to its own end: in one sentence and an exit code, whatever stopped it.

JumokError, no memory, a full disk → 2 · Ctrl-C → 130 · the reader of our output left, as `head` does → 141
Anything else is a bug of ours, and shows as one.
"""

import errno
import os
import select
import signal
import sys

import typer

from jumok.cli.local_help import UsageError, show_usage_error
from jumok.errors import JumokError
from jumok.memory import shortage
from jumok.texts import localized, localized_word, visible

STREAMS = (1, 2)  # standard output, the error stream


def exit_code(error: BaseException) -> int | None:
    """Say what stopped a command and return its exit code; None for a bug."""
    if isinstance(error, BrokenPipeError) and (left := _without_reader()):
        _silence(*left)
        return 141
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it has been heard
        _print(localized_word("stopped"))
        return 130
    if isinstance(error, UsageError):
        show_usage_error(error)
        code: int = error.exit_code
        return code
    message = _message(error)
    if message:
        _print(visible(localized(message)))
    return 2 if message else None


def _message(error: BaseException) -> str:
    """Return what a user is told of an error that a user can cure; "" for another."""
    if isinstance(error, JumokError):
        return str(error) or type(error).__name__
    if what := shortage(error):
        return f"memory has run out: {what}; use a smaller batch or fewer processes, or end other programs"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        _silence(1)  # what waits to be written would fail again
        return f"the disk of {error.filename or 'standard output'} is full; free some space, or write to another place"
    return ""


def _without_reader() -> list[int]:
    """Return those of the output streams that nobody reads any more: a pipe between processes of ours is none."""
    streams = select.poll()
    for stream in STREAMS:
        streams.register(stream, 0)
    return [stream for stream, event in streams.poll(0) if event & (select.POLLERR | select.POLLHUP)]


def _silence(*streams: int) -> None:
    """Let what is still written to streams go nowhere."""
    for stream in streams:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


def _print(text: str) -> None:
    first, *rest = text.splitlines()
    try:
        print("\n".join([f"jumok: {first}", *(f"       {line}" for line in rest)]), file=sys.stderr, flush=True)
    except OSError:  # nobody is there to read it
        _silence(2)
