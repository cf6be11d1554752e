"""Tables however they are written give the same series; what cannot be read is refused with its line and a cure."""

import csv
import gzip
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from series_tables import open_corpora, write

from jumok.data.series import reading
from jumok.data.series.reading import open_table
from jumok.errors import DataError

COLUMNS = ["date", "a", "b"]
VALUES = [
    ["2020-01-01", 1.5, -2.0],
    ["2020-01-02", 1234.5, None],
    ["2020-01-03", 3e-5, 7.0],
    ["2020-01-04", 0.0, 1.0],
] + [[f"2020-01-{day:02}", float(day), 2.0 * day] for day in range(5, 29)]
WANTED = np.array([[np.nan if cell is None else cell for cell in row[1:]] for row in VALUES])


def store_of(folder, name, **data):
    return open_corpora(folder, train=name, **{"date": "date", **data}).train_rows


def text(separator=",", *, end="\n", comma=False, missing="", thousands=False):
    lines = [separator.join(COLUMNS)]
    for date, *cells in VALUES:
        shown = [missing if cell is None else repr(cell) for cell in cells]
        if comma:
            shown = [cell.replace(".", ",") for cell in shown]
        if thousands:
            shown = [f'"{float(cell):,}"' if cell.startswith("1234") else cell for cell in shown]
        lines.append(separator.join([date, *shown]))
    return end.join([*lines, ""])


WAYS = {
    "plain.csv": text(),
    "windows.csv": text(end="\r\n"),
    "mark.csv": "\ufeff" + text(),
    "semicolons.csv": text(";"),
    "german.csv": text(";", comma=True),
    "tabs.tsv": text("\t"),
    "tabs.csv": text("\t"),
    "bars.csv": text("|"),
    "na.csv": text(missing="NA"),
    "nan.csv": text(missing="NaN"),
    "null.csv": text(missing="null"),
    "spaces.csv": text(", "),
    "thousands.csv": text(thousands=True),
    "blank.csv": text().replace("\n", "\n\n"),
    "quoted.csv": '"date","a","b"\n' + text().partition("\n")[2].replace("2020-01-02", '"2020-01-02"'),
    "last.csv": text().rstrip("\n"),
}


@pytest.mark.parametrize("name", WAYS)
def test_a_table_is_the_same_however_it_is_written(tmp_path, name):
    write(tmp_path / name, WAYS[name])
    store = store_of(tmp_path, name)
    np.testing.assert_array_equal(store.values, WANTED)
    assert store.columns == ["a", "b"]
    assert store.date_kind == "date"


def test_other_formats_give_the_same(tmp_path):
    import pyarrow
    import pyarrow.parquet

    (tmp_path / "z.csv.gz").write_bytes(gzip.compress(text().encode()))
    (tmp_path / "j.jsonl").write_text("\n".join(json.dumps(dict(zip(COLUMNS, row, strict=True))) for row in VALUES))
    columns = dict(zip(COLUMNS, zip(*VALUES, strict=True), strict=True))
    pyarrow.parquet.write_table(
        pyarrow.table({key: list(cells) for key, cells in columns.items()}), tmp_path / "t.parquet"
    )
    columns["date"] = np.array(columns["date"], dtype="M8[ns]")
    pyarrow.parquet.write_table(
        pyarrow.table({key: pyarrow.array(cells) for key, cells in columns.items()}), tmp_path / "d.parquet"
    )
    write(tmp_path / "plain.csv", text())
    wanted = store_of(tmp_path, "plain.csv")
    for name in ("z.csv.gz", "j.jsonl", "t.parquet", "d.parquet"):
        store = store_of(tmp_path, name)
        np.testing.assert_array_equal(store.values, wanted.values)
        np.testing.assert_array_equal(store.dates, wanted.dates)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.none() | st.integers(-(10**9), 10**9)),
        min_size=9,
        max_size=40,
    ),
    st.sampled_from([",", ";", "\t"]),
)
def test_numbers_are_read_back_to_the_last_digit(tmp_path, found, separator):
    path = tmp_path / "x.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=separator).writerows(
            [("a", "b"), *(("" if cell is None else repr(cell) for cell in row) for row in found)]
        )
    store = open_corpora(tmp_path, train="x.csv").train_rows
    wanted = np.array([[np.nan if cell is None else cell for cell in row] for row in found], dtype=np.float64)
    np.testing.assert_array_equal(store.values, wanted)


def test_without_a_header_columns_have_numbers(tmp_path):
    write(tmp_path / "x.csv", "".join(f"{step},{step / 8}\n" for step in range(30)))
    corpora = open_corpora(tmp_path, train="x.csv")
    assert corpora.filled_in.targets == [0, 1]
    assert corpora.train.store.columns == ["column 0", "column 1"]
    assert open_corpora(tmp_path, train="x.csv", targets=[1]).train.store.columns == ["column 1"]


def test_a_header_is_seen_where_no_column_is_named(tmp_path):
    write(tmp_path / "x.csv", "a,b\n" + "1,2\n" * 30)
    assert open_corpora(tmp_path, train="x.csv").filled_in.targets == ["a", "b"]


def test_columns_are_found_by_name_in_any_order(tmp_path):
    write(
        tmp_path / "x.csv", "b,note,date,a\n" + "".join(f"{day},hm,2020-01-{day:02},{-day}\n" for day in range(1, 29))
    )
    store = store_of(tmp_path, "x.csv", targets=["a"], known=["b"])
    assert store.columns == ["a", "b"]
    assert store.values[3].tolist() == [-4, 4]


LONG = "".join(f"2020-01-{day:02},1,2\n" for day in range(1, 29))


@pytest.mark.parametrize(
    ("table", "data", "told"),
    [
        ("", {}, "x.csv is empty"),
        ("\n\n", {}, "x.csv has no rows; a table with a row for each step is needed"),
        ("date,a,b\n", {}, "x.csv has no rows"),
        (f"date,a,b\n{LONG}2020-02-01,many,2\n", {}, "x.csv line 30: 'many' in column 'a' is no number; mend the cell"),
        (f"date,a,b\n{LONG}2020-02-01,inf,2\n", {}, "x.csv line 30: column 'a' is infinite; leave the cell empty"),
        (f"date,a,b\n{LONG}2020-02-01,1\n", {}, "x.csv line 30 has 2 columns, the first row has 3; mend the line"),
        (f"date,a,b\n{LONG}2020-02-01,1,5,2\n", {}, "Are there commas in its numbers?"),
        (f'date,a,b\n{LONG}2020-02-01,"1,5",2\n', {}, "write a point before decimals, or separate columns by semicolons"),
        (f'date,a,b\n{LONG}2020-02-01,"1,2\n', {}, "ends inside quotation marks"),
        (f"date,a,b\n{LONG}", {"date": "Date"}, "x.csv has no column 'Date', which data.date names; did you mean 'date'?"),
        (f"date,a,b\n{LONG}", {"targets": ["a", "c"]}, "has no column 'c', which data.targets names"),
        (f"date,a,b\n{LONG}", {"known": [7]}, "x.csv has no column 7, which data.known names: it has 3 columns, counted from 0"),
        (f"date,a,a\n{LONG}", {"targets": "a"}, "x.csv has 2 columns named 'a'; rename all but one"),
        (f"date,a,b\n{LONG}", {"known": ["a", "b"]}, "x.csv has no column left to forecast; name one in data.targets"),
        (f"date,a,b\n{LONG}", {"date": ""}, "'2020-01-01' in column 'date' is no number"),
        (f"date,a,b\n{LONG}2020-01-28,3,2\n", {}, "the table has the date 2020-01-28 twice, with different values (1 date in all)"),
        (f"date,a,b\n{LONG}noon,3,2\n", {}, "'noon' in column 'date' is no date"),
        ("date,a,b\n" + LONG.replace("1,2\n", ",2\n"), {}, "column 'a' has no values in the training rows; leave it out"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_a_cure(tmp_path, table, data, told):
    write(tmp_path / "x.csv", table)
    with pytest.raises(DataError) as error:
        _ = open_corpora(tmp_path, train="x.csv", **{"date": "date", **data}).filled_in
    assert told in str(error.value)


def test_other_encodings_and_broken_files_are_refused(tmp_path):
    (tmp_path / "x.csv").write_bytes(f"날짜,a,b\n{LONG}".encode("cp949"))
    with pytest.raises(DataError, match=r"x.csv is not UTF-8 \(line 1; it looks like CP949"):
        _ = open_corpora(tmp_path, train="x.csv", date=0).train
    (tmp_path / "y.csv.gz").write_bytes(gzip.compress(("a,b\n" + LONG * 900).encode())[:-50])
    with pytest.raises(DataError, match=r"broken or cut-off gzip file"):
        _ = open_corpora(tmp_path, train="y.csv.gz", date=0).train
    (tmp_path / "z.txt").write_text("1 2 3")
    with pytest.raises(DataError, match=r"z.txt is no table that jumok knows; a name ending in .tsv, .csv"):
        _ = open_corpora(tmp_path, train="z.txt").train
    with pytest.raises(DataError, match=r"none\.csv was not found"):
        _ = open_corpora(tmp_path, train="none.csv").train


def test_blocks_cut_anywhere_give_the_same(tmp_path, monkeypatch):
    """A block ends where a line does, and goes on where quotation marks are open."""
    from jumok.data.series import reading

    whole = 'date,id,a\n"2020-01-01","one ""x""",1\n' + "".join(
        f'2020-01-{day:02},"o\n{day}",{day}\n' for day in range(1, 29)
    )
    write(tmp_path / "x.csv", whole)
    read = reading.read_blocks
    found = {}
    for size in (1 << 20, 64, 17):
        monkeypatch.setattr(reading, "read_blocks", lambda path, given=0, size=size: read(path, size))
        table = reading.open_table(tmp_path / "x.csv", by_name=True)
        blocks = list(table.blocks([1, 2]))
        found[size] = [cell for block in blocks for cell in zip(*block.columns, strict=True)]
        lines = [line for block in blocks for line in block.lines]
        assert lines[:3] == [2, 4, 6]
    assert found[17] == found[64] == found[1 << 20]
    assert found[17][0] == (b'one "x"', b"1")
    assert found[17][1] == (b"o\n1", b"1")


def test_quotation_marks_that_never_close_are_refused_before_they_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LONGEST_ROW", 1000)
    path = tmp_path / "open.csv"
    path.write_text('a,b\n1,"' + "x\n" * 5000, encoding="utf-8")
    monkeypatch.setattr(reading, "read_blocks", lambda path, *size: iter([(1, path.read_bytes())]))
    with pytest.raises(
        DataError, match=r"open\.csv: an opening quotation mark after line 1 has no closing one within 1,000 bytes"
    ):
        list(open_table(path, by_name=True).blocks([0]))
