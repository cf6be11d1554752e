"""Foreign files, opened in one place: text, JSON, TOML, logs and what gzip unpacks; what is wrong is told in one sentence.

path → bytes, no more than a bound → UTF-8 → content, neither nested too deeply nor with endless numbers → entries of their kinds

Each reader is given a `refuse`, which makes an error of a place ("runs/a/run.json") and of what is wrong there, so that
every caller says in its own words what to do.
"""

import gzip
import json
import re
import tomllib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from pickle import UnpicklingError
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

DEEPEST = 100  # tables and lists inside each other
LONGEST_NUMBER = 300  # digits of a whole number: every such number is a float, too
LARGEST = 1 << 29  # bytes that any compressed file may unpack to
MOST_UNPACKED = 100  # times its size that a larger one may unpack to
LONGEST_LINE = 1 << 27  # bytes; text8, a corpus of one line, has 100 million
LONG_KEY = re.compile(
    rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){{{DEEPEST}}}"""
)  # a.b.c. … of TOML
LONE_HALF = re.compile("[\ud800-\udfff]")  # of a pair of surrogates: nothing that UTF-8 can write

WORDS = {  # what messages call kinds of values
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    NoneType: "null",
    list[str]: "a list of texts",
    list[int]: "a list of whole numbers",
    list[float]: "a list of numbers",
    dict[str, str]: "a JSON object of texts",
    dict[str, int]: "a JSON object of whole numbers",
    dict[str, float]: "a JSON object of numbers",
}

Refuse = Callable[[str, str], Exception]  # (place, what is wrong there) → the error to be raised
Kind = Any  # a type as annotations have it: int, list[str], dict[str, float], str | None


# --- bytes


def is_packed(path: Path) -> bool:
    """Return whether a file's name says that gzip has packed it."""
    return path.suffix.lower() == ".gz"


def open_packed(path: Path) -> gzip.GzipFile | BufferedReader:
    """Open a file, plain or .gz, for reading its bytes piece by piece."""
    return gzip.open(path, "rb") if is_packed(path) else open(path, "rb")


def most_bytes(path: Path) -> int:
    """Return how many bytes a compressed file may unpack to: a few bytes of gzip can hold gigabytes of zeros."""
    return max(LARGEST, MOST_UNPACKED * path.stat().st_size)


@contextmanager
def opened(path: Path, refuse: Refuse) -> Iterator[gzip.GzipFile | BufferedReader]:
    """Open a file, plain or .gz, for its bytes; what is wrong with it is refused, while it is read, too."""
    try:
        with open_packed(path) as file:
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise refuse(str(path), f"a broken or cut-off gzip file: {error}") from None
    except OSError as error:
        raise refuse(str(path), error.strerror or str(error)) from None
    except MemoryError:
        raise refuse(str(path), "there is not enough memory to read it") from None


def read_bytes(path: Path, refuse: Refuse) -> bytes:
    """Return the contents of a file, plain or .gz."""
    with opened(path, refuse) as file:
        if not is_packed(path):
            return file.read()
        most = most_bytes(path)
        content = file.read(most + 1)
    if len(content) > most:
        raise refuse(str(path), too_large(path, most))
    return content


def too_large(path: Path, most: int) -> str:
    """Return what is wrong with a compressed file that unpacks to more than most bytes."""
    return f"its {path.stat().st_size:,} bytes unpack to more than {most:,}"


# --- text


def read_text(path: Path, refuse: Refuse) -> str:
    """Return the text of a file in UTF-8, plain or .gz; a byte order mark is left out."""
    content = read_bytes(path, refuse)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise refuse(str(path), "it is in UTF-16; UTF-8 is needed")
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise refuse(str(path), f"line {line:,} is not UTF-8: it holds the byte 0x{content[error.start]:02X}") from None
    except MemoryError:
        raise refuse(str(path), "there is not enough memory to read it") from None


# --- JSON


def json_of(text: str) -> Any:
    """Return what a JSON text says; a ValueError says what is wrong with it."""
    try:
        content = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno:,}, " if "\n" in text.strip() else ""
        raise ValueError(f"{line}column {error.colno:,}: {error.msg}") from None
    except RecursionError:
        raise ValueError(_too_deep()) from None
    except MemoryError:
        raise ValueError("there is not enough memory to read it") from None
    if text.count("[") + text.count("{") > DEEPEST:
        _check_depth(content)
    return _whole_letters(content) if "\\ud" in text or "\\uD" in text else content


def _whole_number(digits: str) -> int:
    if (count := len(digits.lstrip("-"))) > LONGEST_NUMBER:
        raise ValueError(_too_long(count))
    return int(digits)


_DECODER = json.JSONDecoder(parse_int=_whole_number)


def read_json(path: Path, refuse: Refuse) -> Any:
    """Return the content of a JSON file, plain or .gz."""
    text = read_text(path, refuse)
    try:
        return json_of(text)
    except ValueError as error:
        raise refuse(str(path), str(error)) from None


def read_object(
    path: Path, refuse: Refuse, kinds: Mapping[str, Kind] | None = None, needed: Iterable[str] | None = ()
) -> dict[str, Any]:
    """Return the entries of a JSON file, plain or .gz, of these kinds, where it has those that are needed."""
    content = read_json(path, refuse)
    try:
        if not isinstance(content, dict):
            raise ValueError(f"it holds {words_for_value(content)}; {words_for(dict[str, Any])} is needed")
        check_entries(content, kinds or {}, needed)
    except ValueError as error:
        raise refuse(str(path), str(error)) from None
    return content


def read_log(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the lines of a log of JSON objects, and what each says: nothing, where a kill cut it off or it is damaged."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        while raw := file.readline(LONGEST_LINE):
            try:
                line = raw.decode("utf-8")
                row = json_of(line)
            except ValueError:  # which an error of decoding is, too
                line, row = raw.decode("utf-8", errors="replace"), {}
            yield line.removesuffix("\n"), row if isinstance(row, dict) else {}


def _whole_letters(content: Any) -> Any:
    r"""Return content with � for halves of letters: JSON may hold "\ud800", which no UTF-8 can."""
    if isinstance(content, str):
        return LONE_HALF.sub("\ufffd", content)
    if isinstance(content, list):
        return [_whole_letters(inner) for inner in content]
    if isinstance(content, dict):
        return {_whole_letters(key): _whole_letters(inner) for key, inner in content.items()}
    return content


# --- TOML


def toml_of(text: str) -> dict[str, Any]:
    """Return what a TOML text says; a ValueError says what is wrong, a TOMLDecodeError where it is none at all."""
    if LONG_KEY.search(text):  # the library takes the square of their number
        raise ValueError(_too_deep())
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError(_too_deep()) from None
    except ValueError:  # what Python says where a whole number is too long; a date that does not exist is one, too
        digits = max((len(found) for found in re.findall(r"\d+", text.replace("_", ""))), default=0)
        raise ValueError(
            _too_long(digits) if digits > LONGEST_NUMBER else "a date or time that does not exist"
        ) from None
    _check_depth(content, longest=63)
    return content


def read_toml(path: Path, refuse: Refuse) -> dict[str, Any]:
    """Return the content of a TOML file."""
    text = read_text(path, refuse)
    try:
        return toml_of(text)
    except ValueError as error:
        raise refuse(str(path), str(error)) from None


def _check_depth(content: Any, *, longest: int = 0) -> None:
    """Raise a ValueError where content is nested too deeply, or has a whole number of more than longest bits (0: any)."""
    level = [content] if isinstance(content, dict | list) else []
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for one in level:
            values: Iterable[Any] = one.values() if isinstance(one, dict) else one
            inner += [value for value in values if isinstance(value, dict | list)]
            for value in values if longest else ():
                if isinstance(value, int) and value.bit_length() > longest:
                    raise ValueError(_too_long(max(1, value.bit_length() * 30103 // 100000)))
        if not inner:
            return
        level = inner
    raise ValueError(_too_deep())


def _too_deep() -> str:
    return f"tables and lists stand more than {DEEPEST} deep inside each other"


def _too_long(digits: int) -> str:
    return f"a whole number has {digits:,} digits"


# --- entries


def what_is_wrong(error: BaseException) -> str:
    """Return in plain words what an exception says of the file that was read: classes of Python are nobody's words."""
    said = str(error).partition("\n")[0]
    if isinstance(error, KeyError) and error.args:
        return f"it has no '{error.args[0]}'"
    if isinstance(error, IndexError):
        return "it ends too early, or a list in it is too short"
    if isinstance(error, OverflowError):
        return "a number in it is too large"
    if isinstance(error, TypeError | AttributeError):
        return "a value in it is of another kind than is needed"
    if isinstance(error, UnpicklingError):
        return "it is cut off, or holds more than tensors"
    return said[:200] or "it cannot be read"


def check_entries(content: Mapping[str, Any], kinds: Mapping[str, Kind], needed: Iterable[str] | None = None) -> None:
    """Raise a ValueError where an entry is not of its kind, or one of those needed (None: of all) is missing."""
    for name in kinds if needed is None else needed:
        if name not in content:
            raise ValueError(f"it has no '{name}'")
    for name, kind in kinds.items():
        if name in content and not is_kind(content[name], kind):
            raise ValueError(f"'{name}' is {words_for_value(content[name])}; {words_for(kind)} is needed")


def is_kind(value: Any, kind: Kind) -> bool:
    """Return whether a value is what an annotation says; whole numbers of more than 64 bits are of no kind."""
    origin: Any = get_origin(kind)
    parts = get_args(kind)
    if origin in (Union, UnionType):
        return any(is_kind(value, part) for part in parts)
    if origin is list:
        return isinstance(value, list) and all(is_kind(inner, parts[0]) for inner in value)
    if origin is dict:
        return isinstance(value, dict) and all(is_kind(inner, parts[1]) for inner in value.values())
    if kind is Any:
        return True
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and value.bit_length() < 64
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    assert isinstance(kind, type), kind
    return isinstance(value, kind)


def words_for(kind: Kind) -> str:
    """Return what a message calls a kind of value."""
    origin: Any = get_origin(kind)
    parts = get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(words_for(part) for part in parts)
    if origin in (list, dict):
        return WORDS.get(kind, "a list" if origin is list else "a JSON object")
    return WORDS[kind]


def words_for_value(value: Any) -> str:
    """Return what a message calls a value."""
    if isinstance(value, dict | list):
        return "a JSON object" if isinstance(value, dict) else "a list"
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return shown if len(shown) <= 40 else f"{shown[:39]}…"
