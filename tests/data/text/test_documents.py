"""Running text: the store holds what the files say, document by document, and what is wrong is said clearly."""

import gzip
import json
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from jumok.config import TextData, TokenizerConfig
from jumok.data.fetch import DOWNLOADS
from jumok.data.text import documents
from jumok.data.text.documents import BUILT_IN, FEW, TextCorpora, TextStore, build_text_store
from jumok.data.text.sources import clean
from jumok.data.text.tokenizer import END, SPECIALS, Tokenizer
from jumok.errors import ConfigError, DataError

few = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
BYTES = Tokenizer.train(["any"], TokenizerConfig(kind="byte"))
LINES = ["One, two!", "  drei  vier", "넌 누구니? 👩\u200d🚀", 'five "six"', "\t7\u2028eight"]


def corpora(place, *, given=BYTES, **data):
    """Return the corpora of files in a place; val is the same file where nothing else is said, so all of it is train."""
    val = {} if "set" in data or not data.get("train") else {"val": data["train"]}
    return TextCorpora(TextData(**(val | data)), TokenizerConfig(kind="byte"), [place], given=given)


def texts_of(store, tokenizer=BYTES):
    """Return the documents of a store, read back from its ids."""
    assert store.ids[0] == END
    ends = [*store.starts[1:].tolist(), len(store.ids)]
    assert all(store.ids[end - 1] == END for end in ends)
    return [tokenizer.decode(store.ids[start : end - 1]) for start, end in zip(store.starts, ends, strict=True)]


def write(folder, name, text):
    content = text.encode()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return name


# --- what is stored is what was written


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
@example(" ")
@example(" a")
@example("[END][PAD]")
@example("\r\n\0\u2028")
def test_bytes_give_back_any_text(text):
    (ids,) = BYTES.encode([text])
    assert BYTES.decode(ids) == text
    assert len(ids) == len(text.encode()) + (text != "")  # a space stands before every text
    assert all(len(SPECIALS) <= token < len(BYTES) == 260 for token in ids)


@few
@given(st.lists(st.text(st.characters(codec=None, exclude_categories=[])), min_size=1, max_size=6), st.booleans())
def test_a_store_holds_every_document_that_says_something(tmp_path, texts, lowercase):
    kept = [text for text in (clean(text, lowercase) for text in texts) if text.strip()]
    assume(kept)
    write(tmp_path, "x.jsonl", "\n".join(json.dumps({"id": 3, "text": text}) for text in texts))
    store = corpora(tmp_path, train=[{"file": "x.jsonl", "column": "text"}], lowercase=lowercase).train
    assert texts_of(store) == kept
    assert store.documents == len(kept)
    assert store.characters == sum(map(len, kept))
    assert store.bytes == sum(len(text.encode()) for text in kept)
    assert store.tokens == len(store.ids) - 1 == sum(len(text.encode()) + 2 for text in kept)


@pytest.mark.parametrize("zipped", ["", ".gz"])
@pytest.mark.parametrize("kind", ["txt", "tsv", "csv", "jsonl"])
def test_plain_text_and_tables_say_the_same(tmp_path, kind, zipped):
    lines = [line.replace("\t", " ") for line in LINES]
    quoted = ["" + '"{}"'.format(line.replace('"', '""')) + ",x" for line in lines]
    content = {
        "txt": lines,
        "tsv": ["said\tid", *(f"{line}\tx" for line in lines)],
        "csv": ["said,id", *quoted],
        "jsonl": [json.dumps({"id": 1, "said": line}) for line in lines],
    }[kind]
    name = write(tmp_path, f"x.{kind}{zipped}", "\n".join(content) + "\n")
    file = name if kind == "txt" else {"file": name, "column": "said"}
    assert texts_of(corpora(tmp_path, train=file, documents="line").train) == lines


def test_a_table_without_a_head_is_read_by_number_and_the_first_column_is_usual(tmp_path):
    write(tmp_path, "x.tsv", "a b\tc\nd\te\n")
    assert texts_of(corpora(tmp_path, train="x.tsv").train) == ["a b", "d"]
    assert texts_of(corpora(tmp_path, train=[{"file": "x.tsv", "column": 1}]).train) == ["c", "e"]
    write(tmp_path, "x.jsonl", '{"said": "a", "id": "b"}\n\n{"said": null}\n{"said": 7}\n')
    assert texts_of(corpora(tmp_path, train="x.jsonl").train) == ["a", "7"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("file", ["\na\n b \n\n\n \nc\n\td\n"]),
        ("paragraph", ["a\n b ", "c\n\td"]),
        ("line", ["a", " b ", "c", "\td"]),
    ],
)
@pytest.mark.parametrize("end", ["", "\n", "\r\n"], ids=repr)
def test_a_document_is_a_file_a_paragraph_or_a_line(tmp_path, kind, expected, end):
    text = "\na\n b \n\n\n \nc\n\td"
    write(tmp_path, "x.txt", text.replace("\n", end or "\n") + end)
    assert texts_of(corpora(tmp_path, train="x.txt", documents=kind).train) == expected


def test_many_files_follow_each_other_and_no_document_spans_two(tmp_path):
    names = [
        write(tmp_path, "b.txt", "b\nbb"),
        write(tmp_path, "a.txt.gz", "a\n"),
        write(tmp_path, "c.jsonl", '{"x": 1}'),
    ]
    assert texts_of(corpora(tmp_path, train=names).train) == ["b\nbb\n", "a\n", "1"]
    assert texts_of(corpora(tmp_path, train=names, documents="paragraph").train) == ["b\nbb", "a", "1"]


def test_each_word_begins_once(tmp_path):
    write(tmp_path, "x.txt", "one twenty three\nfour\n여섯 일곱\n")
    store = corpora(tmp_path, train="x.txt", documents="line").train
    ends = [*(store.starts[1:] - 1).tolist(), len(store.ids) - 1]
    words = [int(store.words[start:end].sum()) for start, end in zip(store.starts, ends, strict=True)]
    assert words == [3, 1, 2]
    assert store.words[store.starts].all()
    assert store.words[store.ids == END].all()


def test_the_files_of_a_split_go_by_their_names(tmp_path):
    (tmp_path / "in").mkdir()
    write(tmp_path, "in/x.txt", "ex")
    write(tmp_path, "y.txt", "why")
    data = {"train": "in/x.txt", "val": ["in/x.txt", {"file": "y.txt", "name": "other"}]}
    found = corpora(tmp_path, **data).evaluation("val")
    assert {label: texts_of(store) for label, store in found.items()} == {"x.txt": ["ex\n"], "other": ["why\n"]}
    with pytest.raises(
        DataError, match=r'the recipe has no test data; add test = "FILE" to \[data\], or give --source'
    ):
        corpora(tmp_path, **data).evaluation("test")


def test_a_built_in_set_brings_its_own_splits(tmp_path, monkeypatch):
    monkeypatch.setitem(BUILT_IN, "tiny", lambda split: [f"{split} one", f"{split} two"])
    found = corpora(tmp_path, set="tiny")
    assert texts_of(found.train) == ["train one", "train two"]
    for split in ("val", "test"):
        assert texts_of(found.evaluation(split)["tiny"]) == [f"{split} one", f"{split} two"]


# --- holding out


@few
@given(
    st.lists(st.text("ab 가\n", min_size=30, max_size=90), min_size=1, max_size=FEW - 1),
    st.sampled_from([0.05, 0.3, 0.8]),
)
def test_of_few_documents_the_end_of_each_is_held_out(tmp_path, texts, share):
    texts = [f"x{text}y" for text in texts]
    write(tmp_path, "x.jsonl", "\n".join(json.dumps({"text": text}) for text in texts))
    divided = corpora(tmp_path, train="x.jsonl", val=[], hold_out=share)
    train, held_out = texts_of(divided.train), texts_of(divided.evaluation("val")["held out"])
    assert "".join(a + b for a, b in zip(train, held_out, strict=True)) == "".join(texts)
    for before, after in zip(train, held_out, strict=True):
        whole = before + after
        assert share * len(whole) <= len(after) <= 2 * share * len(whole) + 2
        if not before.endswith("\n"):
            assert "\n" not in whole[int((1 - 2 * share) * len(whole)) + 1 if share < 0.5 else 0 : len(before)]


def test_a_long_line_is_not_held_out_as_a_whole(tmp_path):
    write(tmp_path, "x.txt", "Title\n" + "word " * 2000)
    divided = corpora(tmp_path, train="x.txt", val=[])
    assert divided.train.characters > 0.9 * 10_007
    assert divided.train.characters + divided.evaluation("val")["held out"].characters == 10_007


def test_of_many_documents_some_are_held_out_by_lot_and_equal_ones_together(tmp_path):
    lines = [f"line number {number % 300}" for number in range(600)]
    write(tmp_path, "x.txt", "\n".join(lines))
    write(tmp_path, "y.txt", "\n".join(reversed(lines)))
    sides = {}
    for name in ("x.txt", "y.txt"):
        divided = corpora(tmp_path, train=name, val=[], documents="line", hold_out=0.2)
        train, held_out = texts_of(divided.train), texts_of(divided.evaluation("val")["held out"])
        assert not set(train) & set(held_out)
        assert sorted(train + held_out) == sorted(lines)
        assert 0.1 < len(held_out) / len(lines) < 0.3
        sides[name] = set(held_out)
    assert sides["x.txt"] == sides["y.txt"], "where a document stands must not matter"


def test_documents_that_are_all_the_same_cannot_be_divided(tmp_path):
    write(tmp_path, "x.txt", "the same line\n" * 40)
    divided = corpora(tmp_path, train="x.txt", val=[], documents="line", hold_out=0.001)
    with pytest.raises(DataError, match="too few different documents to hold some out for val; name val files"):
        divided.evaluation("val")


# --- the cache


def test_the_second_time_nothing_is_read_and_any_change_is_noticed(tmp_path):
    told = []

    def fingerprints(name="x.txt", given=BYTES, **data):
        told.clear()
        made = TextCorpora(
            TextData(train=name, val=name, **data), TokenizerConfig(kind="byte"), [tmp_path], lambda *what: told.append(what), given
        )  # fmt: skip
        return made.fingerprint, texts_of(made.train, made.tokenizer)

    write(tmp_path, "x.txt", "Ab\nCd\n")
    first = fingerprints()
    assert told == [("tokenising", 1)]
    assert fingerprints() == first
    assert not told, "made a second time"
    write(tmp_path, "same.txt", "Ab\nCd\n")
    assert fingerprints("same.txt") == first
    assert not told, "a file's name is not its content"
    assert fingerprints(documents="line") != first
    assert fingerprints(lowercase=True)[1] == ["ab\ncd\n"]
    assert fingerprints(given=None) == first
    assert ("training the tokenizer", 0) in told
    write(tmp_path, "x.txt", "Ab\nCe\n")
    assert fingerprints()[0] != first[0]
    assert fingerprints()[1] == ["Ab\nCe\n"]


@pytest.mark.parametrize("damage", ["ids", "words", "starts", "store.json", "gone"])
def test_a_damaged_store_is_never_read(tmp_path, damage):
    build_text_store(iter(["one two", "three"]), BYTES, tmp_path, progress=lambda done: None)
    assert texts_of(TextStore(tmp_path)) == ["one two", "three"]
    path = tmp_path / ("ids" if damage == "gone" else damage)
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(DataError, match=r"is damaged \(.*\); run jumok cache --clear, and it is made again"):
        TextStore(tmp_path)


def test_documents_are_stored_alike_in_any_number_of_chunks(tmp_path, monkeypatch):
    told = []
    texts = [f"text {number}" * (number % 3) for number in range(11)]
    for chunk in (4, 1000):
        monkeypatch.setattr(documents, "CHUNK", chunk)
        (tmp_path / str(chunk)).mkdir()
        build_text_store(iter(texts), BYTES, tmp_path / str(chunk), progress=told.append)
    assert told == [2, 5, 7, 7]
    small, large = TextStore(tmp_path / "4"), TextStore(tmp_path / "1000")
    assert np.array_equal(small.ids, large.ids)
    assert np.array_equal(small.starts, large.starts)
    assert texts_of(small) == [text for text in texts if text]


def test_a_large_vocabulary_gets_wider_numbers(tmp_path):
    class Large:
        def __len__(self):
            return 1 << 17

        def encode_words(self, texts):
            return [([70_000], [0]) for _ in texts]

    build_text_store(iter(["x"]), Large(), tmp_path, progress=lambda done: None)
    assert TextStore(tmp_path).ids.tolist() == [END, 70_000, END]


# --- what is wrong is said


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.txt", b"", r"x\.txt is empty"),
        ("x.txt", b"\n  \n", "there is no text to work with: every document is empty"),
        ("x.jsonl", b'{"text": ""}\n{"text": null}\n', "there is no text to work with: every document is empty"),
        ("x.txt", "fine\nschön\n".encode("latin-1"), r"x\.txt is not UTF-8 \(line 2; it looks like Latin-1\)"),
        ("x.jsonl", b'{"text": "a"}\n\n{"text": \n', r"x\.jsonl line 3 is no JSON"),
        ("x.jsonl", b'["a"]\n', r"x\.jsonl line 1 is no JSON object"),
        ("x.jsonl", b'{"text": {"a": 1}}\n', "row 1 holds dict .*; text is needed"),
        ("x.txt.gz", b"no gzip", r"x\.txt\.gz is a broken or cut-off gzip"),
        ("x.txt", b"a\0b", r"x\.txt is a binary file \(line 1"),
    ],
)
def test_a_file_that_is_no_text_is_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        assert corpora(tmp_path, train=name, documents="line").train


@pytest.mark.parametrize(
    ("name", "content", "column", "message"),
    [
        ("x.tsv", "a\tb\nc\td\n", "text", r"has no column 'text'; it has 0 \(a\), 1 \(b\)\. Set column\."),
        ("x.tsv", "a\tb\nc\n", 1, r"line 2 has 1 column \(c\); column 1 is needed\. Set column, or mend the line"),
        ("x.csv", "text,text\nc,d\n", "text", "has 2 columns named 'text'; rename all but one of them"),
        ("x.jsonl", '{"a": "b"}\n{"b": "c"}\n', "a", r"line 2 has no column 'a'; it has 0 \(b\)\. Set column\."),
        ("x.tsv", "\n\n", "text", r"has no column 'text'; it has none"),
        ("x.tsv", "text\n", "text", "there is no text to work with"),
    ],
)
def test_a_table_without_its_column_is_refused(tmp_path, name, content, column, message):
    write(tmp_path, name, content)
    with pytest.raises(DataError, match=message):
        assert corpora(tmp_path, train=[{"file": name, "column": column}]).train


def test_a_file_that_is_missing_is_told_with_its_public_home(tmp_path):
    with pytest.raises(DataError, match=r"none\.txt was not found; looked at .*\n.*--data FOLDER") as error:
        assert corpora(tmp_path, train="none.txt").train
    assert "public home" not in str(error.value)
    known = next(iter(DOWNLOADS))
    with pytest.raises(DataError, match=f"This set has a public home: jumok fetch {known}"):
        assert corpora(tmp_path, train="none.txt", folder=known).fingerprint
    with pytest.raises(DataError, match=r"holds no text; files ending in \.txt"):
        assert corpora(tmp_path.parent, train=tmp_path.name).train


def test_text_comes_from_a_set_or_from_files_not_both(tmp_path):
    for data in ({}, {"set": "stdlib", "train": "x.txt"}):
        with pytest.raises(ConfigError, match=r'\[data\] needs either set = "NAME" .* or train = "FILE"'):
            corpora(tmp_path, given=None, **data)
    with pytest.raises(ConfigError, match=r"data\.set = 'stdlob' is not a built-in set of text; did you mean 'stdlib'"):
        corpora(tmp_path, set="stdlob")
    assert corpora(tmp_path).tokenizer is BYTES  # an imported run has a tokenizer and no data


def test_empty_text_trains_no_tokenizer(tmp_path):
    write(tmp_path, "x.txt", "\n \n")
    with pytest.raises(DataError, match="there is no text to train a tokenizer on"):
        assert corpora(tmp_path, given=None, train="x.txt").tokenizer


def test_a_table_needs_no_pyarrow_unless_it_is_parquet(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    write(tmp_path, "x.jsonl", '{"text": "a"}')
    assert corpora(tmp_path, train="x.jsonl").train.documents == 1
