"""Readers give back what was written, and whatever is wrong with a file ends in a sentence with a cure."""

import csv
import gzip
import hashlib
import json
import random
import re
import sys
import unicodedata
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jumok.config import Corpus, TextFile
from jumok.data import files
from jumok.data.files import content_hash, find_file, read_blocks, read_lines
from jumok.data.text.sources import read_documents, read_pairs, tidy
from jumok.errors import DataError, MissingExtraError

few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
line_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\0\r"), max_size=20)


def pairs_of(folder, **corpus):
    return list(read_pairs(Corpus(**corpus), folder.joinpath))


# --- finding


def test_the_first_folder_that_holds_a_file_wins(tmp_path):
    for name in ("b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.txt").write_text(name)
    folders = [tmp_path / name for name in ("a", "b", "c")]
    assert find_file("x.txt", folders) == tmp_path / "b" / "x.txt"
    assert find_file(str(tmp_path / "c" / "x.txt"), []) == tmp_path / "c" / "x.txt"


def test_a_missing_file_names_every_place_and_the_cure(tmp_path):
    with pytest.raises(DataError) as error:
        find_file("x.txt", [tmp_path / "a", tmp_path / "b"])
    for part in ("x.txt", str(tmp_path / "a"), str(tmp_path / "b"), "--data FOLDER"):
        assert part in str(error.value)
    assert "fetch" not in str(error.value)  # nobody knows whether there is such a set


def test_a_folder_of_texts_is_read_file_by_file(tmp_path):
    folder = tmp_path / "texts" / "inner"
    folder.mkdir(parents=True)
    (folder / "b.txt").write_text("two\n\nthree\n", encoding="utf-8")
    (folder.parent / "a.md").write_text("one\n", encoding="utf-8")
    (folder.parent / "c.txt.gz").write_bytes(gzip.compress(b"four\n"))
    (folder.parent / "notes.csv").write_text("not, read\n", encoding="utf-8")
    found = list(read_documents(TextFile(file=str(tmp_path / "texts")), Path, documents="file"))
    assert found == ["one\n", "four\n", "two\n\nthree\n"]
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DataError, match=r"empty holds no text; files ending in .txt, .text, .md"):
        list(read_documents(TextFile(file=str(empty)), Path, documents="file"))


# --- lines


@few
@given(st.lists(line_text, min_size=1, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_lines_come_back_whatever_unicode_they_hold(tmp_path, lines, end, zipped, marked):
    content = b"\xef\xbb\xbf" * marked + "".join(line + end for line in lines).encode()
    if lines[0].startswith("\ufeff"):
        lines[0] = lines[0] if marked else lines[0][1:]
    path = tmp_path / ("x.txt.gz" if zipped else "x.txt")
    path.write_bytes(gzip.compress(content) if zipped else content)
    assert list(read_lines(path)) == lines


def test_only_line_feeds_end_a_line_and_the_last_needs_none(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes("a\u2028b\x0bc\x85d\re\r\nlast".encode())
    assert list(read_lines(path)) == ["a\u2028b\x0bc\x85d\re", "last"]


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", ["x.txt", "x.txt.gz"])
def test_an_empty_file_is_an_error(tmp_path, content, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(DataError, match=r"x\.txt.* is empty"):
        list(read_lines(path))


def test_one_empty_line_is_not_an_empty_file(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(b"\xef\xbb\xbf\n")
    assert list(read_lines(path)) == [""]


def test_a_binary_file_is_an_error(tmp_path):
    path = tmp_path / "x.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0")
    with pytest.raises(DataError, match="is a binary file"):
        list(read_lines(path))
    path.write_bytes(b"fine\nab\0\0c\n")
    with pytest.raises(DataError, match=r"binary file \(line 2 holds NUL bytes\)"):
        list(read_lines(path))


@pytest.mark.parametrize(
    ("encoding", "text", "line", "guess", "converter"),
    [
        ("latin-1", "plain\nschön\n", 2, "Latin-1", "iconv -f LATIN1 -t UTF-8"),
        ("cp949", "plain\n\n주목 하세요\n", 3, "CP949", "iconv -f CP949 -t UTF-8"),
        ("utf-16", "hello\nyou\n", 1, "UTF-16", "iconv -f UTF-16 -t UTF-8"),
        ("utf-16-le", "hello\nyou\n", 1, "UTF-16LE", "iconv -f UTF-16LE -t UTF-8"),
        ("utf-16-be", "hello\nyou\n", 1, "UTF-16BE", "iconv -f UTF-16BE -t UTF-8"),
    ],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_a_wrong_encoding_is_guessed_and_cured(tmp_path, encoding, text, line, guess, converter, zipped):
    path = tmp_path / ("x.txt.gz" if zipped else "x.txt")
    content = text.encode(encoding)
    path.write_bytes(gzip.compress(content) if zipped else content)
    with pytest.raises(DataError) as error:
        list(read_lines(path))
    message = str(error.value)
    assert f"line {line}" in message
    assert guess in message
    assert converter in message
    assert ("gunzip" in message) == zipped


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-9], lambda b: b[:40] + b"\xff" * 9 + b[49:], lambda b: b"no gzip at all"]
)
def test_a_broken_gzip_is_an_error(tmp_path, damage):
    path = tmp_path / "x.gz"
    path.write_bytes(damage(gzip.compress(random.Random(1).randbytes(99).hex().encode() + b"\n")))
    with pytest.raises(DataError, match="broken or cut-off gzip"):
        list(read_lines(path))


def test_folders_and_missing_files_are_errors(tmp_path):
    with pytest.raises(DataError, match="is a folder"):
        list(read_lines(tmp_path))
    with pytest.raises(DataError, match="does not exist"):
        list(read_lines(tmp_path / "none"))


# --- two files


def write_lines(path, lines):
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="")


def test_two_files_give_pairs_line_by_line(tmp_path):
    write_lines(tmp_path / "x.en", ["a", "", "c"])
    write_lines(tmp_path / "x.de", ["A", "B", ""])
    assert pairs_of(tmp_path, source="x.en", target="x.de") == [("a", "A"), ("", "B"), ("c", "")]


def sentences(seed, count):
    chance = random.Random(seed)
    lengths = [chance.randint(3, 90) for _ in range(count)]
    return ["s" * n for n in lengths], ["t" * round(n * chance.uniform(1.1, 1.4)) for n in lengths]


@pytest.mark.parametrize("missing", [7, 53, 151])
@pytest.mark.parametrize("flipped", [False, True])
def test_unequal_files_say_where_they_part(tmp_path, missing, flipped):
    source, target = sentences(missing, 199)
    del target[missing - 1]
    names = ("x.de", "x.en") if flipped else ("x.en", "x.de")
    write_lines(tmp_path / names[0], source)
    write_lines(tmp_path / names[1], target)
    with pytest.raises(DataError) as error:
        pairs_of(tmp_path, source="x.en", target="x.de")
    counts = (198, 199) if flipped else (199, 198)
    assert f"x.en has {counts[0]} lines and x.de {counts[1]}" in str(error.value)
    hint = str(error.value).splitlines()[1]
    assert hint.startswith("Line ")
    assert f"of {names[1]} is where they stop matching" in hint
    assert abs(int(hint.split()[1]) - missing) <= 3


def test_a_cut_off_end_is_called_that(tmp_path):
    source, target = sentences(5, 101)
    write_lines(tmp_path / "x.en", source)
    write_lines(tmp_path / "x.de", target[:89])
    with pytest.raises(DataError, match=r"up to the last line of x\.de: its end seems to be missing"):
        pairs_of(tmp_path, source="x.en", target="x.de")


# --- tables


cell = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n\t"), min_size=1, max_size=12).map(
    lambda text: text.lstrip("\ufeff") or "x"
)
rows = st.lists(st.tuples(cell, cell, cell), min_size=1, max_size=5)


@few
@given(rows)
def test_every_table_gives_back_its_rows(tmp_path, rows):
    header = ("id", "en", "ko")
    write_lines(tmp_path / "x.tsv", ["\t".join(row) for row in [header, *rows]])
    with open(tmp_path / "x.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    objects = [json.dumps(dict(zip(header, row, strict=True))) for row in rows]
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress("\n".join(objects).encode()))
    table = pyarrow.table({name: [row[i] for row in rows] for i, name in enumerate(header)})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    expected = [(row[1], row[2]) for row in rows]
    for name in ("x.tsv", "x.csv", "x.jsonl.gz", "x.parquet"):
        assert pairs_of(tmp_path, file=name, source_column="en", target_column="ko") == expected, name
        numbered = pairs_of(tmp_path, file=name, source_column=1, target_column=2)
        assert numbered[-len(rows) :] == expected, name
        assert len(numbered) == len(rows) + (name in ("x.tsv", "x.csv"))  # without names the header is a row


def test_quotation_marks_are_text_in_tsv_and_quotes_in_csv(tmp_path):
    write_lines(tmp_path / "x.tsv", ['"a\tb"', 'c""\td'])
    assert pairs_of(tmp_path, file="x.tsv") == [('"a', 'b"'), ('c""', "d")]
    write_lines(tmp_path / "x.csv", ['"a, ""b""\nc",d', "", "e,f"])
    assert pairs_of(tmp_path, file="x.csv") == [('a, "b"\nc', "d"), ("e", "f")]


@pytest.mark.parametrize(
    ("name", "content", "columns", "message"),
    [
        ("x.tsv", "a\tb\nc\n", (0, 1), r"line 2 has 1 column \(c\); columns 0 and 1"),
        ("x.csv", "a,b\n", (0, 2), "line 1 has 2 columns"),
        ("x.csv", 'a,b\n"c,d\n', (0, 1), "line 2 cannot be read as a row"),
        ("x.tsv", "en\tde\na\tb\n", ("en", "fr"), r"no column 'fr'; it has 0 \(en\), 1 \(de\)"),
        ("x.tsv", "en\tde\n", ("en", "de"), "holds no pairs"),
        ("x.jsonl", '{"a": "1"}\n{oops\n', ("a", "a"), "line 2 is no JSON"),
        ("x.jsonl", "[1, 2]\n", (0, 1), "line 1 is no JSON object"),
        ("x.jsonl", '{"a": "1"}\n', ("a", "b"), r"line 1 has no column 'b'; it has 0 \(a\)"),
        ("x.jsonl", '{"a": [1], "b": "2"}\n', ("a", "b"), "row 1 holds list '\\[1\\]'; text is needed"),
        ("x.parquet", "PAR1 is not enough", (0, 1), "is no whole Parquet file; write it again"),
        ("x.txt", "a\tb\n", (0, 1), r"no table that jumok knows; a name ending in \.tsv"),
    ],
)
def test_a_broken_table_says_what_is_wrong(tmp_path, name, content, columns, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        pairs_of(tmp_path, file=name, source_column=columns[0], target_column=columns[1])


def test_parquet_without_its_columns_or_pyarrow_is_an_error(tmp_path, monkeypatch):
    pyarrow.parquet.write_table(pyarrow.table({"en": ["a", None], "n": [1, 2]}), tmp_path / "x.parquet")
    assert pairs_of(tmp_path, file="x.parquet") == [("a", "1"), ("", "2")]
    with pytest.raises(DataError, match=r"no column 'ko'; it has 0 \(en\), 1 \(n\)"):
        pairs_of(tmp_path, file="x.parquet", target_column="ko")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"jumok\[parquet\]"):
        pairs_of(tmp_path, file="x.parquet")


# --- text


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(codec=None, exclude_categories=[])), st.booleans())
def test_tidy_text_is_normal_and_stays_as_it_is(text, lowercase):
    once = tidy(text, lowercase)
    assert tidy(once, lowercase) == once
    assert once == unicodedata.normalize("NFC", once)
    assert once == " ".join(once.split())
    assert not any(unicodedata.category(letter) in ("Cc", "Cs") or letter in "\ufeff\xa0" for letter in once)


def test_tidy_keeps_what_is_text():
    assert tidy("\ufeff a\xa0\u3000b\r\n\tc\x00d ") == "a b cd"
    assert tidy("한국어 nai\u0308ve") == "한국어 naïve"
    assert tidy("क्\u200dष 👩\u200d🚀") == "क्\u200dष 👩\u200d🚀"  # joiners carry meaning
    assert tidy("ÄB", lowercase=True) == "äb"
    assert tidy("ÄB") == "ÄB"


def test_the_content_hash_sees_every_byte_and_where_files_part(tmp_path):
    for name, content in {"a": b"12", "b": b"3", "c": b"1", "d": b"23"}.items():
        (tmp_path / name).write_bytes(content)
    a, b, c, d = (tmp_path / name for name in "abcd")
    assert content_hash([a]) == hashlib.sha256(b"12").hexdigest()
    assert len({content_hash(paths) for paths in ([a], [a, b], [b, a], [c, d], [b])}) == 5
    with pytest.raises(DataError, match="does not exist"):
        content_hash([tmp_path / "none"])


def test_where_lengths_tell_nothing_the_end_is_taken_for_missing(tmp_path):
    for name, lines in (("long", 3), ("short", 2)):
        (tmp_path / name).write_text("a b\n" * lines, encoding="utf-8")
    with pytest.raises(
        DataError, match="They match in length up to the last line of short: its end seems to be missing"
    ):
        list(read_pairs(Corpus(source="long", target="short"), tmp_path.joinpath))


@pytest.mark.parametrize("end", ["", ".gz"])
def test_a_line_without_an_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch, end):
    path = tmp_path / f"long.tsv{end}"
    write = gzip.compress if end else bytes
    monkeypatch.setattr(files, "LONGEST_LINE", 1000)
    path.write_bytes(write(b"a\tb\n" + b"x" * 999 + b"\n" + b"y" * 999))
    assert len(list(read_lines(path))) == 3
    assert b"".join(block for _, block in read_blocks(path, 64)) == b"a\tb\n" + b"x" * 999 + b"\n" + b"y" * 999 + b"\n"
    path.write_bytes(write(b"a\tb\n" + b"x" * 1100 + b"\ny\n"))
    message = rf"long\.tsv{re.escape(end)} line 2 has more than 1,000 bytes; lines of text are needed, of which none is longer\."
    with pytest.raises(DataError, match=message):
        list(read_lines(path))
    with pytest.raises(DataError, match=message):
        list(read_blocks(path, 64))
