"""Tables that are damaged on purpose: one sentence that names the place and the cure, exit code 2, nothing half-written."""

import gzip
import io
import tempfile

import numpy as np
import pytest
from cli.conftest import jumok, listing
from cli.test_bad_input import disk  # noqa: F401 - a fixture
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from predictors.series_runs import HORIZON, LOOK_BACK, WIDE, trained, wide_table

import jumok as library
from jumok.data.series.new_table import read_new_table
from jumok.errors import JumokError

RECIPE = f"""
task = "forecasting"
[data]
train = "table.csv"
date = "hour"
targets = ["load", "heat"]
look_back = {LOOK_BACK}
horizon = {HORIZON}
[model]
name = "forecaster"
layers = 1
width = 8
heads = 2
feedforward = 13
patch = 7
stride = 7
[training]
steps = 2
workers = 1
batch_size = 16
evaluate_every = 2
save_every = 2
"""
ROWS = 120


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The one run of this file: waves, with quantiles."""
    return trained(tmp_path_factory.mktemp("run"), wide_table(), WIDE, head="quantiles")


@pytest.fixture(scope="module")
def forecaster(run):
    return library.load(run)


def lines():
    table = wide_table(ROWS)
    return ["hour,load,heat", *(f"{h},{a:.4f},{b:.4f}" for h, a, b in zip(*table.values(), strict=True))]


def cell(place, column, text):
    """Return the table with another cell: line 1 is the header."""
    changed = lines()
    cells = changed[place - 1].split(",")
    cells[column] = text
    return joined([*changed[: place - 1], ",".join(cells), *changed[place:]])


def joined(some):
    return "".join(f"{line}\n" for line in some)


PLAIN = joined(lines())
LATER = [f"{np.datetime64('2020-03-06T00') + hour},1.5,2.5" for hour in range(2000)]
TWICE = joined([*lines(), lines()[-1].split(",")[0] + ",1,2"])


def parquet():
    pyarrow = pytest.importorskip("pyarrow.parquet")
    import pyarrow as arrow

    file = io.BytesIO()
    pyarrow.write_table(arrow.table({name: list(column) for name, column in wide_table(ROWS).items()}), file)
    return file.getvalue()


# name → content, and what is said of it by train, check and forecast
REFUSED = {
    "date of words": ("t.csv", cell(9, 0, "noon"), "t.csv line 9: 'noon' in column 'hour' is no date that jumok can read; write dates such as"),
    "date that numpy knows": ("t.csv", cell(9, 0, "today"), "t.csv line 9: 'today' in column 'hour' is no date"),
    "date beyond dates": ("t.csv", cell(9, 0, "99999-01-01"), "t.csv line 9: '99999-01-01' in column 'hour' is no date"),
    "date left out": ("t.csv", cell(9, 0, ""), "t.csv line 9 has no date in column 'hour'; give it one, or leave the row out"),
    "date twice": ("t.csv", TWICE, "has the date 2020-03-05 23:00 twice, with different values (1 date in all); remove one row of each"),
    "zone of some": ("t.csv", cell(9, 0, "2020-03-01T07:00Z"), "line 9: some dates of column 'hour' have a time zone and some have none; write all"),
    "step without end": ("t.csv", joined(["hour,load,heat", *(f"{n},{n % 7},{n % 5}" for n in range(60)), f"{'9' * 30},1,2"]), "line 62: '999999999999999999999999999999' in column 'hour' is no whole step number; write"),
    "column missing": ("t.csv", joined(line.rpartition(",")[0] for line in lines()), "t.csv has no column 'heat', which data.targets names; known: hour, load. Name the columns"),
    "column renamed": ("t.csv", PLAIN.replace("heat", "Heat"), "t.csv has no column 'heat', which data.targets names; did you mean 'Heat'? Name the columns"),
    "text": ("t.csv", cell(9, 1, "many"), "t.csv line 9: 'many' in column 'load' is no number; mend the cell, leave it empty"),
    "thousands": ("t.csv", cell(9, 1, "1,234"), "t.csv line 9 has 4 columns, the first row has 3; mend the line. Are there commas in its numbers?"),
    "decimal comma": ("t.csv", cell(9, 1, '"1,5"'), "write a point before decimals, or separate columns by semicolons"),
    "infinity": ("t.csv", cell(9, 2, "-inf"), "t.csv line 9: column 'heat' is infinite; leave the cell empty where no value is known"),
    "row too short": ("t.csv", joined([*lines(), "2020-03-09,1"]), "t.csv line 122 has 2 columns, the first row has 3; mend the line"),
    "no value": ("t.csv", joined(["hour,load,heat", *(line.split(",")[0] + ",," for line in lines()[1:])]), "has no value"),
    "empty": ("t.csv", "", "t.csv is empty; a file with one sentence or row per line is needed"),
    "blank": ("t.csv", "\n \n\n", "t.csv has no rows; a table with a row for each step is needed"),
    "header": ("t.csv", "hour,load,heat\n", "t.csv has no rows; a table with a row for each step is needed"),
    "quotation mark": ("t.csv", cell(9, 1, '"5'), "t.csv ends inside quotation marks; an opening one has no closing one"),
    "line ends of old": ("t.csv", PLAIN.replace("\n", "\r"), "t.csv has the line ends of old Macs"),
    "one endless line": ("t.csv", "x" * 200_000, "t.csv line 1 cannot be read as a row (field larger than field limit (131072)); mend the line"),
    "binary": ("t.csv", b"\x7fELF\x02\x00\x00" * 60, "t.csv is a binary file (line 1 holds NUL bytes); plain UTF-8 text is needed"),
    "other letters": ("t.csv", PLAIN.replace("heat", "열").encode("cp949"), "t.csv is not UTF-8 (line 1; it looks like CP949 (Korean)); convert it with"),
    "cut-off gz": ("t.csv.gz", gzip.compress(PLAIN.encode())[:-40], "t.csv.gz is a broken or cut-off gzip file"),
    "no gz": ("t.csv.gz", PLAIN, "t.csv.gz is a broken or cut-off gzip file"),
    "no Parquet": ("t.parquet", PLAIN, "t.parquet is no readable Parquet file"),
    "half a Parquet": ("t.parquet", lambda: parquet()[:-99], "t.parquet is no readable Parquet file"),
    "mangled Parquet": ("t.parquet", lambda: parquet()[:300] + bytes(500) + parquet()[800:], "t.parquet"),
    "no JSON": ("t.jsonl", PLAIN, "t.jsonl line 1 is no JSON"),
    "JSON without end": ("t.jsonl", '{"hour": "2020-03-01", "load": 1, "heat": ' + "9" * 5000 + "}", "t.jsonl line 1 is no JSON"),
    "JSON, half a letter": ("t.jsonl", '{"hour": "2020-03-01", "load": 1, "heat": 2}\n{"hour": "\\ud800", "load": 1, "heat": 2}', "t.jsonl line 2: '\ufffd' in column 'hour' is no date"),
    "JSON, a long number": ("t.jsonl", '{"hour": "2020-03-01", "load": 1, "heat": ' + "9" * 400 + "}", "t.jsonl line 1 is no JSON (a whole number has 400 digits)"),
    "folder": ("t.csv", None, "t.csv is a folder; a file is needed"),
    "no table": ("t.xlsx", b"PK\x03\x04", "t.xlsx is no table that jumok knows; a name ending in .tsv, .csv, .jsonl, .parquet (or .gz) is needed"),
}  # fmt: skip


def put(folder, name, content):
    path = folder / name
    content = content() if callable(content) else content
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(done):
    """Return the message of a refused command, whatever it was reading."""
    assert (done.code, done.out) == (2, ""), done
    progress, mark, message = ("\n" + done.err).partition("\njumok: ")
    assert mark, done.err
    assert all(line.endswith(" …") for line in progress.split("\n") if line), progress
    assert "Traceback" not in message
    return message


@pytest.mark.parametrize("case", REFUSED)
def test_a_damaged_table_is_refused_by_every_command(run, case, tmp_path):
    name, content, told = REFUSED[case]
    table = put(tmp_path, name, content)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE.replace("table.csv", name), encoding="utf-8")
    before = listing(tmp_path)
    commands = {
        "forecast": ("forecast", run, table, "--csv", tmp_path / "out.csv", "--html", tmp_path / "out.html"),
        "look": ("look", run, table, "--html", tmp_path / "out.html"),
        "check": ("check", recipe),
        "train": ("train", recipe, "--out", tmp_path / "run"),
    }
    for command, arguments in commands.items():
        message = refused(jumok(*arguments))
        assert told in message, f"{command}: {message}"
        assert listing(tmp_path) == before, f"{command} wrote something"
    if isinstance(content, str | bytes) and name == "t.csv" and content:
        message = refused(jumok("forecast", run, stdin=content))
        assert told.replace("t.csv", "standard input") in message
    done = jumok("new", table, "--date", "hour", "--out", tmp_path / "new.toml")
    if case not in ("column missing", "column renamed"):  # of which new sees nothing
        refused(done)
        assert listing(tmp_path) == before, "new wrote something"


TAKEN = {
    "sound": (PLAIN, ""),
    "columns in another order": (joined(",".join(reversed(line.split(","))) for line in lines()), ""),
    "a further column": (
        joined(f"{line},{'note' if not number else 'hm'}" for number, line in enumerate(lines())),
        "columns that the run does not use: note",
    ),
    "semicolons": (PLAIN.replace(",", ";"), ""),
    "semicolons, decimal commas": (PLAIN.replace(",", ";").replace(".", ","), ""),
    "byte order mark": ("\ufeff" + PLAIN, ""),
    "unsorted": (joined([lines()[0], *lines()[61:], *lines()[1:61]]), "not in the order of time (1 step back); they are sorted"),
    "a row twice": (joined([*lines()[:20], lines()[19], *lines()[20:]]), "left out, as they stand there twice: 1 row"),
}  # fmt: skip


@pytest.mark.parametrize("case", TAKEN)
def test_what_can_be_put_right_is_and_told(run, case, tmp_path):
    """Each of these is the same table: it gives the same forecast."""
    content, told = TAKEN[case]
    done = jumok("forecast", run, put(tmp_path, "t.csv", content))
    assert done.code == 0, done.err
    assert (told in done.err) if told else (done.err == "")
    assert done.out == jumok("forecast", run, put(tmp_path, "plain.csv", PLAIN)).out
    recipe = put(tmp_path, "recipe.toml", RECIPE.replace("table.csv", "t.csv"))
    assert jumok("check", recipe).code == 0
    new = jumok("new", tmp_path / "t.csv", "--out", tmp_path / "new.toml")
    assert new.code == 0, new.err
    assert 'targets = ["load", "heat"]' in (tmp_path / "new.toml").read_text() or case.startswith("columns in")


def test_uneven_steps_zones_and_missing_values_are_told(run, tmp_path):
    done = jumok("forecast", run, put(tmp_path, "t.csv", joined(lines()[:40] + lines()[45:])))
    assert "1 of 114 steps are not the usual 1h (the longest is after 2020-03-02 14:00); each row counts as" in done.err
    zoned = joined([lines()[0], *(line.replace(",", "+09:00,", 1) for line in lines()[1:])])
    assert "dates have time zones (+0900); they are kept in UTC" in jumok("forecast", run, stdin=zoned).err
    done = jumok("forecast", run, put(tmp_path, "t.csv", cell(119, 1, "NaN")))
    assert (done.code, done.err) == (0, "")
    assert done.out != jumok("forecast", run, stdin=PLAIN).out


def test_a_history_shorter_than_the_look_back(run, tmp_path):
    short = put(tmp_path, "t.csv", joined(lines()[:6]))
    done = jumok("forecast", run, short)
    assert "the table has 5 of the 14 steps that the model looks back; those before count as missing" in done.err
    assert len(done.out.splitlines()) == 1 + 2 * HORIZON
    recipe = put(tmp_path, "recipe.toml", RECIPE.replace("table.csv", "t.csv"))
    for command in (["check", recipe], ["train", recipe, "--out", tmp_path / "run"]):
        assert "train has 4 steps at most in a series, and a window's targets are 7; lower" in refused(jumok(*command))
    assert "a forecaster needs dozens at least" in refused(jumok("new", short, "--out", tmp_path / "new.toml"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recipe.toml", "t.csv"]


@pytest.mark.parametrize("transform", ["log", "log-return"])
def test_prices_without_a_logarithm(transform, tmp_path):
    put(tmp_path, "table.csv", cell(9, 2, "0"))
    recipe = put(tmp_path, "recipe.toml", RECIPE.replace("[model]", f'transform = "{transform}"\n[model]'))
    told = (
        "1 value to forecast is zero or negative, which has no logarithm ('heat', 2020-03-01 07:00); set data.transform"
    )
    for command in (["check", recipe], ["train", recipe, "--out", tmp_path / "run"]):
        assert told in refused(jumok(*command))
    put(tmp_path, "table.csv", PLAIN)
    assert jumok("train", recipe, "--out", tmp_path / "run").code == 0
    assert told in refused(jumok("forecast", tmp_path / "run", put(tmp_path, "new.csv", cell(9, 2, "0"))))


def test_values_without_bound(run, tmp_path):
    recipe = put(tmp_path, "recipe.toml", RECIPE)
    put(tmp_path, "table.csv", cell(9, 1, "1e300"))
    told = "column 'load' has values too large to be scaled in the training rows; mend them, or leave the cells empty"
    for command in (["check", recipe], ["train", recipe, "--out", tmp_path / "run"]):
        assert told in refused(jumok(*command))
    table = put(tmp_path, "table.csv", cell(118, 1, "1e30"))
    told = "column 'load' is 1e+30 at 2020-03-05 20:00, far beyond all that the training rows hold; mend the value"
    for command in (["forecast", run, table], ["look", run, table], ["evaluate", run, "--source", table]):
        assert told in refused(jumok(*command))


def test_constant_columns_are_told(tmp_path):
    put(tmp_path, "table.csv", joined(["hour,load,heat", *(line.rpartition(",")[0] + ",7" for line in lines()[1:])]))
    recipe = put(tmp_path, "recipe.toml", RECIPE)
    assert "column 'heat' is constant in the training rows" in jumok("check", recipe).out
    done = jumok("train", recipe, "--out", tmp_path / "run")
    assert "columns that are constant in the training rows: heat" in done.err
    found = jumok("forecast", tmp_path / "run", tmp_path / "table.csv", "--steps", 1)
    assert float(found.out.splitlines()[-1].split(",")[3]) == pytest.approx(7, abs=1e-3)


def test_val_that_overlaps_train(tmp_path):
    put(tmp_path, "table.csv", joined(lines()[:91]))
    recipe = put(tmp_path, "recipe.toml", RECIPE.replace("date =", 'val = "val.csv"\ndate ='))
    put(tmp_path, "val.csv", joined([lines()[0], *lines()[90:]]))
    for command in (["check", recipe], ["train", recipe, "--out", tmp_path / "run"]):
        told = refused(jumok(*command))
        assert "val.csv overlaps what comes before it in 1 series: its rows begin at 2020-03-04 17:00, and the" in told
        assert "take the rows out of one of the two" in told
    put(tmp_path, "val.csv", joined([lines()[0], *lines()[91:]]))
    assert jumok("check", recipe).code == 0


def test_the_table_is_never_written_over(run, tmp_path):
    table = put(tmp_path, "t.csv", PLAIN)
    (tmp_path / "link.csv").symlink_to(table)
    for option, place in (("--csv", table), ("--html", table), ("--png", table), ("--csv", tmp_path / "link.csv")):
        assert f"{option} {place} is the table itself; choose another file" in refused(
            jumok("forecast", run, table, option, place)
        )
    assert table.read_text() == PLAIN


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--steps", "100001"], "--steps 100001: must be from 1 to 100,000, or 0 for the 7 of training"),
        (["--quantiles", "0.1,nan,0.9"], "must lie between 0 and 1, for example 0.1,0.9"),
        (["--quantiles", "0.1;0.9"], "--quantiles 0.1;0.9: must be numbers between 0 and 1, for example 0.1,0.9"),
        (["--quantiles", "0.05,0.5"], "has learnt quantiles from 0.1 to 0.9, and 0.05 lies outside; choose others"),
        (["--at", "1999-01-01"], "has no value among the 14 steps up to 1999-01-01, and a forecast is made of them; choose a later"),
        (["--at", "noon"], "--at noon: must be a date such as 2016-07-01 or 2016-07-01 13:00"),
        (["--series", "x"], "--series x: the table has one series, without a name; leave --series out"),
        (["--checkpoint", "step-99"], "has no checkpoint 'step-99'; there are step-8, best, last"),
        (["--html", "no/f.html"], "--html no/f.html: must be a file in a folder that exists"),
        (["--png", "no/f.png"], "--png no/f.png: must be a file in a folder that exists"),
        (["--csv", "no/f.csv"], "--csv no/f.csv cannot be written: No such file or directory; choose another file"),
    ],
)  # fmt: skip
def test_options_that_cannot_be(run, options, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "t.csv", PLAIN)
    before = listing(tmp_path)
    assert told in refused(jumok("forecast", run, "t.csv", *options))
    assert listing(tmp_path) == before
    monkeypatch.setenv("JUMOK_LANG", "ko")
    korean = jumok("forecast", run, "t.csv", *options)
    assert korean.code == 2
    assert any("가" <= letter <= "힣" for letter in korean.err.splitlines()[0]), "told in Korean, too"


def test_a_full_disk(run, disk, tmp_path):  # noqa: F811
    place = disk("4k")
    done = jumok("forecast", run, put(tmp_path, "t.csv", PLAIN), "--steps", 300, "--csv", place / "f.csv")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[1:] == [
        f"jumok: --csv {place / 'f.csv'} cannot be written: No space left on device; choose another file"
    ]
    assert list(place.iterdir()) == [], "half a table is no table"


def test_a_full_disk_of_temporary_files(run, disk, tmp_path, monkeypatch):  # noqa: F811
    place = disk("8k")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    told = f"the folder of temporary files, {place}, cannot be written (No space left on device); free some space there"
    assert told in refused(jumok("forecast", run, put(tmp_path, "t.csv", joined(lines() + LATER))))
    assert told in refused(jumok("forecast", run, stdin=joined(lines() + LATER)))
    assert list(place.iterdir()) == []


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None, max_examples=120
)
@given(st.data())
def test_whatever_happens_to_a_table_it_is_read_or_refused(forecaster, tmp_path, data):
    """Bytes dropped, changed, put in; lines dropped, doubled, swapped: success or a sentence."""
    raw = bytearray(joined(lines()[: data.draw(st.sampled_from([3, 30, 41]))]).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        what = data.draw(st.sampled_from(["drop", "change", "insert", "line", "cut", "token"]))
        place = data.draw(st.integers(0, max(len(raw) - 1, 0)))
        if what == "drop":
            del raw[place : place + data.draw(st.integers(1, 9))]
        elif what == "change":
            raw[place : place + 1] = bytes([data.draw(st.integers(0, 255))])
        elif what == "insert":
            raw[place:place] = data.draw(
                st.sampled_from([b",", b"\n", b'"', b"\r", b";", b"-", b"e99", b".", b"T", b"+", b"\t"])
            )
        elif what == "token":
            raw[place:place] = data.draw(
                st.sampled_from([b"now", b"NaT", b"1e400", b"99999", b"Z", b"+25:00", b"\xff", "월".encode()])
            )
        elif what == "cut":
            del raw[place:]
        else:
            parts = bytes(raw).split(b"\n")
            some = data.draw(st.integers(0, len(parts) - 1))
            parts[some:some] = [parts[data.draw(st.integers(0, len(parts) - 1))]]
            raw = bytearray(b"\n".join(parts))
    path = tmp_path / "t.csv"
    path.write_bytes(bytes(raw))
    with np.errstate(all="raise", under="ignore"):
        try:
            store = read_new_table(path, forecaster.data).store
            found = forecaster.forecast(path, steps=1, warn=lambda notice: None)
        except JumokError:
            pass  # anything else is a bug
        else:
            assert len(found) == len(set(store.names))
            assert all(np.isfinite(one.point).all() or np.isnan(one.history).all(axis=0).any() for one in found)
