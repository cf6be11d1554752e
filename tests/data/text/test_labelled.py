"""Classified texts: every table says the same, samples are fixed, and what is wrong is said with its place."""

import csv
import gzip
import json
import random

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from jumok.config import LabelledData, TokenizerConfig
from jumok.data.text import labelled
from jumok.data.text.labelled import LabelledCorpora, LabelStore, build_label_store
from jumok.data.text.sources import tidy
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import ConfigError, DataError

few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
BYTES = Tokenizer.train(["any"], TokenizerConfig(kind="byte"))
HEAD = ("text", "second", "label")
cell = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n\t\ufeff"), min_size=1, max_size=12)
examples = st.lists(st.tuples(cell, cell, st.sampled_from(["no", "yes"])), min_size=1, max_size=6)


def corpora(folder, file, *, given=BYTES, progress=lambda what, done: None, **data):
    """Return the corpora of one table; val is the same one where nothing else is said, so all of it is train."""
    data = {"train": [file], "val": [file]} | data
    return LabelledCorpora(LabelledData(**data), TokenizerConfig(kind="byte"), [folder], progress, given)


def examples_of(corpora, store):
    """Return what a store holds, its ids read back and compared with its texts."""
    found = []
    for number in range(len(store)):
        texts = store.text(number)
        assert texts == (BYTES.decode(store.first[number]), BYTES.decode(store.second[number]))
        found.append((*texts, corpora.labels[store.classes[number]]))
    return found


def read(folder, file, **data):
    made = corpora(folder, file, **data)
    return examples_of(made, made.train)


def write(folder, name, *lines):
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    return name


# --- reading


@few
@given(examples)
def test_every_table_says_the_same_with_one_text_or_two(tmp_path, rows):
    expected = [(tidy(text), tidy(second), label) for text, second, label in rows if tidy(text)]
    assume(expected)
    write(tmp_path, "x.tsv", *("\t".join(row) for row in [HEAD, *rows]))
    write(tmp_path, "bare.tsv", *("\t".join(row) for row in rows))
    with open(tmp_path / "x.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEAD, *rows])
    objects = [json.dumps(dict(zip(HEAD, row, strict=True))) for row in rows]
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress("\n".join(objects).encode()))
    table = pyarrow.table({name: [row[number] for row in rows] for number, name in enumerate(HEAD)})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    for name in ("x.tsv", "x.csv", "x.jsonl.gz", "x.parquet", "bare.tsv"):
        named = dict(zip(HEAD, range(3) if name == "bare.tsv" else HEAD, strict=True))
        file = {"file": name} | named
        assert read(tmp_path, file, labels=["no", "yes"]) == expected, name
        alone = {key: value for key, value in file.items() if key != "second"}
        assert read(tmp_path, alone, labels=["no", "yes"]) == [(text, "", label) for text, _, label in expected], name


def test_text_first_and_class_second_is_the_usual_order(tmp_path):
    assert read(tmp_path, {"file": write(tmp_path, "x.tsv", "a\tyes", "b\tno")}) == [("a", "", "yes"), ("b", "", "no")]


@pytest.mark.parametrize("columns", [("text", 1, "label"), (0, "second", 2), ("text", "second", 2), (0, 1, "label")])
def test_a_name_for_one_column_means_there_is_a_head_line(tmp_path, columns):
    write(tmp_path, "x.tsv", "\t".join(HEAD), "a\tb\tyes", "c\t\tno")
    file = {"file": "x.tsv"} | dict(zip(HEAD, columns, strict=True))
    assert read(tmp_path, file) == [("a", "b", "yes"), ("c", "", "no")]


def test_quotes_are_text_in_tsv_and_quotes_in_csv(tmp_path):
    write(tmp_path, "x.csv", "text,label", '"a, ""b""', 'c",yes', "", "d,no")
    assert read(tmp_path, {"file": "x.csv", "text": "text"}) == [('a, "b" c', "", "yes"), ("d", "", "no")]
    write(tmp_path, "x.tsv", '"a\tyes', "", 'b"\tno')
    assert read(tmp_path, {"file": "x.tsv"}) == [('"a', "", "yes"), ('b"', "", "no")]


def test_case_is_folded_only_where_asked_and_never_in_classes(tmp_path):
    file = {"file": write(tmp_path, "x.tsv", "AÄ\tYes", "b\tNo")}
    assert read(tmp_path, file) == [("AÄ", "", "Yes"), ("b", "", "No")]
    assert read(tmp_path, file, lowercase=True) == [("aä", "", "Yes"), ("b", "", "No")]


def test_numbers_in_json_are_classes_too(tmp_path):
    write(tmp_path, "x.jsonl", '{"t": "a", "l": 1}', '{"l": 0, "t": "b"}')
    made = corpora(tmp_path, {"file": "x.jsonl", "text": "t", "label": "l"})
    assert made.labels == ["0", "1"]
    assert examples_of(made, made.train) == [("a", "", "1"), ("b", "", "0")]


def test_classes_are_sorted_or_as_the_recipe_orders_them(tmp_path):
    file = {"file": write(tmp_path, "x.tsv", "a\tz", "b\tm", "c\ta")}
    assert corpora(tmp_path, file).labels == ["a", "m", "z"]
    assert corpora(tmp_path, file).train.classes.tolist() == [2, 1, 0]
    own = corpora(tmp_path, file, labels=["z", "more", "a", "m"])
    assert own.labels == ["z", "more", "a", "m"]
    assert own.train.classes.tolist() == [0, 3, 2]


def test_texts_that_say_nothing_are_left_out_and_counted(tmp_path):
    file = {"file": write(tmp_path, "x.tsv", "a\t\tyes", " \u3000\tb\tno", "\tc\tno", "d\te\tno")}
    made = corpora(tmp_path, file | {"second": 1, "label": 2})
    assert examples_of(made, made.train) == [("a", "", "yes"), ("d", "e", "no")]
    assert made.train.skipped == 2


def test_many_tables_follow_each_other_and_a_split_goes_by_their_names(tmp_path):
    one = {"file": write(tmp_path, "one.tsv", "a\tyes")}
    two = {"file": write(tmp_path, "two.jsonl", '{"l": "no", "t": "b"}'), "text": "t", "label": "l", "name": "mine"}
    made = corpora(tmp_path, one, train=[one, two], val=[two, one])
    assert examples_of(made, made.train) == [("a", "", "yes"), ("b", "", "no")]
    found = {name: examples_of(made, store) for name, store in made.evaluation("val").items()}
    assert found == {"mine": [("b", "", "no")], "one.tsv": [("a", "", "yes")]}
    with pytest.raises(DataError, match="the recipe has no test data; add test = "):
        made.evaluation("test")


# --- samples


@pytest.fixture(scope="module")
def rows():
    return [f"text {number % 150}\t{'yes' if number % 3 else 'no'}" for number in range(200)]


def test_a_smaller_sample_is_part_of_a_larger_one_wherever_rows_stand(tmp_path, rows):
    write(tmp_path, "x.tsv", *rows)
    write(tmp_path, "y.tsv", *random.Random(1).sample(rows, len(rows)))
    everything = read(tmp_path, {"file": "x.tsv"})
    smaller = []
    for limit in (1, 20, 90, 200):
        found = read(tmp_path, {"file": "x.tsv"}, limit=limit)
        assert len(found) == limit
        assert found[: len(smaller)] == smaller
        assert read(tmp_path, {"file": "y.tsv"}, limit=limit) == found
        smaller = found
    assert sorted(smaller) == sorted(everything)
    assert read(tmp_path, {"file": "x.tsv"}, limit=20) != everything[:20], "a sample, not the first rows"
    with pytest.raises(ConfigError, match=r"data\.limit = 201, but there are only 200 training examples"):
        read(tmp_path, {"file": "x.tsv"}, limit=201)


def test_a_limit_leaves_val_and_the_classes_alone(tmp_path, rows):
    made = corpora(tmp_path, {"file": write(tmp_path, "x.tsv", *rows)}, limit=1)
    assert made.labels == ["no", "yes"]
    assert len(made.evaluation("val")["x.tsv"]) == 200
    assert made.fingerprint != corpora(tmp_path, {"file": "x.tsv"}).fingerprint


@pytest.mark.parametrize(("hold_out", "expected"), [(0, 7), (40, 40)])
def test_as_many_are_held_out_as_asked_or_one_in_twenty(tmp_path, hold_out, expected):
    lines = [f"text {number}\t{'yes' if number % 3 else 'no'}" for number in range(150)]
    made = corpora(tmp_path, {"file": write(tmp_path, "x.tsv", *lines)}, val=[], hold_out=hold_out)
    held_out = examples_of(made, made.evaluation("val")["held out"])
    assert len(held_out) == expected
    assert sorted(held_out + examples_of(made, made.train)) == sorted(read(tmp_path, {"file": "x.tsv"}))


def test_equal_texts_are_held_out_together_even_with_other_classes(tmp_path, rows):
    made = corpora(tmp_path, {"file": write(tmp_path, "x.tsv", *rows)}, val=[], hold_out=30)
    train, held_out = (
        {text for text, _, _ in examples_of(made, store)} for store in (made.train, made.evaluation("val")["held out"])
    )
    assert not train & held_out
    assert len(train) + len(held_out) == 150


def test_something_must_be_left_to_train_on(tmp_path, rows):
    made = corpora(tmp_path, {"file": write(tmp_path, "x.tsv", *rows)}, val=[], hold_out=200)
    with pytest.raises(ConfigError, match=r"data\.hold_out = 200 leaves nothing of 200 examples to train on"):
        assert made.train


# --- the cache


def test_the_second_time_nothing_is_read_and_any_change_is_noticed(tmp_path):
    told = []

    def look(file, **data):
        told.clear()
        return read(tmp_path, file, progress=lambda *what: told.append(what), **data)

    write(tmp_path, "x.tsv", "A\tb\tyes", "c\td\tno")
    file = {"file": "x.tsv", "label": 2}
    first = look(file)
    assert told == [("tokenising", 2)]
    assert look(file) == first
    assert not told, "made a second time"
    assert look(file | {"text": 1}) == [("b", "", "yes"), ("d", "", "no")]
    assert look(file | {"second": 1}) == [("A", "b", "yes"), ("c", "d", "no")]
    assert look(file, lowercase=True)[0][0] == "a"
    assert look(file, labels=["yes", "no"]) == first
    assert told, "the numbers of classes changed"
    assert look(file, given=None) == first
    assert ("training the tokenizer", 0) in told
    write(tmp_path, "x.tsv", "A\tb\tyes", "changed\td\tno")
    assert look(file)[1] == ("changed", "", "no")


def test_a_damaged_store_is_never_read(tmp_path, monkeypatch):
    monkeypatch.setattr(labelled, "CHUNK", 2)
    rows = [("a", "b", "yes"), ("cd", "", "no"), ("e", "f", "yes")]
    build_label_store(rows, BYTES, ["no", "yes"], tmp_path, lowercase=False, progress=lambda done: None)
    whole = LabelStore(tmp_path)
    assert [(*whole.text(i), ["no", "yes"][whole.classes[i]]) for i in range(3)] == rows
    for path in sorted(path for path in tmp_path.iterdir() if path.stat().st_size):
        content = path.read_bytes()
        path.write_bytes(content[:-4])
        with pytest.raises(DataError, match=r"is damaged \(.*\); run jumok cache --clear, and it is made again"):
            LabelStore(tmp_path)
        path.write_bytes(content)
    assert len(LabelStore(tmp_path)) == 3


# --- what is wrong is said


@pytest.mark.parametrize(
    ("name", "lines", "columns", "message"),
    [
        ("x.tsv", ["a\tyes", "b", "c\tno"], (0, "", 1), r"line 2 has 1 column \(b\); columns 0 and 1, counted from 0, are "),
        ("x.tsv", ["a\tyes", "b"], (0, "", 1), r"Set text and label, or mend the line"),
        ("x.tsv", ["a\tb\tc", "d\te"], (0, 1, 2), r"line 2 has 2 columns \(d \| e\); columns 0, 1 and 2, counted from 0"),
        ("x.tsv", ["a\tyes"], (-1, "", 1), r"line 1 has 2 columns"),
        ("x.tsv", ["text\tlabel", "a\tb"], ("text", "", "class"), r"no column 'class'; it has 0 \(text\), 1 \(label\)\. Set text and label\."),
        ("x.tsv", ["text\tlabel", "a\tb"], ("text", "other", "label"), r"no column 'other'.* Set text, second and label\."),
        ("x.tsv", ["text\tlabel\ttext", "a\tb\tc"], ("text", "", "label"), r"has 2 columns named 'text'; rename all but one"),
        ("x.csv", ["text,label", 'a,"b', "c"], ("text", "", "label"), r"line 3 cannot be read as a row"),
        ("x.csv", ["a,yes", '"b', 'c"'], (0, "", 1), r"line 3 has 1 column"),
        ("x.jsonl", ['{"t": "a", "l": "b"}', "{"], ("t", "", "l"), r"line 2 is no JSON"),
        ("x.jsonl", ['{"t": "a", "l": "b"}', '{"t": "c"}'], ("t", "", "l"), r"line 2 has no column 'l'; it has 0 \(t\)\. Set text and label"),
        ("x.jsonl", ['{"t": "a", "l": ["b"]}'], ("t", "", "l"), r"row 1 holds list .*; text is needed"),
        ("x.txt", ["a\tb"], (0, "", 1), r"is no table that jumok knows"),
        ("x.tsv", ["", ""], ("text", "", "label"), r"has no column 'text'; it has none"),
        ("x.tsv", ["a\tyes", "bcd\t "], (0, "", 1), r"x\.tsv: the text 'bcd' has no class; give it one, or take the row out"),
        ("x.jsonl", ['{"t": "a", "l": null}'], ("t", "", "l"), r"the text 'a' has no class"),
        ("x.tsv", ["a\tyes"], (0, "", 1), r"the training data has only the class 'yes'; two classes or more"),
        ("x.tsv", [" \tyes", "\tno"], (0, "", 1), r"there are no examples with text; check the files of \[data\]"),
    ],
)  # fmt: skip
def test_a_broken_table_says_where_and_what_to_set(tmp_path, name, lines, columns, message):
    file = {"file": write(tmp_path, name, *lines)} | dict(zip(HEAD, columns, strict=True))
    with pytest.raises(DataError, match=message):
        read(tmp_path, file)


def test_wrong_bytes_and_missing_files_are_told(tmp_path):
    (tmp_path / "x.tsv").write_bytes("a\tyes\nschön\tno\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"x\.tsv is not UTF-8 \(line 2; it looks like Latin-1\)"):
        read(tmp_path, {"file": "x.tsv"})
    (tmp_path / "x.tsv").write_bytes(b"")
    with pytest.raises(DataError, match=r"x\.tsv is empty"):
        read(tmp_path, {"file": "x.tsv"})
    with pytest.raises(DataError, match=r"none\.tsv was not found; looked at .*none\.tsv"):
        read(tmp_path, {"file": "none.tsv"})


def test_a_class_that_was_never_seen_is_refused_unless_named(tmp_path):
    train = {"file": write(tmp_path, "x.tsv", "a\tyes", "b\tno")}
    other = {"file": write(tmp_path, "y.tsv", "c\tyes", "d\tyess")}
    with pytest.raises(DataError) as error:
        corpora(tmp_path, train, val=[other]).evaluation("val")
    assert "the class 'yess' of 'd' is not among the training data's 2: did you mean 'yes'" in str(error.value)
    assert "name all classes in data.labels, or mend the row" in str(error.value)
    named = corpora(tmp_path, train, val=[other], labels=["no", "yes", "yess"])
    assert examples_of(named, named.evaluation("val")["y.tsv"])[1] == ("d", "", "yess")


def test_a_class_named_twice_is_refused():
    with pytest.raises(ConfigError, match=r"data\.labels names a class twice: a, b, a"):
        LabelledData(train=[{"file": "x.tsv"}], labels=["a", "b", "a"])
