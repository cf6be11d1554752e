"""`jumok …` in this process, its end told as the campaign needs it."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout

from campaign.target import BadEndError, RefusedError
from jumok.cli.main import main


def command(*arguments: object) -> str:
    """Return what a command prints; RefusedError where it ends with a sentence and exit code 2."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    before, code = sys.argv, 0
    sys.argv = ["jumok", *map(str, arguments)]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as leaving:
        code = leaving.code or 0
    finally:
        sys.argv = before
    out.flush(), err.flush()
    printed, said = out.buffer.getvalue().decode(), err.buffer.getvalue().decode()
    if code == 2 and said.startswith("jumok: "):
        raise RefusedError(said.removeprefix("jumok: ").removesuffix("\n"))
    if code:
        raise BadEndError(f"exit code {code}: {said}")
    return printed
