"""Every option of `jumok forecast`, of `jumok look` at a table and of `jumok compare` for forecasters, on one run of waves."""

import csv
import inspect
import json

import pytest
from cli.conftest import jumok, refusal, train_once, write_recipe

RECIPE = """
task = "forecasting"
[data]
set = "waves"
look_back = 48
horizon = 6
[model]
name = "forecaster"
layers = 2
width = 8
heads = 2
feedforward = 13
tokens = "steps"
head = "quantiles"
[training]
steps = 4
warmup = 1
workers = 1
batch_size = 32
learning_rate = 0.02
evaluate_every = 4
save_every = 2
"""
AT = "2024-02-01 05:00"


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    return train_once(tmp_path_factory, "waves", write_recipe(RECIPE))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Return two series of waves."""
    path = tmp_path_factory.mktemp("waves") / "waves.csv"
    assert jumok("sample", "waves", path, "--number", 2, "--split", "train").code == 0
    return path


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def told(*arguments, **options):
    done = jumok(*arguments, **options)
    assert done.code == 0, done.err
    return done.out


def test_help_names_every_option(run):
    from jumok.cli.forecast import forecast

    text = told("forecast", "--help")
    names = [
        f"--{name.replace('_', '-')}" for name in inspect.signature(forecast).parameters if name not in ("run", "table")
    ]
    names = [{"--csv-file": "--csv", "--as-json": "--json", "--open-page": "--open"}.get(name, name) for name in names]
    assert len(names) == 11
    assert all(name in text for name in names)


def test_steps_fewer_and_more(run, table):
    whole = rows_of(told("forecast", run, table, "--at", AT))
    assert len(whole) == 2 * 6
    few = rows_of(told("forecast", run, table, "--at", AT, "--steps", 2))
    assert few == [row for place, row in enumerate(whole) if place % 6 < 2]
    done = jumok("forecast", run, table, "--at", AT, "--steps", 14)
    assert (
        "the model was trained for 6 steps; those beyond are made of its own forecasts, step by step less sure"
        in done.err
    )
    more = rows_of(done.out)
    assert [row for place, row in enumerate(more) if place % 14 < 6] == whole
    assert more[13]["date"] == "2024-02-01 19:00"
    wide = [float(row["0.9"]) - float(row["0.1"]) for row in more[:14]]
    assert min(wide) > 0
    assert wide[12] >= wide[6] >= wide[0], "less sure"


def test_quantiles(run, table):
    row = rows_of(told("forecast", run, table, "--at", AT, "--quantiles", "0.9,0.2,0.5"))[0]
    assert list(row) == ["series", "date", "target", "point", "0.2", "0.5", "0.9", "truth"]
    assert float(row["0.2"]) < float(row["0.5"]) == float(row["point"]) < float(row["0.9"])
    (one,) = rows_of(told("forecast", run, table, "--at", AT, "--quantiles", ".3", "--series", "wave-1", "--steps", 1))
    assert list(one) == ["series", "date", "target", "point", "0.3", "truth"]


def test_series_may_be_named_again_and_again(run, table):
    whole = told("forecast", run, table, "--at", AT)
    both = told("forecast", run, table, "--at", AT, "--series", "wave-1", "--series", "wave-0", "--series", "wave-1")
    wanted, found = rows_of(whole), rows_of(both)
    assert [row["series"] for row in found] == ["wave-1"] * 6 + ["wave-0"] * 6
    for row, other in zip(found, [*wanted[6:], *wanted[:6]], strict=True):
        assert row["date"] == other["date"]
        assert float(row["point"]) == pytest.approx(float(other["point"]), rel=1e-5)
    message = refusal(jumok("forecast", run, table, "--at", AT, "--series", "wave-7"))
    assert message == "the table has no series 'wave-7'; did you mean 'wave-1'?"


def test_files_beside_json(run, table, tmp_path):
    pytest.importorskip("matplotlib")
    files = {"--csv": tmp_path / "f.csv", "--png": tmp_path / "f.png", "--html": tmp_path / "f.html"}
    given = [part for pair in files.items() for part in pair]
    out = told("forecast", run, table, "--at", AT, *given, "--json")
    said, objects = out.splitlines()[:3], [json.loads(line) for line in out.splitlines()[3:]]
    assert [line.split(":")[0] for line in said] == ["table", "image", "page"]
    assert [one["series"] for one in objects] == ["wave-0", "wave-1"]
    assert (tmp_path / "f.csv").read_text() == told("forecast", run, table, "--at", AT)
    assert (tmp_path / "f.png").read_bytes()[:4] == b"\x89PNG"
    assert "wave-1" in (tmp_path / "f.html").read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.csv", "f.html", "f.png"]


def test_the_page_is_opened(run, table, monkeypatch):
    import webbrowser

    seen = []
    monkeypatch.setattr(webbrowser, "open", lambda place: seen.append(place) or True)
    told("forecast", run, table, "--at", AT, "--open")
    told("look", run, table, "--at", AT, "--series", "wave-0", "--open")
    assert len(seen) == 2


def test_checkpoints_differ(run, table):
    found = {
        name: told("forecast", run, table, "--at", AT, "--checkpoint", name) for name in ("last", "step-2", "step-4")
    }
    assert found["last"] == found["step-4"] != found["step-2"]
    looks = {
        name: told("look", run, table, "--at", AT, "--series", "wave-0", "--checkpoint", name)
        for name in ("step-2", "last")
    }
    assert looks["step-2"] != looks["last"]


def test_a_filter_in_and_out(run, table):
    content = table.read_bytes()
    plain = told("forecast", run, table, "--at", AT)
    assert told("forecast", run, "--at", AT, stdin=content) == plain
    assert told("forecast", run, "-", "--at", AT, stdin=content.replace(b"\r\n", b"\n")) == plain
    head, *rows = content.decode().splitlines()
    names = head.split(",")
    objects = "\n".join(json.dumps(dict(zip(names, row.split(","), strict=True))) for row in rows)
    assert told("forecast", run, "--at", AT, stdin=objects) == plain, "JSONL in a pipe"


LOOKS = {
    "a step": ["--step", 6],
    "a target": ["--target", "value"],
    "a layer and a head": ["--layer", 1, "--head", 2],
    "cross": ["--kind", "cross"],
    "occlusion": ["--kind", "occlusion"],
}


@pytest.mark.parametrize("case", LOOKS)
def test_look_at_a_table(run, table, case, tmp_path):
    pytest.importorskip("matplotlib")
    given = ["look", run, table, "--at", AT, "--series", "wave-1", *LOOKS[case]]
    found = json.loads(told(*given, "--json"))
    assert (found["series"], found["origin"], found["target"]) == ("wave-1", AT, "value")
    assert found["step"] == (6 if case == "a step" else 1)
    if case != "occlusion":
        assert len(found["weights"]) == 48
        assert sum(found["weights"]) == pytest.approx(1, abs=1e-4)
    assert ("layer 1" in found["what"]) == (case == "a layer and a head")
    assert f"step {found['step']} of 6" in told(*given)
    told(*given, "--png", tmp_path / "l.png", "--html", tmp_path / "l.html")
    assert (tmp_path / "l.png").read_bytes()[:4] == b"\x89PNG"
    assert "<html" in (tmp_path / "l.html").read_text(encoding="utf-8")


def test_compare(run, table, tmp_path):
    pytest.importorskip("matplotlib")
    other, small = tmp_path / "other", tmp_path / "small.csv"
    small.write_text("".join(table.read_text().splitlines(keepends=True)[:200]))
    recipe = write_recipe(RECIPE.replace('tokens = "steps"', "linear = false"))(tmp_path)
    assert jumok("train", recipe, "--out", other).code == 0
    found = json.loads(told("compare", run, other, "--json"))
    (val,) = found.values()
    assert [one["name"] for one in val["runs"]] == ["waves-run", "other"]
    assert val["runs"][1]["scores"]["mse"] > val["runs"][0]["scores"]["mse"], "without its ridge it knows little"
    assert "Diebold-Mariano test against waves-run" in told("compare", run, other, "--png", tmp_path / "c.png")
    assert (tmp_path / "c.png").read_bytes()[:4] == b"\x89PNG"
    for options in (["--split", "test"], ["--source", small], ["--checkpoint", "step-2"]):
        (scored,) = json.loads(told("compare", run, other, "--json", *options)).values()
        (alone,) = json.loads(told("evaluate", run, "--json", *options)).values()
        assert scored["runs"][0]["scores"]["mse"] == pytest.approx(alone["mse"], rel=1e-5)
    assert told("compare", run, other, "--markdown").startswith("| run |")
