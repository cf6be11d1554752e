"""docs/python.md: its blocks run in order and pass mypy, as README's do; each command has its name in Python."""

import contextlib
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from cli.conftest import bert_run, reviews, write_lines  # noqa: F401 - fixtures
from typer.main import get_command

import jumok
from jumok.cli.main import app
from jumok.runs.job import prepare_job

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "python.md"


def blocks(page, language):
    """Return the blocks of code of a page."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """Return the names that the page's blocks leave, run one after another."""
    found = {}
    with contextlib.chdir(tmp_path_factory.mktemp("page")):
        for number, text in enumerate(blocks(PAGE, "python")):
            exec(compile(text, f"block {number}", "exec"), found)
    return found


def test_the_blocks_do_what_they_say(names):
    assert len(names["losses"]) == 10, "from step 30 on, stopped at 40"
    assert isinstance(names["one"], str)
    assert [type(text) for text in names["many"]] == [str, str]
    assert names["shipped"] == "Who are you?"
    assert repr(names["explanation"]).startswith("Explanation('a b c' → ")


def test_the_short_recipe_fine_tunes(bert_run, tmp_path):  # noqa: F811
    (text,) = blocks(PAGE, "toml")
    write_lines(tmp_path / "reviews.tsv", ["text\tlabel", *map("\t".join, reviews(80, seed=1))])
    (tmp_path / "tune.toml").write_text(text)
    changes = {"training.init": bert_run, "data.max_length": 16}  # a small one stands for the imported BERT
    job = prepare_job(tmp_path / "tune.toml", out=tmp_path / "run", overrides=changes)
    assert job.notes[1] == "new: project.weight, project.bias"
    assert set(tomllib.loads(text)) == {"task", "data", "training"}


def test_every_command_has_its_name_in_python():
    rows = dict(re.findall(r"^\| `jumok (\w+)` \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert set(rows) == set(get_command(app).commands)
    for cell in rows.values():
        for name in re.findall(r"`jumok\.([\w.]+)`", cell):
            first, *rest = name.split(".")
            found = getattr(jumok, first) if first in jumok.__all__ else import_module(f"jumok.{first}")
            for part in rest:
                found = getattr(found, part)


def test_what_pages_show_passes_mypy(tmp_path):
    """Blocks of a page are one file; one that names its file stands alone."""
    for page in (ROOT / "README.md", ROOT / "README.ko.md", PAGE, ROOT / "docs" / "extend.md"):
        together = []
        for text in blocks(page, "python"):
            if name := re.match(r"# (\w+\.py)\n", text):
                (tmp_path / name[1]).write_text(text, encoding="utf-8")
            else:
                together.append(text)
        (tmp_path / f"{page.stem.replace('.', '_')}.py").write_text("\n".join(together), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", *tmp_path.glob("*.py")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
