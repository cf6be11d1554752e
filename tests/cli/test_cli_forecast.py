"""`jumok forecast`: a table in, what comes next out: as a table, as JSON, as a chart."""

import csv
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import numpy as np
import pytest
from cli.conftest import copy_run, jumok, refusal  # noqa: F401 - fixtures
from predictors.series_runs import (  # noqa: F401 - fixtures
    HORIZON,
    shop_table,
    shops_run,
    wide_run,
    wide_table,
    write,
)

import jumok as library


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Return a table of shops with a week of promotions ahead."""
    return write(tmp_path_factory.mktemp("table") / "shops.csv", shop_table(ahead=HORIZON))


@pytest.fixture(scope="module")
def hours(tmp_path_factory):
    """Return a table of hours."""
    return write(tmp_path_factory.mktemp("table") / "hours.csv", wide_table(60))


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def test_a_pipe_gets_a_table(shops_run, table):  # noqa: F811
    done = jumok("forecast", shops_run, table, "--quantiles", "0.1,0.9")
    assert (done.code, done.err) == (0, "")
    rows = rows_of(done.out)
    assert list(rows[0]) == ["series", "date", "target", "point", "0.1", "0.9"]
    assert len(rows) == 3 * HORIZON
    assert all(float(row["0.1"]) < float(row["point"]) < float(row["0.9"]) for row in rows)
    twin = library.load(shops_run).forecast(table, quantiles=[0.1, 0.9])
    assert [float(row["point"]) for row in rows] == pytest.approx(
        np.concatenate([one.point[:, 0] for one in twin]), rel=1e-6
    )


def test_it_is_a_filter(shops_run, table, tmp_path):  # noqa: F811
    wanted = jumok("forecast", shops_run, table).out
    assert jumok("forecast", shops_run, stdin=table.read_bytes()).out == wanted
    assert jumok("forecast", shops_run, "-", stdin=table.read_bytes()).out == wanted
    done = jumok("forecast", shops_run, table, "--csv", tmp_path / "f.csv")
    assert (done.code, (tmp_path / "f.csv").read_text()) == (0, wanted)
    assert done.out == f"table: {tmp_path / 'f.csv'} (21 rows)\n"


def test_json_of_one_series_from_an_earlier_day(shops_run, table):  # noqa: F811
    done = jumok("forecast", shops_run, table, "--series", "east", "--at", "2021-03-10", "--steps", 3, "--json")
    (told,) = map(json.loads, done.out.splitlines())
    assert (told["series"], told["origin"], told["dates"][0]) == ("east", "2021-03-10", "2021-03-11")
    assert len(told["point"]["sales"]) == len(told["truth"]["sales"]) == 3
    assert list(told["quantiles"]) == ["0.1", "0.25", "0.5", "0.75", "0.9"]


def test_a_terminal_gets_charts_and_the_first_numbers(shops_run, table):  # noqa: F811
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 80, 0, 0))
    environment = os.environ | {"TERM": "xterm-256color"}
    command = [sys.executable, "-m", "jumok", "forecast", shops_run, table]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment) as running:
        os.close(theirs)
        out = b""
        while part := read(ours):
            out += part
    assert running.returncode == 0
    text = re.sub(r"\x1b\[[\d;]*m", "", out.decode())
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("⣀⡠ history   ⣀⡠ forecast   ░░ 10 % to 90 %") == 3
    assert "north" in text
    assert re.search(r"2021-04-04 +\d+\.\d+ \(\d+\.\d+ … \d+\.\d+\)", text)
    assert "and 2 further steps up to 2021-04-10" in text
    assert b"\x1b[38;" in out, "it is drawn in colour"


def read(terminal):
    """Return what a terminal is told; nothing where its other end is closed."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def test_a_png(wide_run, hours, tmp_path):  # noqa: F811
    done = jumok("forecast", wide_run, hours, "--png", tmp_path / "f.png", "--steps", 9)
    assert (done.code, done.out) == (0, f"image: {tmp_path / 'f.png'}\n")
    assert "trained for 7 steps" in done.err
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


def test_a_page(wide_run, shops_run, hours, table, tmp_path):  # noqa: F811
    done = jumok("forecast", wide_run, hours, "--html", tmp_path / "f.html")
    assert (done.code, done.out[: done.out.index(" (")]) == (0, f"page: {tmp_path / 'f.html'}")
    looked = (tmp_path / "f.html").read_text()
    assert "encoder" in looked, "of one series it has attention"
    for given in ([wide_run, hours, "--steps", 9], [shops_run, table]):
        assert jumok("forecast", *given, "--html", tmp_path / "f.html").code == 0
        page = (tmp_path / "f.html").read_text()
        assert "<html" in page
    assert all(name in page for name in ("north", "south", "east"))


def test_bad_input_is_met_with_a_sentence(wide_run, shops_run, copy_run, hours, tmp_path):  # noqa: F811
    assert "none.csv" in refusal(jumok("forecast", wide_run, tmp_path / "none.csv"))
    told = refusal(jumok("forecast", wide_run, hours, "--quantiles", "0.1,0.9"))
    assert "knows no quantiles; train a model with" in told
    assert "must be numbers between 0 and 1" in refusal(jumok("forecast", wide_run, hours, "--quantiles", "ten"))
    assert "no column 'day'" in refusal(jumok("forecast", shops_run, hours))
    assert "standard input" in refusal(jumok("forecast", wide_run, stdin="hour,load\n2020-01-01,1\n"))
    assert "standard input" in refusal(jumok("forecast", wide_run, stdin=""))
    assert "--series x: the table has one series, without a name" in refusal(
        jumok("forecast", wide_run, hours, "--series", "x")
    )
    assert "must be a date" in refusal(jumok("forecast", wide_run, hours, "--at", "soon"))
    assert "--png" in refusal(jumok("forecast", wide_run, hours, "--png", tmp_path))
    assert "--csv" in refusal(jumok("forecast", wide_run, hours, "--csv", tmp_path / "no" / "f.csv"))
    assert "use jumok translate, not jumok forecast" in refusal(jumok("forecast", copy_run, hours))


@pytest.mark.parametrize("command", ["translate", "generate", "classify", "caption", "fill"])
def test_commands_of_others_name_this_one(wide_run, command, tmp_path):  # noqa: F811
    told = refusal(jumok(command, wide_run, tmp_path / "x"))
    assert "is a run of forecasting: use jumok forecast" in told


def test_there_is_nothing_to_export_to(wide_run, tmp_path):  # noqa: F811
    assert "is no run of a translator" in refusal(jumok("export", wide_run, tmp_path / "x", "--to", "onnx"))
