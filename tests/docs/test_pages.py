"""Pages that stay true: commands and files that exist, links that lead somewhere, heads of recipes in one form."""

import ast
import importlib
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import jumok

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import tree  # noqa: E402

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")), ROOT / "benchmarks" / "README.md"]
RECIPES = sorted((ROOT / "jumok" / "recipes").glob("*.toml"))
SCRIPTS = [*sorted((ROOT / "benchmarks").glob("*.py")), *sorted((ROOT / "tools").glob("*.py"))]

# Folders that only one machine has. Tests may name them where they look for them: (file, text).
OF_ONE_MACHINE = re.compile(r"(?<![\w.~])/(?:tmp|root|work|home|farm|Users)/\w[\w./-]*|\.\./shared/")
ALLOWED = {
    ("tests/workflows/test_ship.py", "/home/me/secret/train.tsv"),
    ("tests/workflows/test_ship.py", "/home/me/runs/first"),
}


def name(path):
    return path.relative_to(ROOT).as_posix()


def tracked_files():
    """Return the files that git knows, or all of an unpacked sdist."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]
    return [path for path in ROOT.rglob("*") if path.is_file() and not {".venv", "__pycache__"} & set(path.parts)]


def prose(text):
    """Return the lines of a page that are not inside a block of code."""
    return re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.DOTALL | re.MULTILINE).splitlines()


def without_tree(text):
    """Return a page without the tree of files, which is made of their own words."""
    return re.sub(r"<!-- tree: .*?<!-- end of tree -->", "", text, flags=re.DOTALL)


def test_no_tracked_file_names_a_folder_of_one_machine():
    found = []
    for path in tracked_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # weights and images
        if path != Path(__file__):
            found += [(name(path), one) for one in OF_ONE_MACHINE.findall(text)]
    assert not set(found) - ALLOWED


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_lines_of_pages_fit_a_screen(page):
    """Tables may be wider: a row cannot be broken."""
    long = [line for line in page.read_text(encoding="utf-8").splitlines() if len(line) > 120 and line[:1] != "|"]
    assert not long


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target, _, anchor in re.findall(r"\]\(((?!https?:)[^)#\s]*)(#([^)\s]+))?\)", text):
        there = page.parent / target if target else page
        assert there.exists(), f"{name(page)} links to {target}"
        if anchor:
            titles = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
            assert anchor in slugs, f"{name(page)} links to {target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_that_pages_name_exist(page):
    """`nn/attention.py`, `docs/look.md`: from the root, from jumok/ or from beside the page."""
    text = without_tree(page.read_text(encoding="utf-8"))
    for file in re.findall(r"`((?:\w[\w-]*/)+[\w-]+\.(?:py|c|h|js|md|toml))(?::\w+)?`", "\n".join(prose(text))):
        if not re.search(r"[A-Z]{3}", file):  # models/NAME.py stands for any
            homes = [ROOT / file, ROOT / "jumok" / file, page.parent / file]
            assert any(home.exists() for home in homes), f"{name(page)} names {file}"


@pytest.mark.parametrize("page", [*PAGES, *RECIPES], ids=name)
def test_commands_name_real_options(page):
    """Each `jumok …` of a page or of a recipe's head uses a command and options that exist."""
    from typer.main import get_command

    from jumok.cli.main import app

    commands = get_command(app).commands
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = re.findall(r"^ *```(?:sh)?\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    code = [*blocks, *re.findall(r"`([^`\n]+)`", text), *re.findall(r"^#   (.*)$", text, re.MULTILINE)]
    found = [
        one for part in code for one in re.findall(r"(?:^|&& )(?:python -m )?jumok (\w\S*)(.*)", part, re.MULTILINE)
    ]
    for command, rest in found:
        if command in {"size"} and page.name == "CONTRIBUTING.md":
            continue  # the example of a new command
        assert command in commands, f"{name(page)}: jumok {command}"
        known = {option for parameter in commands[command].params for option in parameter.opts} | {"--help"}
        for option in re.findall(r"(?<=\s)--[\w-]+", re.split(r"\s#|&&", rest)[0]):
            assert option in known, f"{name(page)}: jumok {command} has no {option}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_modules_and_scripts_that_pages_run_exist(page):
    text = page.read_text(encoding="utf-8")
    for module in re.findall(r"python -m (jumok[\w.]*)", text):
        assert (ROOT / module.replace(".", "/")).with_suffix(".py").exists() or module == "jumok", module
    for script in re.findall(r"python ((?:benchmarks|tools|docs)/[\w/]+\.py)", text):
        assert (ROOT / script).exists(), script


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_old_words_are_gone(page):
    """The words of the field: image, masked token, activation; sentences that are quoted may say what they like."""
    text = without_tree(page.read_text(encoding="utf-8"))
    if page.name == "korean-200.md":
        text = text.partition("## All of them")[0]
    old = r"\bpictures?\b|\bgaps?\b|\bbend(?:s|ing)?\b|그림|\d (?:\w+ )?an? (?:second|epoch|token|step|line|sentence)\b"
    allowed = "picture-classification|`gaps`"  # the changelog tells the old names
    assert not re.findall(old, re.sub(allowed, "", text), re.IGNORECASE)


@pytest.mark.parametrize("recipe", RECIPES, ids=name)
def test_heads_of_recipes_say_command_time_and_score(recipe):
    head = re.match(r"(?:#.*\n)+", recipe.read_text(encoding="utf-8"))[0]
    assert re.match(rf"# \S.*\.\n#   (?:jumok fetch \w+ && )?(?:.* && )?jumok train {recipe.stem}\b.*\n", head)
    assert len(re.findall(r"^# Time:  .*(?:minute|hour)", head, re.MULTILINE)) == 1
    assert len(re.findall(r"^# Score: .*\d", head, re.MULTILINE)) == 1
    assert ("# Data:  " in head) == ("--data" in head), "whoever must give a folder is told what is in it"
    assert all(len(line) <= 120 for line in head.splitlines())


def test_entries_of_the_log_have_four_parts():
    _, *entries = re.split(r"^## ", (ROOT / "docs" / "log.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(entries) >= 39
    for entry in entries:
        title = entry.partition("\n")[0]
        assert re.search(r" \(\d{4}-\d\d-\d\d\)$", title), title
        shape = r".*?\*\*Question\.\*\* \S.*?\*\*Setup\.\*\* \S.*?\n\|.*?\*\*Decision\.\*\* \S"
        assert re.match(shape, entry, re.DOTALL), f"question, setup, table, decision: {title}"


@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_what_scripts_import_of_jumok_exists(script):
    """Imports inside functions count, too: nobody runs every benchmark after a renaming."""
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "jumok":
            module = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")


def test_results_name_no_folder_but_FOLDER(monkeypatch):  # noqa: N802
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    contest = importlib.import_module("contest")
    told = contest.command_line(["/x/y/benchmarks/images.py", "--data", "/data/sets", "--out", "../b", "--rounds", "3"])
    assert told == "python benchmarks/images.py --data FOLDER --out FOLDER --rounds 3"


def test_the_model_of_the_guide_works():
    """The example of CONTRIBUTING.md, as it stands there, learns and classifies."""
    import torch

    from jumok.nn.batch import LabelBatch

    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    code = textwrap.dedent(re.search(r'   ```python\n(   """Bag of words.*?)   ```', guide, re.DOTALL)[1])
    names = {"__name__": "bag_of_words"}
    exec(
        "from typing import ClassVar, Literal\nfrom pydantic import Field\nfrom torch import Tensor, nn\n"
        "from jumok.config import TextModelConfig\nfrom jumok.nn.batch import LabelBatch\nfrom jumok.nn.model import Model\n",
        names,
    )
    exec(code, names)
    model = names["BagOfWords"](names["BagOfWordsConfig"](vocabulary=11, width=7, classes=3))
    source, mask = torch.randint(11, (2, 5)), torch.ones(2, 5, dtype=torch.bool)
    mask[1, 3:] = False
    fields = dict.fromkeys(LabelBatch.__dataclass_fields__)
    logits = model(LabelBatch(**fields | {"source": source, "source_mask": mask, "labels": torch.tensor([0, 2])}))
    assert logits.shape == (2, 3)
    torch.testing.assert_close(logits[1], model.project(model.embed(source[1, :3]).mean(dim=0)))


def test_the_changelog_has_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(jumok.__version__)} \(\d{{4}}-\d\d-\d\d\)$", text, re.MULTILINE)


def test_every_file_has_a_line_in_the_tree():
    """docs/architecture.md has the tree of today; a file without a first line would stand there without a word."""
    page = tree.PAGE.read_text(encoding="utf-8")
    assert page == tree.with_tree(page), "run python tools/tree.py"
    untold = [name(path) for folder in tree.FOLDERS for _, path in tree.entries(ROOT / folder) if path.is_file() and not tree.first_line(path)]  # fmt: skip
    assert not untold
    assert all((ROOT / told).exists() for told in tree.TOLD)


def test_the_tree_tells_a_file_by_its_first_line(tmp_path, monkeypatch):
    monkeypatch.setattr(tree, "ROOT", tmp_path)
    for file, text in {
        "a.py": '"""Attention, in one line.\n\nMore.\n"""\n',
        "b.c": "/* Products, fast.\n * More. */",
        "c.toml": "# A recipe.\n#   jumok train c\n",
        "d.sh": "#!/bin/sh\n# Make it.\n",
        "e.md": "# A page\n\nMore.\n",
        "f.html": "<!doctype html>\n<!-- The frame. -->\n",
        "g.py": "x = 1\n",
    }.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    told = [tree.first_line(path) for path in sorted(tmp_path.iterdir())]
    assert told == ["Attention, in one line", "Products, fast", "A recipe", "Make it", "A page", "The frame", ""]
    assert tree.fitting("Short. And more", 40) == "Short"
    assert tree.fitting("One idea, then another; and a third", 25) == "One idea, then another"
    assert tree.fitting("Images (size, channels) of any kind, in order", 20) == "Images (size, …"
