"""docs/extend.md, block by block: files are written, commands typed, Python run; and what is missing is told."""

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
from cli.conftest import jumok, refusal, reviews, write_lines

import jumok as library
from jumok import catalogue
from jumok.errors import ConfigError
from jumok.runs.run import Run, load_recipe

PAGE = Path(__file__).parents[2] / "docs" / "extend.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def write_files(folder):
    """Write the files of the page, and the table that its recipe names."""
    for language, text in BLOCKS:
        if name := re.match(r"# ([\w.]+)\n", text):
            assert name[1].endswith({"python": ".py", "toml": ".toml"}[language])
            (folder / name[1]).write_text(text, encoding="utf-8")
    write_lines(folder / "reviews.tsv", ["text\tlabel", *map("\t".join, reviews(300, seed=1))])


@pytest.fixture
def forgotten():
    """Forget the page's modules before and after, as a new process would."""
    for name in ("neighbours", "balanced"):
        sys.modules.pop(name, None)
    yield
    for name in ("neighbours", "balanced"):
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return a folder in which the page's commands were typed, and what each printed."""
    folder, done = tmp_path_factory.mktemp("extend"), {}
    write_files(folder)
    with contextlib.chdir(folder):
        for command in "".join(text for language, text in BLOCKS if language == "sh").splitlines():
            done[command] = jumok(*shlex.split(command)[1:])
    for name in ("neighbours", "balanced"):
        sys.modules.pop(name, None)
    return folder, done


def test_every_command_works(trained):
    _, done = trained
    for command, result in done.items():
        assert result.code == 0, (command, result)
    checked, _, resumed, scored, named, _, balanced = done.values()
    assert "no problems found" in checked.out
    assert "going on from step 60" in resumed.err
    assert float(re.search(r"accuracy ([\d.]+) %", scored.out)[1]) > 90
    assert named.out.split("\t")[0] == "good"
    assert float(re.search(r"accuracy ([\d.]+) %", balanced.out)[1]) > 90


def test_its_python_looks_inside(trained, forgotten, monkeypatch):
    monkeypatch.chdir(trained[0])
    (code,) = [text for language, text in BLOCKS if language == "python" and text.startswith("import jumok")]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names := {})
    assert "['encoder', 'pooling']" in printed.getvalue()
    near = names["record"].of_kind("encoder")[0].weights[0]
    places = range(near.shape[-1])
    assert all(near[:, i, j].max() == 0 for i in places for j in places if abs(i - j) > 1), "a window of 1"


def test_a_run_finds_its_class_from_anywhere_and_says_when_it_is_gone(trained, tmp_path):
    """In processes of their own: nothing is imported yet, and another folder is the working directory."""
    folder = tmp_path / "moved"
    shutil.copytree(trained[0], folder, symlinks=True)
    run = trained[0] / "runs" / "neighbours"
    assert Run.open(run).facts["code_folders"] == [str(trained[0])]

    def classify(run):
        command = [sys.executable, "-m", "jumok", "classify", str(run), "a lovely film"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert classify(run).stdout.startswith("good\t")
    gone = folder / "runs" / "neighbours"
    (gone / "run.json").write_text((gone / "run.json").read_text().replace(str(trained[0]), str(tmp_path / "nowhere")))
    done = classify(gone)
    assert (done.returncode, done.stdout) == (2, "")
    assert "'neighbours:Neighbours': there is no module 'neighbours' among the installed packages or in" in done.stderr
    assert "set PYTHONPATH to the folder that holds it" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_search_path_is_as_it_was(trained, forgotten, monkeypatch):
    monkeypatch.chdir(trained[0])
    before = list(sys.path)
    load_recipe("neighbours.toml")
    assert sys.path == before
    assert str(trained[0]) not in sys.path


def test_only_a_recipe_that_names_it_runs_code(trained, forgotten, monkeypatch):
    monkeypatch.chdir(trained[0])
    load_recipe("dates-transformer")
    assert "neighbours" not in sys.modules


@pytest.mark.parametrize(
    ("code", "name", "why"),
    [
        ("", "own:Missing", r"'own:Missing': .*own.py has no 'Missing'"),
        ("Thing = 3", "own:Thing", r"'own:Thing' is no model: it must be a subclass of jumok.nn.model.Model"),
        ("1 / 0", "own:Thing", r"'own:Thing' cannot be imported: ZeroDivisionError: division by zero"),
        ("import nothing_of_this_name", "own:Thing", r"'own:Thing' cannot be imported: No module named 'nothing_of"),
        ("", "own.py:Thing:x", r"'own.py:Thing:x' must look like package.module:Class"),
        ("from jumok.nn.model import Model\nclass Own(Model): pass", "own:Own", r"'own:Own' lacks features"),
        (
            "from jumok.nn.model import Model\nclass Own(Model):\n    def features(self, batch): pass",
            "own:Own",
            r"'own:Own' needs a Config, a subclass of jumok.config.ModelConfig",
        ),
        (
            "from jumok.models.gpt import GPT\nclass Own(GPT):\n    tasks = ()",
            "own:Own",
            r"'own:Own' does not say what it is for, such as tasks = ",
        ),
    ],
)
def test_what_is_no_model_is_told(tmp_path, monkeypatch, code, name, why):
    monkeypatch.delitem(sys.modules, "own", raising=False)
    (tmp_path / "own.py").write_text(code)
    (tmp_path / "r.toml").write_text(f'[data]\nset = "copy"\n[model]\nname = "{name}"\n')
    with pytest.raises(ConfigError, match=f"^r.toml: {why}"):
        load_recipe(tmp_path / "r.toml")
    sys.modules.pop("own", None)


def test_two_modules_of_one_name_are_not_taken_for_one_another(trained, forgotten, tmp_path):
    load_recipe(trained[0] / "neighbours.toml")
    write_files(tmp_path)
    with pytest.raises(ConfigError, match=r"a module 'neighbours' was imported from .* before, but .* is meant"):
        load_recipe(tmp_path / "neighbours.toml")


def test_a_config_without_a_place_for_what_the_data_says(tmp_path, forgotten):
    write_files(tmp_path)
    text = (tmp_path / "neighbours.py").read_text().replace('("vocabulary", "classes")', '("vocabulary",)')
    (tmp_path / "neighbours.py").write_text(text)
    with pytest.raises(ConfigError, match="has no place for classes, which text-classification fills in"):
        library.train(tmp_path / "neighbours.toml", out=tmp_path / "run", quiet=True)


def test_an_export_is_refused_in_a_sentence(trained, forgotten, tmp_path):
    run = trained[0] / "runs" / "neighbours"
    assert refusal(jumok("export", run, tmp_path / "x", "--to", "onnx")) == (
        f"{run} is no run of a translator; jumok exports those to onnx"
    )


def test_installed_packages_register_names(trained, forgotten, monkeypatch):
    monkeypatch.chdir(trained[0])
    monkeypatch.syspath_prepend(trained[0])
    points = [
        EntryPoint("neighbours", "neighbours:Neighbours", "jumok.models"),
        EntryPoint("balanced", "balanced:BALANCED", "jumok.tasks"),
    ]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: EntryPoints(points).select(group=group))
    recipe = load_recipe("neighbours.toml", {"model.name": "neighbours", "task": "balanced"})
    assert type(recipe.model).__name__ == "NeighboursConfig"
    assert catalogue.predictor_class("balanced") is library.TextClassifier
    assert "neighbours:Neighbours" in jumok("list").out
    with pytest.raises(ConfigError, match="there is no model 'neighbors'; did you mean 'neighbours'"):
        load_recipe("neighbours.toml", {"model.name": "neighbors"})


def test_a_class_of_a_notebook_may_stand_in_the_recipe(trained, forgotten, tmp_path):
    raw = {
        "task": "text-classification",
        "data": {"train": {"file": trained[0] / "reviews.tsv"}},
        "model": {"name": library.load(trained[0] / "runs" / "neighbours").model.__class__, "width": 8},
        "training": {"steps": 1},
    }
    run = library.train(raw, out=tmp_path / "run", quiet=True)
    assert Run.open(run).recipe.model.name == "neighbours:Neighbours"
