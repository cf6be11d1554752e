"""`jumok …` in this process, its end told as the campaign needs it; and an error as the command line prints it."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest.mock import patch

from jumok.cli.main import main
from jumok.errors import JumokError


class RefusedError(Exception):
    """A command that ended with exit code 2, and its message."""


class BadEndError(Exception):
    """A command that ended with neither 0 nor a sentence and 2."""


def command(*arguments: object) -> str:
    """Return what a command prints; RefusedError where it ends with a sentence and exit code 2."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="", errors="backslashreplace") for _ in range(2)
    )
    before, code, cause = sys.argv, 0, None
    sys.argv = ["jumok", *map(str, arguments)]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as leaving:
        code, cause = leaving.code or 0, leaving.__context__
    finally:
        sys.argv = before
    out.flush(), err.flush()
    printed, said = out.buffer.getvalue().decode(), err.buffer.getvalue().decode()
    if code == 2 and said.startswith("jumok: "):
        lines = said.removeprefix("jumok: ").removesuffix("\n").split("\n")
        raise RefusedError("\n".join(line.removeprefix("       ") for line in lines)) from cause
    if code:
        raise BadEndError(f"exit code {code}: {said}")
    return printed


def as_printed(error: JumokError) -> str:
    """Return what the command line prints of an error: exit code 2, one message."""
    try:
        with patch("jumok.cli.main.take_language", side_effect=error):
            command()
    except RefusedError as refused:
        return str(refused)
    raise BadEndError(f"{error!r} is not told")
