"""Lines in, lines out: what the commands share that work as filters."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from jumok.texts import visible

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
        plain = path is not None and (path.is_file() or not path.exists())  # a pipe or device is written as it is
        self.part = path.with_name(f".{path.name}.part") if path and plain else None

    def __enter__(self) -> Callable[[str], object]:
        if self.path is None:
            return self._print
        try:
            self.file = (self.part or self.path).open("w", encoding="utf-8")
        except OSError as error:
            raise self._explained(error) from None
        return self._write

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self.path is None:
            return
        try:
            self.file.close()
            if kind is None and self.part is not None:
                self.part.replace(self.path)
        except OSError as failure:
            if kind is None:
                raise self._explained(failure) from None
        finally:
            if self.part is not None:
                self.part.unlink(missing_ok=True)

    def _write(self, text: str) -> None:
        try:
            self.file.write(text)
        except OSError as error:
            raise self._explained(error) from None

    def _explained(self, error: OSError) -> Exception:
        from jumok.errors import DataError

        return DataError(f"{self.option} {self.path} cannot be written: {error.strerror}; choose another file")

    @staticmethod
    def _print(text: str) -> None:
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)  # a terminal would obey control characters
        sys.stdout.flush()
