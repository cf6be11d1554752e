"""Files: found, hashed, and read line by line, plain or .gz. What is no UTF-8 text is refused with its cure."""

import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from jumok.errors import DataError
from jumok.reading import LONGEST_LINE, is_packed, open_packed

Find = Callable[[str], Path]  # the place of a file that a recipe names


class MissingFileError(DataError):
    """A file that is in none of the folders."""


def find_file(file: str, folders: Sequence[Path]) -> Path:
    """Return where file is: itself if absolute, else inside the first of folders that holds it."""
    places = [Path(file)] if Path(file).is_absolute() else [Path(folder) / file for folder in folders]
    for place in places:
        if place.exists():
            return place
    looked = ", ".join(str(place) for place in places) or "no folder at all"
    raise MissingFileError(
        f"{file} was not found; looked at {looked}.\nPass --data FOLDER (or set JUMOK_DATA) to say where the files are."
    )


def content_hash(paths: Sequence[Path]) -> str:
    """Return the sha256 of the files' contents; of one file, the same as sha256sum prints."""
    digest = hashlib.sha256()
    for index, path in enumerate(paths):
        size = 0
        try:
            with open(path, "rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
                    size += len(block)
        except OSError as error:
            raise unreadable(path, error) from None
        if index < len(paths) - 1:  # so that moving a line from one file to the next is noticed
            digest.update(b"\xff" + size.to_bytes(8, "big"))
    return digest.hexdigest()


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, plain or .gz, without their ends; only \\n and \\r\\n end a line."""
    number = 0
    try:
        with open_packed(path) as file:
            _refuse_binary(path, file.peek(1 << 13))
            for number, raw in enumerate(iter(partial(file.readline, LONGEST_LINE + 1), b""), start=1):
                if len(raw) > LONGEST_LINE:
                    raise _too_long(path, number)
                line = raw.removesuffix(b"\n").removesuffix(b"\r")
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                    if not line and raw[-1:] != b"\n":  # a byte order mark and nothing else
                        number = 0
                        break
                if b"\0" in raw:
                    raise _binary(path, number)
                try:
                    text = line.decode("utf-8")
                except UnicodeDecodeError:
                    raise _wrong_encoding(path, number, _guess_encoding(line)) from None
                yield text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _cut_off(path, number, error) from None
    except OSError as error:
        raise unreadable(path, error) from None
    if number == 0:
        raise DataError(f"{path} is empty; a file with one sentence or row per line is needed.")


def read_blocks(path: Path, size: int = 1 << 22) -> Iterator[tuple[int, bytes]]:
    """Yield the number of the first line, and whole lines of about size bytes, of a UTF-8 file, plain or .gz.

    Lines end in \\n; \\r\\n becomes that. The byte order mark is left out.
    """
    number, begun = 1, [b""]  # pieces of a line that has not ended yet
    try:
        with open_packed(path) as file:
            _refuse_binary(path, file.peek(1 << 13))
            while raw := file.read(size):
                if number == 1 and begun == [b""]:
                    raw = raw.removeprefix(b"\xef\xbb\xbf")
                lines, mark, rest = raw.rpartition(b"\n")
                if mark:
                    block = b"".join([*begun, lines, mark])
                    yield number, _checked(path, number, block)
                    number, begun = number + block.count(b"\n"), []
                begun.append(rest)
                if sum(map(len, begun)) > LONGEST_LINE:
                    raise _too_long(path, number)
            if rest := b"".join(begun):
                yield number, _checked(path, number, rest + b"\n")
                number += 1
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _cut_off(path, number - 1, error) from None
    except OSError as error:
        raise unreadable(path, error) from None
    if number == 1:
        raise DataError(f"{path} is empty; a file with one sentence or row per line is needed.")


def _checked(path: Path, number: int, block: bytes) -> bytes:
    """Return lines whose first has a number, with plain line ends; what is no text is refused."""
    if b"\0" in block:
        raise _binary(path, number + block[: block.index(0)].count(b"\n"))
    if not block.isascii():
        try:
            block.decode("utf-8")
        except UnicodeDecodeError as error:
            line = block[block.rfind(b"\n", 0, error.start) + 1 :].partition(b"\n")[0]
            found = number + block[: error.start].count(b"\n")
            raise _wrong_encoding(path, found, _guess_encoding(line)) from None
    return block.replace(b"\r\n", b"\n") if b"\r" in block else block


def _cut_off(path: Path, lines: int, error: Exception) -> DataError:
    return DataError(
        f"{path} is a broken or cut-off gzip file (after line {lines:,}: {error}); download or compress it again."
    )


def _too_long(path: Path, number: int) -> DataError:
    return DataError(
        f"{path} line {number:,} has more than {LONGEST_LINE:,} bytes; lines of text are needed, of which none is longer."
    )


def unreadable(path: Path, error: OSError) -> DataError:
    if isinstance(error, IsADirectoryError):
        return DataError(f"{path} is a folder; a file is needed.")
    if isinstance(error, FileNotFoundError):
        return DataError(f"{path} does not exist; check its name, or pass --data FOLDER.")
    return DataError(f"{path} cannot be read ({error.strerror or error}); check the file and its permissions.")


# --- encodings


def _refuse_binary(path: Path, head: bytes) -> None:
    """Raise if the beginning of a file is no text, or UTF-16: a byte order mark, or NUL in every other byte only."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _wrong_encoding(path, 1, "UTF-16")
    if b"\0" not in head:
        return
    for name, high, low in (("UTF-16LE", head[1::2], head[0::2]), ("UTF-16BE", head[0::2], head[1::2])):
        if 0 not in low and 2 * high.count(0) > len(high) > 1:
            raise _wrong_encoding(path, 1, name)
    raise _binary(path, head[: head.index(0)].count(b"\n") + 1)


def _binary(path: Path, number: int) -> DataError:
    return DataError(f"{path} is a binary file (line {number:,} holds NUL bytes); plain UTF-8 text is needed.")


def _guess_encoding(line: bytes) -> str:
    """Return the likeliest encoding of a line that is no UTF-8: Korean if all of it is Hangul, else Western."""
    try:
        high = [letter for letter in line.decode("euc_kr") if not letter.isascii()]
        if all("가" <= letter <= "힣" for letter in high):
            return "CP949"
    except UnicodeDecodeError:
        pass
    return "LATIN1"


def _wrong_encoding(path: Path, number: int, guess: str) -> DataError:
    if is_packed(path):
        cure = f"gunzip -c {path} | iconv -f {guess} -t UTF-8 | gzip > utf8-{path.name}"
    else:
        cure = f"iconv -f {guess} -t UTF-8 {path} > utf8-{path.name}"
    names = {"LATIN1": "Latin-1", "CP949": "CP949 (Korean)"}
    return DataError(
        f"{path} is not UTF-8 (line {number:,}; it looks like {names.get(guess, guess)}); convert it with\n{cure}"
    )
