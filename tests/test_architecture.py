"""The house rules: who may import whom, and a README whose tree is the disk's."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "jumok"

# What each part may import of jumok, beside itself. `config`, `errors`, `recipe` and the version are leaves open to all.
LEAVES = {"config", "errors", "recipe"}
ALLOWED = {
    "errors": set(),
    "config": {"errors"},
    "recipe": {"config", "errors"},
    "native": LEAVES | {"data"},  # the cache
    "nn": LEAVES | {"native"},
    "models": LEAVES | {"nn"},
    "data": LEAVES,
    "decoding": LEAVES | {"nn", "native"},
    "evaluation": LEAVES,
    "tasks": LEAVES | {"nn", "native", "data", "decoding", "evaluation"},
    "training": LEAVES | {"native"},
    "lens": LEAVES | {"nn"},
    "export": LEAVES | {"data", "nn"},
    "catalogue": LEAVES | {"models", "tasks"},
    "shelf": LEAVES | {"catalogue"},
    "run": LEAVES | {"catalogue", "data"},
    "predictors": LEAVES | {"run", "export", "tasks", "data", "decoding", "evaluation", "nn", "lens"},
    "comparison": LEAVES | {"predictors", "data", "evaluation", "lens"},
    "exporting": LEAVES | {"export", "predictors", "run", "data"},
    "shipping": LEAVES | {"api", "exporting", "export", "predictors", "evaluation", "run", "shelf", "training"},
    "doctor": LEAVES | {"tasks", "data", "training"},
    "scaffold": LEAVES | {"data"},
    "filming": LEAVES | {"run", "tasks", "data", "decoding", "nn", "lens"},
    "job": LEAVES | {"run", "catalogue", "data", "nn", "training", "filming", "lens"},
    "loading": LEAVES | {"run", "job", "exporting", "predictors", "catalogue", "data", "training", "nn", "shelf"},
    "api": LEAVES | {"run", "job", "loading", "comparison", "exporting", "doctor", "filming", "scaffold", "predictors", "export", "catalogue", "tasks", "data", "decoding",
                     "evaluation", "training", "lens", "nn", "shelf"},
    "cli": LEAVES | {"api", "scaffold", "catalogue", "comparison", "data", "evaluation", "lens", "predictors", "training", "doctor", "tasks", "shelf"},
}  # fmt: skip


def imports(path: Path) -> set[str]:
    """Return the parts of jumok that a file names in an import, or as a string 'jumok.part…:Name'."""
    text = path.read_text(encoding="utf-8")
    names = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" if node.module == "jumok" else node.module for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.fullmatch(r"jumok\.[\w.]+:\w+", node.value)
        ):
            names.append(node.value.partition(":")[0])
    return {name.split(".")[1] for name in names if name.startswith("jumok.")} - {"__version__"}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if part == "__init__":
        return
    forbidden = imports(path) - ALLOWED[part] - {part}
    assert not forbidden, f"{part} must not import {forbidden}"


def test_models_and_tasks_do_not_know_each_other():
    assert "tasks" not in ALLOWED["models"]
    assert "models" not in ALLOWED["tasks"]


def test_nothing_heavy_is_imported_for_help():
    code = "import sys, jumok, jumok.cli.main; print([m for m in ('torch', 'numpy', 'pydantic', 'tokenizers') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_are_there():
    import jumok

    for name in jumok.__all__:
        assert getattr(jumok, name) is not None
    assert "train" in dir(jumok)
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        _ = jumok.trian


def test_the_tree_in_the_readme_is_the_disks():
    """Every file and folder of the tree exists, and no module of the package is left out."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- tree -->\n```\n(.*?)```", text, re.DOTALL)
    assert block, "README.md has no tree"
    named: set[str] = set()
    folders: list[str] = []
    for line in block[1].splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        words = re.match(r"\s*((?:[\w\-]*[./][\w.\-]*(?:\s+|$))+)", line)
        assert words, f"no file on this line of the tree: {line}"
        for name in words[1].split():
            path = "/".join([*folders[:depth], name.rstrip("/")])
            named.add(path)
            if name.endswith("/"):
                folders = [*folders[:depth], name.rstrip("/")]
    for path in sorted(named):
        assert (ROOT / path).exists(), f"the README's tree names {path}, which does not exist"
    modules = {str(path.relative_to(ROOT)) for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"}
    missing = {path for path in modules if path not in named}
    assert not missing, f"the README's tree leaves out {sorted(missing)}"


def test_commands_in_the_readme_name_real_options():
    """Each `jumok …` line of README.md uses a command and options that exist."""
    from typer.main import get_command

    from jumok.cli.main import app

    commands = get_command(app).commands
    lines = re.findall(r"^\s*\$?\s*jumok (\S+)(.*)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert lines
    for name, rest in lines:
        if name.startswith("-"):
            continue
        assert name in commands, name
        known = {option for parameter in commands[name].params for option in parameter.opts}
        for option in re.findall(r"(?<=\s)--[\w-]+", rest.split("#")[0]):
            assert option in known | {"--help"}, f"jumok {name} has no {option}"
