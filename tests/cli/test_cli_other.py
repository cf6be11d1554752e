"""The smaller commands: help, version, completion, list, check, cache, schema, fetch, look."""

import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time
import tomllib
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cli.conftest import SHIPPED_TOLD, SMALL_RECIPE, digit_pairs, jumok, listing, write_lines
from typer.main import get_command

from jumok.cli.main import app
from jumok.config.recipe import shipped_recipes
from jumok.data.fetch import DOWNLOADS, Download, RemoteFile

COMMANDS = list(get_command(app).commands)


def shell(*arguments: str, **variables: str) -> subprocess.CompletedProcess:
    code = "import sys; sys.argv[0] = 'jumok'; from jumok.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        check=False,
    )


# --- help, version, completion


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(command):
    done = jumok(command, "--help")
    text = " ".join(done.out.split())
    assert done.code == 0
    assert re.search(rf"Example: jumok {command}\b", text), text
    assert jumok(command, "-h").out == done.out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_options_in_an_example_exist(command):
    found = get_command(app).commands[command]
    known = {name for parameter in found.params for name in parameter.opts}
    for line in re.findall(r"\[bold\](.*?)\[/bold\]", found.help):
        if line.startswith(f"jumok {command} "):
            assert set(re.findall(r"(?<= )--[\w-]+", line)) <= known, line


def test_all_commands_are_there():
    assert set(COMMANDS) == {
        "caption",
        "draw",
        "list",
        "check",
        "train",
        "new",
        "recipe",
        "sample",
        "evaluate",
        "translate",
        "export",
        "generate",
        "classify",
        "fill",
        "forecast",
        "import",
        "look",
        "compare",
        "fetch",
        "cache",
        "schema",
    }
    text = jumok("--help").out
    for command in COMMANDS:
        assert f" {command} " in text


def test_help_is_quick_and_brings_in_nothing_heavy():
    code = (
        "import sys; sys.argv = ['jumok', '--help']\n"
        "from jumok.cli.main import main\n"
        "try: main()\n"
        "finally: print('\\nheavy:', [name for name in ('torch', 'numpy', 'tokenizers', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("heavy: []\n")
    times = []
    for _ in range(5):
        started = time.perf_counter()
        assert shell("--help").returncode == 0
        times.append(time.perf_counter() - started)
        if times[-1] < 0.4:
            break
    assert min(times) < 0.8  # 0.3 s on an idle machine


def test_version_and_unknown_commands():
    from jumok import __version__

    assert jumok("--version") == (0, f"jumok {__version__}\n", "")
    done = jumok("trian")
    assert done.code == 2
    assert "No such command 'trian'" in done.err
    assert "Traceback" not in done.err


def test_completion_knows_commands_recipes_and_runs(copy_run, tmp_path):
    def complete(words: str) -> list[str]:
        variables = {"_JUMOK_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        return shell(**variables).stdout.split()

    assert complete("jumok tra") == ["train", "translate"]
    assert complete("jumok train dates-t") == ["dates-transformer"]
    assert set(complete("jumok check ")) == set(shipped_recipes())
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "copies").symlink_to(copy_run)
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        assert complete("jumok translate ru") == ["runs/copies"]
    finally:
        os.chdir(here)


def test_an_error_ends_a_process_with_code_2_and_a_sentence():
    done = shell("translate", "no-such-run", "a")
    assert (done.returncode, done.stdout) == (2, "")
    none = "there is no run folder no-such-run; jumok train RECIPE --out no-such-run makes one"
    assert done.stderr == f"jumok: {none}{SHIPPED_TOLD}\n"


# --- list, schema


def test_list_names_everything():
    done, groups = jumok("list"), json.loads(jumok("list", "--json").out)
    assert set(groups["recipes"]) == set(shipped_recipes())
    assert {"dates", "copy", "reverse"} <= set(groups["data sets"])
    assert "transformer" in groups["models"]
    assert "translation" in groups["tasks"]
    for entries in groups.values():
        for name, summary in entries.items():
            assert name in done.out
            assert summary


def allows(schema: dict, value: object, root: dict) -> bool:
    """Say whether a JSON schema allows a value: the few keywords that ours uses."""
    if "$ref" in schema:
        return allows(root["$defs"][schema["$ref"].removeprefix("#/$defs/")], value, root)
    if "anyOf" in schema:
        return any(allows(option, value, root) for option in schema["anyOf"])
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
    kind = schema.get("type")
    if kind and (not isinstance(value, kinds[kind]) or (kind != "boolean" and isinstance(value, bool))):
        return False
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        return False
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        return False
    if isinstance(value, dict):
        known = schema["properties"]
        if not set(schema.get("required", [])) <= set(value):
            return False
        free = schema.get("additionalProperties", False) is True
        return all(allows(known[key], part, root) if key in known else free for key, part in value.items())
    if isinstance(value, list):
        return all(allows(schema["items"], part, root) for part in value)
    return True


@pytest.fixture(scope="module")
def schema():
    return json.loads(jumok("schema").out)


def test_the_schema_allows_a_recipe_and_nothing_misspelt(schema):
    assert schema["$schema"].startswith("https://json-schema.org/")
    listed = tomllib.loads(SMALL_RECIPE.replace("{ source", "[{ source").replace('s" }', 's" }]'))
    assert allows(schema, listed, schema)
    assert allows(schema, listed | {"task": "own:TASK", "model": {"name": "own:Model", "whatever": 3}}, schema)
    assert not allows(schema, listed | {"model": {"name": "ownModel", "whatever": 3}}, schema)
    assert not allows(schema, listed | {"modle": {}}, schema)
    assert not allows(schema, listed | {"model": {"widht": 3}}, schema)
    assert not allows(schema, listed | {"model": {"norm": "bach"}}, schema)
    assert not allows(schema, listed | {"training": {"steps": "many"}}, schema)


@pytest.mark.parametrize("name", shipped_recipes())
def test_the_schema_knows_every_key_of_a_shipped_recipe(name, schema):
    recipe = tomllib.loads(shipped_recipes()[name].read_text(encoding="utf-8"))
    for section, table in recipe.items():
        if isinstance(table, dict):
            known = [
                schema["$defs"][option["$ref"].rsplit("/")[-1]]["properties"]
                for option in schema["properties"][section]["anyOf"]
            ]
            assert any(set(table) <= set(keys) for keys in known), section


@pytest.mark.parametrize("name", shipped_recipes())
def test_the_schema_allows_every_shipped_recipe(name, schema):
    recipe = tomllib.loads(shipped_recipes()[name].read_text(encoding="utf-8"))
    assert allows(schema, recipe, schema)


# --- check, new


def test_check_writes_nothing_but_the_cache(small, monkeypatch, tmp_path):
    monkeypatch.chdir(small.parent)
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))
    before = listing(small.parent)
    done = jumok("check", "small.toml")
    assert done.code == 0, done.err
    assert listing(small.parent) == before
    assert len(list((tmp_path / "cache").iterdir())) == 3  # tokenizer, train, val
    for word in (
        "train",
        "val.digits",
        "3 pairs",
        "▁1",
        "→ ▁",
        "parameters",
        "largest batch",
        "MB at its peak",
        "an epoch",
    ):
        assert word in done.out
    counted = re.search(r"train +60 +60", done.out)
    assert counted, done.out


def test_check_finds_problems_and_says_their_cures(small):
    folder = small.parent
    for side in ("digits", "words"):
        train = (folder / f"train.{side}").read_text(encoding="utf-8").splitlines()
        write_lines(folder / f"train.{side}", [*train, *[""] * 5])
        write_lines(folder / f"val.{side}", train[:6])
    done = jumok(
        "check",
        small,
        "--set",
        "training.warmup=50",
        "--set",
        "training.steps=20",
        "--set",
        "training.batch_tokens=2000",
    )
    assert done.code == 0, done.err
    problems = dict(re.findall(r"problem  (.*)\ncure     (.*)", done.out))
    assert problems == {
        "5 of 65 training pairs are dropped (60 of 65 pairs kept (5 dropped: 5 empty source))":
            "look at data.max_length and data.max_ratio, and for empty lines in the files",
        "6 of 6 sources of val.digits also stand in the training data: its scores will flatter (6 equal but for case and "
        "punctuation; number 1, '1 3', is training source 1, '1 3')":
            "take them out of the training data, or divide the data by whole documents",
        "training.warmup (50) is not below training.steps (20): the peak learning rate is never reached":
            "set training.warmup = 2",
        "an epoch has only 1 step": "lower training.batch_tokens (now 2,000)",
    }  # fmt: skip
    report = json.loads(jumok("check", small, "--json", "--set", "training.warmup=50").out)
    assert report["counts"]["train"]["empty_source"] == 5
    assert len(report["samples"]) == 3
    assert any("warmup" in problem for problem, _ in report["problems"])


# --- cache, fetch


def test_the_cache_is_shown_and_cleared(small, monkeypatch, tmp_path):
    cache = tmp_path / "cache"
    monkeypatch.setenv("JUMOK_CACHE", str(cache))
    assert jumok("cache").out == f"{cache}: 0 entries, 0.0 MB\n"
    assert jumok("train", small, "--out", tmp_path / "run").code == 0
    assert re.fullmatch(rf"{cache}: 3 entries, 0\.\d MB\n", jumok("cache").out)
    keep = cache / "not ours"
    keep.mkdir()
    assert re.fullmatch(rf"0\.\d MB freed in {cache}\n", jumok("cache", "--clear").out)
    assert list(cache.iterdir()) == [keep]
    assert jumok("translate", tmp_path / "run", "1 2").code == 0  # a run needs no cache


class Quiet(SimpleHTTPRequestHandler):
    """Serve a folder and say nothing."""

    def log_message(self, *arguments):
        pass


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A server that has a small set under the name and the files of Multi30k."""
    home = tmp_path / "mirror"
    home.mkdir()
    files = {}
    for name, pairs in {"train": digit_pairs(60), "val": digit_pairs(6, first=900)}.items():
        for language, side in [("en", 0), ("de", 1)]:
            content = gzip.compress("".join(f"{pair[side]}\n" for pair in pairs).encode())
            (home / f"{name}.{language}.gz").write_bytes(content)
            files[f"{name}.{language}.gz"] = RemoteFile(
                "http://127.0.0.1:1/gone", hashlib.sha256(content).hexdigest(), len(content)
            )
    monkeypatch.setitem(DOWNLOADS, "multi30k", Download("multi30k", "digits", "free to all", files))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(home))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_what_fetch_brings_is_where_the_recipe_looks(mirror, tmp_path, monkeypatch):
    monkeypatch.setenv("JUMOK_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    quick = ["--set", "training.steps=2", "--set", "model.layers=1", "--set", "tokenizer.vocabulary=300", "--set", "data.max_length=64",
             "--set", "training.evaluate_sentences=2", "--out", "run"]  # fmt: skip
    done = jumok("train", "multi30k-en-de", *quick)
    assert done.code == 2
    assert done.err.endswith("       This set has a public home: jumok fetch multi30k\n")
    assert not (tmp_path / "run").exists()
    done = jumok("fetch", "multi30k", "--from", mirror)
    assert done == (0, f"multi30k is in {tmp_path / 'home' / 'multi30k'}\nlicence: free to all\n", "")
    assert len(list((tmp_path / "home" / "multi30k").glob("*.gz"))) == 4
    done = jumok("train", "multi30k-en-de", *quick)
    assert done.code == 0, done.err
    assert "60 pairs" in done.err


def test_fetch_into_a_folder_of_ones_own(mirror, tmp_path):
    done = jumok("fetch", "multi30k", tmp_path / "here", "--from", mirror + "/")
    assert done.code == 0
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == [
        "train.de.gz",
        "train.en.gz",
        "val.de.gz",
        "val.en.gz",
    ]
    assert (
        jumok("fetch", "multi30k", tmp_path / "here", "--from", "http://127.0.0.1:1").code == 0
    )  # all there: nothing to ask
    done = jumok("fetch", "nsmc", tmp_path / "other")
    assert done == (
        2, "", "jumok: 'nsmc' is not among the sets that jumok can fetch (multi30k); the head of its recipe says where it "
        "comes from: jumok recipe nsmc-bert\n"
    )  # fmt: skip
    done = jumok("fetch", "multi30", tmp_path / "other")
    assert done == (2, "", "jumok: there is no set 'multi30' to fetch; did you mean 'multi30k'?\n")


# --- look


def test_look_draws_the_diagonal_of_a_copy(copy_run):
    done = jumok("look", copy_run, "k c a z")
    lines = done.out.splitlines()
    assert lines[0] == "k c a z  →  k c a z"
    assert lines[1] == "cross attention, its one layer, mean of 2 heads"
    rows = [line for line in lines if line.rstrip().endswith("%")]
    assert len(rows) == 5
    for letter, row in zip("kcaz", rows, strict=False):
        assert re.match(rf"\s*▁{letter}  ", row)
        assert re.search(rf"  ▁{letter} \d+%$", row)
    assert "\x1b" not in done.out


def test_look_draws_a_image(copy_run, tmp_path):
    figure = tmp_path / "look.png"
    done = jumok("look", copy_run, "k c a z", "--png", figure)
    assert done == (0, f"k c a z  →  k c a z\ncross attention, its one layer, mean of 2 heads: {figure}\n", "")
    assert figure.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    done = jumok("look", copy_run, "k", "--png", tmp_path / "no" / "look.png")
    assert done == (2, "", f"jumok: --png {tmp_path}/no/look.png: must be a file in a folder that exists\n")


def test_look_as_json_sums_to_one(copy_run):
    found = json.loads(jumok("look", copy_run, "k c a", "--json").out)
    assert (found["text"], found["keys"], found["queries"]) == (
        "k c a",
        ["▁k", "▁c", "▁a", "[END]"],
        ["▁k", "▁c", "▁a", "[END]"],
    )
    assert [sum(row) for row in found["weights"]] == pytest.approx([1.0] * 4, abs=1e-5)
    one = json.loads(jumok("look", copy_run, "k c a", "--json", "--layer", 1, "--head", 2).out)
    other = json.loads(jumok("look", copy_run, "k c a", "--json", "--head", 1).out)
    for mean, first, second in zip(found["weights"], one["weights"], other["weights"], strict=True):
        assert mean == pytest.approx([(a + b) / 2 for a, b in zip(first, second, strict=True)], abs=1e-6)


def test_look_at_another_kind_and_another_target(copy_run):
    decoder = json.loads(jumok("look", copy_run, "k c", "--kind", "decoder", "--target", "x y z", "--json").out)
    assert decoder["queries"] == ["▁x", "▁y", "▁z", "[END]"]
    assert decoder["keys"] == ["[START]", "▁x", "▁y", "▁z"]
    for place, row in enumerate(decoder["weights"]):
        assert sum(row[place + 1 :]) == 0.0, "the future was looked at"
    encoder = json.loads(jumok("look", copy_run, "k c", "--kind", "encoder", "--json").out)
    assert encoder["queries"] == encoder["keys"] == ["▁k", "▁c", "[END]"]


def test_look_at_nothing_at_too_much_and_at_other_scripts(copy_run, babble_run):
    assert jumok("look", copy_run, "").code == 0
    done = jumok("look", copy_run, "a " * 60)
    assert done.code == 0
    assert done.err.startswith("warning: line 1 has 61 tokens, the model takes 40")
    for text in ("2026년 11월", "रविवार", "🦊 الأحد", "[bold]x[/bold]", ":dog: 1", "1 " * 60):
        done = jumok("look", babble_run, text)
        assert done.code == 0, done.err
        assert f"{text}  →  " in done.out
    assert jumok("look", babble_run, "1", "--target", "x" * 500).code == 0  # past the learned table: cut


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--kind", "cros"], "--kind cros: this model has encoder, decoder, cross"),
        (["--layer", 2], "--layer 2: there are 1"),
        (["--head", 3], "--head 3: there are 2"),
    ],
)
def test_look_refuses_what_the_model_has_not(copy_run, options, message):
    assert jumok("look", copy_run, "a", *options) == (2, "", f"jumok: {message}\n")
