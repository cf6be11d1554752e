"""Where text comes from: files of lines, TSV, CSV, JSONL (each plain or .gz) and Parquet.

Corpus (of a recipe) → find_file → read_pairs → (source, target) strings, streamed → tidy
TextFile → find_file → read_documents → strings, their line breaks kept → clean
Whatever is wrong with a file ends in a DataError that says what to do; rows are never skipped in silence.
"""

import csv
import gzip
import hashlib
import json
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BufferedReader
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from jumok.config import Corpus, LabelledFile, TextFile
from jumok.errors import DataError, MissingExtraError

Pair = tuple[str, str]
Columns = Mapping[str, int | str]  # a recipe's keys, and the column that each names
TABLE_SUFFIXES = (".tsv", ".csv", ".jsonl", ".parquet")
# Control characters that are no whitespace, and halves of surrogate pairs (JSON can smuggle them in).
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")


def find_file(file: str, folders: Sequence[Path]) -> Path:
    """Return where file is: itself if absolute, else inside the first of folders that holds it."""
    places = [Path(file)] if Path(file).is_absolute() else [Path(folder) / file for folder in folders]
    for place in places:
        if place.exists():
            return place
    looked = ", ".join(str(place) for place in places) or "no folder at all"
    raise DataError(
        f"{file} was not found; looked at {looked}.\n"
        "Pass --data FOLDER (or set JUMOK_DATA) to say where the files are; jumok fetch downloads public sets."
    )


def tidy(text: str, lowercase: bool = False) -> str:
    """Return text in NFC, without control characters, every run of whitespace as one space, stripped."""
    text = _CONTROL.sub("", text).replace("\ufeff", " ")
    text = unicodedata.normalize("NFC", text.lower() if lowercase else text)
    return " ".join(text.split())


def clean(text: str, lowercase: bool = False) -> str:
    """Return text in NFC, without control characters; spaces and line breaks stay as they are."""
    text = _CONTROL.sub("", text).replace("\ufeff", "")
    return unicodedata.normalize("NFC", text.lower() if lowercase else text)


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
            raise _unreadable(path, error) from None
        if index < len(paths) - 1:  # so that moving a line from one file to the next is noticed
            digest.update(b"\xff" + size.to_bytes(8, "big"))
    return digest.hexdigest()


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, plain or .gz, without their ends; only \\n and \\r\\n end a line."""
    number = 0
    try:
        with _open(path) as file:
            _refuse_binary(path, file.peek(1 << 13))
            for number, raw in enumerate(file, start=1):
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
        raise DataError(
            f"{path} is a broken or cut-off gzip file (after line {number:,}: {error}); download or compress it again."
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from None
    if number == 0:
        raise DataError(f"{path} is empty; a file with one sentence or row a line is needed.")


def read_pairs(corpus: Corpus, folders: Sequence[Path]) -> Iterator[Pair]:
    """Yield the (source, target) pairs of a corpus as they stand in its files."""
    if not corpus.file:
        yield from _read_two_files(find_file(corpus.source, folders), find_file(corpus.target, folders))
        return
    path, count = find_file(corpus.file, folders), 0
    columns = {"source_column": corpus.source_column, "target_column": corpus.target_column}
    for source, target in read_columns(path, columns):
        count += 1
        yield source, target
    if not count:
        raise DataError(f"{path} holds no pairs; a table with at least one row is needed.")


def read_documents(file: TextFile, folders: Sequence[Path], *, documents: str) -> Iterator[str]:
    """Yield the documents of plain text (the file, its paragraphs or its lines) or of a table's column (its rows)."""
    path = find_file(file.file, folders)
    if path.name.lower().removesuffix(".gz").endswith(TABLE_SUFFIXES):
        yield from (text for (text,) in read_columns(path, {"column": file.column}))
    elif documents == "line":
        yield from read_lines(path)
    else:
        lines: list[str] = []
        for line in read_lines(path):
            lines.append(line)
            if documents == "paragraph" and not line.strip():
                yield "\n".join(lines).strip("\n")
                lines = []
        yield "\n".join([*lines, ""]) if documents == "file" else "\n".join(lines)


def read_labelled(file: LabelledFile, folders: Sequence[Path]) -> Iterator[tuple[str, str, str]]:
    """Yield text, second text (empty where there is none) and class of each row of a table."""
    path = find_file(file.file, folders)
    columns = {"text": file.text, "second": file.second, "label": file.label}
    if file.second == "":
        del columns["second"]
    for text, *second, label in read_columns(path, columns):
        if not label.strip():
            raise DataError(f"{path}: the text {text[:40]!r} has no class; give it one, or take the row out.")
        yield text, "".join(second), label


def _open(path: Path) -> gzip.GzipFile | BufferedReader:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else open(path, "rb")


def _unreadable(path: Path, error: OSError) -> DataError:
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
    if path.suffix.lower() == ".gz":
        cure = f"gunzip -c {path} | iconv -f {guess} -t UTF-8 | gzip > utf8-{path.name}"
    else:
        cure = f"iconv -f {guess} -t UTF-8 {path} > utf8-{path.name}"
    names = {"LATIN1": "Latin-1", "CP949": "CP949 (Korean)"}
    return DataError(
        f"{path} is not UTF-8 (line {number:,}; it looks like {names.get(guess, guess)}); convert it with\n{cure}"
    )


# --- two files of lines


def _read_two_files(source: Path, target: Path) -> Iterator[Pair]:
    for left, right in zip_longest(read_lines(source), read_lines(target)):
        if left is None or right is None:
            raise _unequal(source, target)
        yield left, right


def _unequal(source: Path, target: Path) -> DataError:
    lengths = {path: np.fromiter((len(line) + 1 for line in read_lines(path)), np.float64) for path in (source, target)}
    shorter, longer = sorted((source, target), key=lambda path: len(lengths[path]))
    split = _where_lengths_part(lengths[longer], lengths[shorter])
    if split < len(lengths[shorter]):
        hint = f"Line {split + 1:,} of {shorter.name} is where they stop matching in length; look there first."
    else:
        hint = f"They match in length up to the last line of {shorter.name}: its end seems to be missing."
    return DataError(
        f"{source.name} has {len(lengths[source]):,} lines and {target.name} {len(lengths[target]):,}; "
        f"a parallel corpus needs the same number.\n{hint}"
    )


def _where_lengths_part(longer: np.ndarray, shorter: np.ndarray) -> int:
    """Return the line before which the two agree best unshifted, and after which shifted by the surplus."""
    count, surplus = len(shorter), len(longer) - len(shorter)
    usual = np.log(longer.mean() / shorter.mean())
    unshifted = np.abs(np.log(longer[:count] / shorter) - usual)
    shifted = np.abs(np.log(longer[surplus:] / shorter) - usual)
    gain = np.concatenate([[0.0], np.cumsum(unshifted - shifted)])  # of shifting the lines before a place, too
    return (
        len(gain) - 1 - int(gain[::-1].argmin())
    )  # of equally good places the last: an end that is missing is likelier


# --- tables


def read_columns(path: Path, columns: Columns) -> Iterator[tuple[str, ...]]:
    """Yield the wanted columns of each row, in the order they are asked for."""
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".parquet"):
        return _read_parquet(path, columns)
    if name.endswith(".jsonl"):
        return _read_jsonl(path, columns)
    if name.endswith((".tsv", ".csv")):
        return _read_rows(path, columns)
    raise DataError(
        f"{path} is no table that jumok knows; a name ending in {', '.join(TABLE_SUFFIXES)} (or .gz) is needed."
    )


def _numbers(path: Path, columns: Columns, names: Sequence[str]) -> list[int]:
    """Return the numbers of columns given by number or name."""
    numbers = []
    for wanted in columns.values():
        if isinstance(wanted, str) and names.count(wanted) > 1:
            raise DataError(f"{path} has {names.count(wanted)} columns named {wanted!r}; rename all but one of them.")
        if isinstance(wanted, str) and wanted in names:
            numbers.append(names.index(wanted))
        elif isinstance(wanted, int) and 0 <= wanted < len(names):
            numbers.append(wanted)
        else:
            raise DataError(f"{path} has no column {wanted!r}; it has {_listed(names)}. Set {_joined(columns)}.")
    return numbers


def _joined(parts: Iterable[object]) -> str:
    *before, last = map(str, parts)
    return f"{', '.join(before)} and {last}" if before else last


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"{number} ({name})" for number, name in enumerate(names)) or "none"


def _read_rows(path: Path, columns: Columns) -> Iterator[tuple[str, ...]]:
    """Yield rows of a TSV (no quoting: a quotation mark is text) or CSV (quoted) file."""
    rows = _split_rows(path)
    if any(isinstance(wanted, str) for wanted in columns.values()):
        _, header = next(rows, (0, []))
        numbers = _numbers(path, columns, header)
    else:
        numbers = [int(wanted) for wanted in columns.values()]
    for number, row in rows:
        if min(numbers) < 0 or max(numbers) >= len(row):
            needed = f"columns {_joined(numbers)}, counted from 0, are" if numbers[1:] else f"column {numbers[0]} is"
            raise DataError(
                f"{path} line {number:,} has {len(row)} column{'s' * (len(row) != 1)} ({_shortened(row)}); {needed} "
                f"needed. Set {_joined(columns)}, or mend the line."
            )
        yield tuple(row[column] for column in numbers)


def _split_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and columns of each row that is not blank."""
    lines = read_lines(path)
    if path.name.lower().removesuffix(".gz").endswith(".tsv"):
        yield from ((number, line.split("\t")) for number, line in enumerate(lines, start=1) if line)
        return
    rows = csv.reader((line + "\n" for line in lines), strict=True)
    try:
        yield from ((rows.line_num, row) for row in rows if row)
    except csv.Error as error:
        raise DataError(f"{path} line {rows.line_num:,} cannot be read as a row ({error}); mend the line.") from None


def _shortened(row: Sequence[str]) -> str:
    text = " | ".join(row)
    return text if len(text) <= 60 else text[:57] + "…"


def _read_jsonl(path: Path, columns: Columns) -> Iterator[tuple[str, ...]]:
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise DataError(f"{path} line {number:,} is no JSON ({error}); each line must be one object.") from None
        if not isinstance(row, dict):
            raise DataError(
                f'{path} line {number:,} is no JSON object: {line[:60]}; each line must be like {{"en": …}}.'
            )
        names = list(row)
        place = Path(f"{path} line {number:,}")
        yield tuple(_as_text(row[names[column]], path, number) for column in _numbers(place, columns, names))


def _as_text(value: Any, path: Path, number: int) -> str:
    if value is None:
        return ""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    raise DataError(f"{path} row {number:,} holds {type(value).__name__} {str(value)[:40]!r}; text is needed.")


def _read_parquet(path: Path, columns: Columns) -> Iterator[tuple[str, ...]]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet", f"Reading {path.name}") from None
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            wanted = [names[column] for column in _numbers(path, columns, names)]
            for batch in file.iter_batches(batch_size=4096, columns=list(dict.fromkeys(wanted))):
                for row in zip(*(batch.column(name).to_pylist() for name in wanted), strict=True):
                    number += 1
                    yield tuple(_as_text(value, path, number) for value in row)
    except pyarrow.ArrowException as error:
        raise DataError(f"{path} is no readable Parquet file ({str(error).splitlines()[0]}); write it again.") from None
    except OSError as error:
        raise _unreadable(path, error) from None
