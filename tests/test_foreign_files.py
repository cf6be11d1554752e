"""Foreign files in one place: whatever is wrong with text, JSON, TOML, a log or a .gz ends in one sentence."""

import gzip
import json
import random
import time
import tomllib
from contextlib import suppress

import pytest

from jumok import reading
from jumok.errors import DataError, JumokError
from jumok.reading import (
    check_entries,
    is_kind,
    json_of,
    read_json,
    read_log,
    read_object,
    read_text,
    read_toml,
    toml_of,
    what_is_wrong,
)


def refuse(place, why):
    return DataError(f"{place}: {why}!")


@pytest.fixture
def file(tmp_path):
    """Return a writer of a file with some bytes."""

    def write(content, name="file.json"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_text_that_is_not_utf_8_is_told_with_its_line_and_byte(file):
    path = file(b"one\ntwo\nthr\xe9e\n")
    with pytest.raises(DataError) as told:
        read_text(path, refuse)
    assert str(told.value) == f"{path}: line 3 is not UTF-8: it holds the byte 0xE9!"
    with pytest.raises(DataError, match="it is in UTF-16; UTF-8 is needed"):
        read_text(file("넌".encode("utf-16")), refuse)
    assert read_text(file("\ufeffa".encode()), refuse) == "a", "a byte order mark is no text"
    with pytest.raises(DataError, match="No such file"):
        read_text(path.with_name("none"), refuse)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 50_000, "tables and lists stand more than 100 deep inside each other"),
        ("[" * 101 + "]" * 101, "tables and lists stand more than 100 deep inside each other"),
        ('{"a": ' + "7" * 5000 + "}", "a whole number has 5,000 digits"),
        ('{"a": -' + "7" * 301 + "}", "a whole number has 301 digits"),
        ('{"a" 1}', "column 6: Expecting ':' delimiter"),
        ('{"a": 1,\n"b"}', "line 2, column 4: Expecting ':' delimiter"),
        ("", "column 1: Expecting value"),
    ],
)
def test_json_that_cannot_be_read(file, text, why):
    with pytest.raises(DataError) as told:
        read_json(file(text), refuse)
    assert str(told.value).endswith(f"file.json: {why}!")


def test_json_as_deep_as_allowed_and_with_numbers_that_are_floats_too():
    assert json_of("[" * 100 + "]" * 100)
    assert float(json_of("9" * 300)) > 1e299
    assert json_of('["\\ud55c", "\\ud83d\\ude00", "a\\ud800", {"\\udc00": 1}]') == [
        "한",
        "😀",
        "a\ufffd",
        {"\ufffd": 1},
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a = " + "[" * 5000, "tables and lists stand more than 100 deep inside each other"),
        ("a = " + "[" * 150 + "]" * 150, "tables and lists stand more than 100 deep inside each other"),
        (".".join(["a"] * 50_000) + " = 1", "tables and lists stand more than 100 deep inside each other"),
        ("a = " + "7" * 5000, "a whole number has 5,000 digits"),
        ("a = [{b = 0x1" + "0" * 16 + "}]", "a whole number has 19 digits"),
        ("a = b", "Invalid value (at line 1, column 5)"),
    ],
)
def test_toml_that_cannot_be_read(file, text, why):
    started = time.perf_counter()
    with pytest.raises(DataError) as told:
        read_toml(file(text, "file.toml"), refuse)
    assert str(told.value).endswith(f"file.toml: {why}!")
    assert time.perf_counter() - started < 2


def test_toml_is_told_apart_from_what_is_none():
    assert toml_of(f"a = {2**63 - 1}\n" + ".".join(["b"] * 90) + " = 1")["a"] == 2**63 - 1
    with pytest.raises(tomllib.TOMLDecodeError):
        toml_of("a = b")


def test_a_gz_file_is_bounded(file, monkeypatch):
    path = file(gzip.compress(json.dumps("x" * 10_000).encode()), "file.json.gz")
    assert read_json(path, refuse) == "x" * 10_000
    monkeypatch.setattr(reading, "LARGEST", 9_000)
    monkeypatch.setattr(reading, "MOST_UNPACKED", 2)
    with pytest.raises(DataError, match=rf"its {path.stat().st_size} bytes unpack to more than 9,000!"):
        read_json(path, refuse)
    monkeypatch.setattr(reading, "LARGEST", 90_000)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match="a broken or cut-off gzip file: "):
        read_json(path, refuse)


def test_a_line_of_a_log_that_cannot_be_read_says_nothing(file):
    lines = [
        b'{"step": 1}',
        b'{"step": 2, "a": "\xff"}',
        b'{"step": ' + b"9" * 5000 + b"}",
        b"[" * 3000,
        b"[1]",
        b'{"st',
    ]
    found = list(read_log(file(b"\n".join(lines))))
    assert [row for _, row in found] == [{"step": 1}, {}, {}, {}, {}, {}]
    assert [line for line, _ in found][::5] == ['{"step": 1}', '{"st']
    assert list(read_log(file(b"").with_name("none"))) == []


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (int, [0, -5, 2**63 - 1], [True, 1.0, "1", None, 2**64]),
        (float, [0, 1.5, float("nan")], [True, "1", None]),
        (str, ["", "a"], [1, None]),
        (bool, [True], [0, "true"]),
        (int | None, [1, None], [1.5]),
        (list[str], [[], ["a"]], ["a", [1], {}]),
        (dict[str, int], [{}, {"a": 1}], [[], {"a": "b"}, None]),
        (list[dict[str, object]], [[{}], [{"a": 1}]], [[1], {}]),
    ],
)
def test_kinds_of_entries(kind, good, bad):
    assert all(is_kind(value, kind) for value in good)
    assert not any(is_kind(value, kind) for value in bad)


def test_entries_of_another_kind_are_told(file):
    kinds = {"heads": int, "names": list[str], "rate": float | None}
    check_entries({"heads": 1, "names": [], "rate": None, "more": 1}, kinds)
    check_entries({}, kinds, needed=())
    for content, why in [
        ({"names": [], "rate": 1}, "it has no 'heads'"),
        ({"heads": "8", "names": [], "rate": 1}, "'heads' is \"8\"; a whole number is needed"),
        ({"heads": 8, "names": [1], "rate": 1}, "'names' is a list; a list of texts is needed"),
        ({"heads": 8, "names": [], "rate": {}}, "'rate' is a JSON object; a number or null is needed"),
    ]:
        with pytest.raises(DataError) as told:
            read_object(file(json.dumps(content)), refuse, kinds, needed=None)
        assert str(told.value).endswith(f": {why}!")
    with pytest.raises(DataError, match="it holds a list; a JSON object is needed"):
        read_object(file("[]"), refuse)


def test_whatever_the_bytes_are_the_error_is_a_sentence(file):
    rng = random.Random(1)
    good = json.dumps({"a": [1, 2.5, None, "한국 \ud800"], "b": {"c": [True] * 9}}).encode() * 2
    for number in range(200):
        damaged = bytearray(good)
        for _ in range(rng.choice([1, 3, 30])):
            damaged[rng.randrange(len(damaged))] = rng.choice(b'\x00\xff[{}]",:9eE-\\u\n')
        path = file(bytes(damaged[: rng.randrange(1, len(damaged))]), f"{number % 2}.json")
        for read in (read_json, read_toml, read_object):
            with suppress(JumokError):
                read(path, refuse)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KeyError("maps.0.query"), "it has no 'maps.0.query'"),
        (IndexError("list index out of range"), "it ends too early, or a list in it is too short"),
        (TypeError("'int' object is not iterable"), "a value in it is of another kind than is needed"),
        (AttributeError("'int' object has no attribute 'get'"), "a value in it is of another kind than is needed"),
        (OverflowError("int too big to convert"), "a number in it is too large"),
        (ValueError("line 3 is odd\nand more"), "line 3 is odd"),
        (ValueError(""), "it cannot be read"),
    ],
)
def test_what_python_raises_is_told_in_words_of_ours(error, words):
    assert what_is_wrong(error) == words
