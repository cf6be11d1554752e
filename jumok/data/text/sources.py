"""Where text comes from: a recipe's corpora as pairs, documents, or texts with classes.

Corpus (of a recipe) → find → read_pairs → (source, target) strings, streamed → tidy
TextFile → find → read_documents → strings, their line breaks kept → clean
Whatever is wrong with a file ends in a DataError that says what to do; rows are never skipped in silence.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import numpy as np

from jumok.config import Corpus, LabelledFile, TextFile
from jumok.config.text_data import MADE
from jumok.data.files import Find, read_lines
from jumok.data.tables import is_table, read_columns
from jumok.errors import ConfigError, DataError, did_you_mean

Pair = tuple[str, str]
TEXT_SUFFIXES = (".txt", ".text", ".md")  # of running text in a folder
BUILT_IN = Path(__file__).parents[1] / "builtin"
TABLES = {"phrasebook": BUILT_IN / "phrasebook.tsv"}  # built-in, with columns en and ko
COLUMNS_OF_KOREAN = ("ko", "en")
# Control characters that are no whitespace, and halves of surrogate pairs (JSON can smuggle them in).
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")


def tidy(text: str, lowercase: bool = False) -> str:
    """Return text in NFC, without control characters, every run of whitespace as one space, stripped."""
    text = _CONTROL.sub("", text).replace("\ufeff", " ")
    text = unicodedata.normalize("NFC", text.lower() if lowercase else text)
    return " ".join(text.split())


def clean(text: str, lowercase: bool = False) -> str:
    """Return text in NFC, without control characters; spaces and line breaks stay as they are."""
    text = _CONTROL.sub("", text).replace("\ufeff", "")
    return unicodedata.normalize("NFC", text.lower() if lowercase else text)


def read_pairs(corpus: Corpus, find: Find) -> Iterator[Pair]:
    """Yield the (source, target) pairs of a corpus as they stand in its files, or backwards where it says so."""
    pairs = _as_they_stand(corpus, find)
    yield from ((target, source) for source, target in pairs) if corpus.swap else pairs


def files_of(corpus: Corpus, find: Find) -> list[Path]:
    """Return the files that a corpus is read from: its table, or those of source and target."""
    if corpus.is_made:
        from jumok.data.builtin import korean

        return korean.grammar_files()
    if corpus.set:
        if corpus.set not in TABLES:
            known = [*TABLES, *MADE]
            raise ConfigError(f"set = '{corpus.set}' is no built-in table; {did_you_mean(corpus.set, known)}")
        return [TABLES[corpus.set]]
    return [find(name) for name in ([corpus.file] if corpus.file else [corpus.source, corpus.target])]


def _as_they_stand(corpus: Corpus, find: Find) -> Iterator[Pair]:
    if corpus.is_made:
        yield from _made(corpus)
        return
    path, *target_file = files_of(corpus, find)
    if target_file:
        yield from _read_two_files(path, target_file[0])
        return
    count = 0
    columns = {"source_column": corpus.source_column, "target_column": corpus.target_column}
    for source, target in read_columns(path, columns):
        count += 1
        yield source, target
    if not count:
        raise DataError(f"{path} holds no pairs; a table with at least one row is needed.")


def _made(corpus: Corpus) -> Iterator[Pair]:
    """Yield pairs of the set `korean`; column 0, or ko, is Korean, column 1, or en, is English."""
    from jumok.data.builtin import korean

    sides: list[int] = []
    for key, column in (("source_column", corpus.source_column), ("target_column", corpus.target_column)):
        side = COLUMNS_OF_KOREAN.index(column) if column in COLUMNS_OF_KOREAN else column
        if side not in (0, 1):
            raise ConfigError(f"{key} = '{column}': the set '{corpus.set}' has the columns 0 (ko) and 1 (en)")
        sides.append(int(side))
    source, target = sides
    for pair in korean.pairs(corpus.split, corpus.size):
        yield pair[source], pair[target]


def text_files(path: Path) -> list[Path]:
    """Return the files of running text: the file itself, or all text files inside a folder, in order."""
    if not path.is_dir():
        return [path]
    found = [file for file in path.rglob("*") if file.name.lower().removesuffix(".gz").endswith(TEXT_SUFFIXES)]
    if not found:
        raise DataError(f"{path} holds no text; files ending in {', '.join(TEXT_SUFFIXES)} (or .gz) are looked for.")
    return sorted(file for file in found if file.is_file())


def read_documents(file: TextFile, find: Find, *, documents: str) -> Iterator[str]:
    """Yield the documents of plain text (each file, its paragraphs or its lines) or of a table's column (its rows)."""
    for path in text_files(find(file.file)):
        yield from _documents_of(path, file, documents)


def _documents_of(path: Path, file: TextFile, documents: str) -> Iterator[str]:
    if is_table(path):
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


def read_labelled(file: LabelledFile, find: Find) -> Iterator[tuple[str, str, str]]:
    """Yield text, second text (empty where there is none) and class of each row of a table."""
    path = find(file.file)
    columns = {"text": file.text, "second": file.second, "label": file.label}
    if file.second == "":
        del columns["second"]
    for text, *second, label in read_columns(path, columns):
        if not label.strip():
            raise DataError(f"{path}: the text {text[:40]!r} has no class; give it one, or take the row out.")
        yield text, "".join(second), label


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
