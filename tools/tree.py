"""Write the tree of all files into docs/architecture.md, each file told by its own first line.

python tools/tree.py            write it
python tools/tree.py --check    exit with 1 where the page and the files differ
python tools/tree.py --long     name the files whose first line has no room in the tree

A Python file is told by the first line of its docstring, C, JavaScript, CSS, HTML, TOML and shell by their first
comment, Markdown by its title, a folder by its __init__.py. A line that does not fit ends at its last clause that does.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- tree: made by tools/tree.py -->\n```\n", "```\n<!-- end of tree -->"
FOLDERS = ("jumok", "benchmarks", "docs", "tools", "tests")
NAMES, WIDTH = 33, 120  # columns of the names, and of the whole tree

# What cannot say a word about itself: folders without Python files, and files of data.
TOLD = {
    ".ci/run": "what CI runs: a browser where one is missing, then make test",
    ".github/workflows/test.yml": "runs .ci/run on every push and pull request",
    ".pre-commit-config.yaml": "ruff and mypy before each commit",
    "CHANGELOG.md": "what each version brought",
    "CONTRIBUTING.md": "how to set up, and how to add a model, a task, a recipe, a command",
    "LICENSE": "Apache-2.0, the licence of the code",
    "Makefile": "make run, make test, make wheel, make bench",
    "NOTICE": "the terms of shipped weights and data",
    "README.ko.md": "the README in Korean",
    "README.md": "what it does, how to begin",
    "constraints.txt": "the version of torch that is tested",
    "pyproject.toml": "the package, its dependencies, the settings of ruff, mypy and pytest",
    "benchmarks": "jumok beside its peers, in one run",
    "benchmarks/results": "every measurement of the benchmarks, as JSON and as a table",
    "docs": "one page per system, architecture, results, benchmarks, log",
    "docs/figures": "the images of these pages, and look.py, which takes those of docs/look.md",
    "docs/look.ipynb": "from text to alignment in ten lines, a notebook",
    "jumok/data/builtin/korean/lexicon": "the words of the set korean: tables by theme, types, times, causes",
    "jumok/data/builtin/phrasebook.tsv": "449 everyday sentences in English and Korean",
    "jumok/lens/page": "the page itself: HTML, CSS and JavaScript modules without a build step",
    "jumok/recipes": "recipes by name, one .toml each",
    "jumok/shipped": "trained models that come with the package, one folder each",
    "jumok/shipped/shapes-captioner": "shapes: one run, float16, with its card",
    "jumok/shipped/shapes-drawer": "shapes-drawer: one run, float16, its image codes in eight bits, with its card",
    "jumok/shipped/translator": "ko-en, en-ko, fr-en and en-fr: one run, float16, with its card",
    "tests": "mirrors jumok/; the first line of a test file says what it promises",
    "tests/battery": "every model through the same properties",
    "tests/evaluation/caption_scores.json": "pycocoevalcap's scores of some captions, made by tools/caption_scores.py",
    "tools": "scripts for maintainers",
}
# One line stands for all files inside.
WHOLE = {
    "benchmarks/results", "docs/figures", "jumok/data/builtin/korean/lexicon",
    "jumok/shipped/shapes-captioner", "jumok/shipped/shapes-drawer", "jumok/shipped/translator",
}  # fmt: skip
LEFT_OUT = {"__init__.py", "py.typed", "__pycache__"}


@cache
def first_line(path: Path) -> str:
    """Return what a file says of itself: the first line of its docstring, its first comment or its title."""
    name = path.relative_to(ROOT).as_posix()
    if name in TOLD:
        return TOLD[name]
    if path.is_dir():
        return first_line(path / "__init__.py") if (path / "__init__.py").exists() else ""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        said = ast.get_docstring(ast.parse(text)) or ""
    elif path.suffix == ".md":
        said = text.removeprefix("# ")
    else:
        comment = re.match(r"(?:#!.*\n|<!doctype html>\s*)?\s*(?:/\*|//|#|<!--)\s*(.*)", text, re.IGNORECASE)
        said = comment[1] if comment else ""
    return said.partition("\n")[0].replace("-->", "").replace("*/", "").strip().removesuffix(".").removesuffix(":")


def fitting(line: str, room: int) -> str:
    """Return the first sentence of a line; where it has not room enough, up to its last clause that has."""
    line = re.split(r"\. (?=[A-Z])", line)[0]
    if len(line) <= room:
        return line
    clauses = [line[: mark.start()] for mark in re.finditer(r"[,;:] ", line) if mark.start() <= room]
    whole = [clause for clause in clauses if len(clause) > room // 4 and not open_bracket(clause)]
    return whole[-1] if whole else line[: room - 1].rpartition(" ")[0] + " …"


def open_bracket(clause: str) -> bool:
    """Tell whether a clause ends inside brackets."""
    return any(clause.count(begin) > clause.count(end) for begin, end in ("()", "[]"))


def entries(folder: Path, depth: int = 0) -> Iterator[tuple[int, Path]]:
    """Yield the files of a folder, then its folders with theirs, each with its depth."""
    yield depth, folder
    if folder.relative_to(ROOT).as_posix() in WHOLE:
        return
    inside = sorted(path for path in folder.iterdir() if path.name not in LEFT_OUT and not path.name.startswith("."))
    for path in inside:
        if path.is_file() and path.suffix != ".pyc":
            yield depth + 1, path
    for path in inside:
        if path.is_dir() and any(one.is_file() for one in path.rglob("*") if "__pycache__" not in one.parts):
            yield from entries(path, depth + 1)


def tree() -> str:
    """Return the tree, a line for each file and folder."""
    top = [(0, ROOT / name) for name in TOLD if not name.startswith(FOLDERS)]
    lines = []
    for depth, path in [*top, *(one for name in FOLDERS for one in entries(ROOT / name))]:
        name = path.relative_to(ROOT).as_posix() if depth == 0 else path.name
        name = "  " * depth + name + ("/" if path.is_dir() else "")
        name = f"{name:<{NAMES - 1}} "
        lines.append((name + fitting(first_line(path), WIDTH - len(name))).rstrip())
    return "\n".join(lines) + "\n"


def with_tree(page: str) -> str:
    """Return the page with the tree of today in place of the one it has."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{PAGE.name} has no place for the tree: {BEGIN!r} … {END!r}")
    return before + begin + tree() + end + after


def main(options: list[str]) -> int:
    """Write the tree, or compare it; return the exit code."""
    page = PAGE.read_text(encoding="utf-8")
    if "--check" in options:
        if page == with_tree(page):
            return 0
        print(f"{PAGE.relative_to(ROOT)} has another tree than the files: run python tools/tree.py", file=sys.stderr)
        return 1
    if "--long" in options:
        for folder in FOLDERS:
            for depth, path in entries(ROOT / folder):
                room = WIDTH - max(NAMES, 2 * depth + len(path.name) + 2)
                if len(first_line(path)) > room:
                    print(f"{path.relative_to(ROOT)}: {first_line(path)}")
        return 0
    PAGE.write_text(with_tree(page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
