"""Lines in, lines out: what the commands share that work as filters."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from jumok.texts import visible
from jumok.writing import Draft, explained

CHUNK = 1024  # lines worked on together when they come from a file or a pipe


def check_inputs(given: list[str] | None, in_file: Path | None, *, what: str) -> None:
    """Refuse inputs that are given both ways, or a file that is not there."""
    from jumok.errors import ConfigError

    if given and in_file:
        raise ConfigError(f"give {what} or --in FILE, not both")
    if in_file and not in_file.exists():
        raise ConfigError(f"--in {in_file}: there is no such file")


def chunks(texts: list[str] | None, in_file: Path | None) -> Iterator[list[str]]:
    """Yield lines to work on together: all that were given, or as many as fit a chunk; from a keyboard one by one."""
    if texts:
        yield [
            text.encode("utf-8", "replace").decode() for text in texts
        ]  # a shell may hand over bytes that are no UTF-8
        return
    from itertools import islice

    from jumok import api

    lines = api.read_lines(in_file) if in_file else standard_input()
    size = 1 if in_file is None and sys.stdin.isatty() else CHUNK
    while chunk := list(islice(lines, size)):
        yield chunk


def standard_input() -> Iterator[str]:
    """Yield the lines of standard input; UTF-8 whatever the locale, and only \\n and \\r\\n end a line, as in files."""
    from jumok.errors import DataError

    for number, raw in enumerate(sys.stdin.buffer, start=1):
        try:
            yield raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError:
            raise DataError(
                f"line {number:,} of standard input is not UTF-8; convert it first: iconv -f LATIN1 -t UTF-8"
            ) from None


def one_line(text: str) -> str:
    """Return text without line ends, which a byte-level model may write: output line N belongs to input line N."""
    return text.replace("\r", " ").replace("\n", " ")


class output:  # noqa: N801 - reads as a function
    """Write to standard output, or to a file that appears under its name only when it is whole."""

    def __init__(self, path: Path | None, option: str = "--out") -> None:
        self.path, self.option = path, option

    def __enter__(self) -> Callable[[str], object]:
        if self.path is None:
            return self._print
        with self._explained():
            self.draft = Draft(self.path)
            self.file = self.draft.path.open("w", encoding="utf-8")
        return self._write

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self.path is None:
            return
        try:
            with suppress(OSError) if kind else self._explained():
                self.file.close()
                if kind is None:
                    self.draft.keep()
        finally:
            self.draft.drop()

    def _write(self, text: str) -> None:
        with self._explained():
            self.file.write(text)

    def _explained(self) -> AbstractContextManager[None]:
        assert self.path is not None
        return explained(self.path, name=f"{self.option} {self.path}")

    @staticmethod
    def _print(text: str) -> None:
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)  # a terminal would obey control characters
        sys.stdout.flush()
