"""The house rules: who may import whom, and a README whose tree is the disk's."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "jumok"

# What each room may import of jumok, beside itself; `cache` and `errors` are leaves, open to all but `nn`.
# `runs/run` is a run's folder: predictors know it, and it knows no predictor.
LEAVES = {"cache", "errors"}
ALLOWED = {
    "errors": set(),
    "cache": {"errors"},
    "config": LEAVES,
    "native": LEAVES,
    "nn": {"native"},
    "inspection": LEAVES | {"nn"},
    "decoding": LEAVES | {"config", "nn", "native"},
    "models": LEAVES | {"config", "nn", "decoding"},
    "data": LEAVES | {"config"},
    "evaluation": LEAVES,
    "lens": LEAVES | {"inspection"},
    "tasks": LEAVES | {"config", "nn", "native", "inspection", "decoding", "data", "evaluation"},
    "training": LEAVES | {"config", "nn", "native", "tasks"},
    "export": LEAVES | {"config", "nn", "data", "models"},
    "catalogue": LEAVES | {"config", "nn", "models", "tasks", "predictors", "evaluation"},
    "runs/run": LEAVES | {"config", "catalogue", "data"},
    "predictors": LEAVES | {"config", "nn", "inspection", "decoding", "data", "evaluation", "lens", "tasks", "export", "runs/run"},
    "runs": LEAVES | {"config", "catalogue", "nn", "data", "lens", "tasks", "training", "predictors", "runs/run"},
    "workflows": LEAVES | {"config", "catalogue", "nn", "inspection", "data", "evaluation", "lens", "tasks", "training", "export", "predictors", "runs", "runs/run"},
    "api": LEAVES | {"config", "catalogue", "tasks", "predictors", "inspection", "lens", "runs", "runs/run", "workflows"},
    "cli": LEAVES | {"api", "config", "catalogue"},
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
    return {room_of(name) for name in names if name.startswith("jumok.")} - {"__version__"}


def room_of(module: str) -> str:
    """Return the room of a module's name: jumok.nn.attention → nn."""
    return "runs/run" if module.startswith("jumok.runs.run") else module.split(".")[1]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    part = room_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
    if part.startswith("__"):
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
