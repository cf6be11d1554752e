"""The house rules: who may import whom, what importing costs, and which rooms the README shows."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "jumok"

# What each room may import of jumok, beside itself; the leaves are open to all but `nn`.
# `runs/run` is a run's folder: predictors know it, and it knows no predictor.
LEAVES = {
    "arrays",
    "cache",
    "errors",
    "json_text",
    "memory",
    "processes",
    "reading",
    "tensor_file",
    "texts",
    "writing",
}
ALLOWED = {
    "texts": set(),
    "errors": {"texts"},
    "cache": {"errors"},
    "json_text": set(),
    "writing": {"errors"},
    "tensor_file": {"writing"},
    "reading": {"errors"},
    "arrays": {"errors", "reading", "tensor_file"},
    "memory": set(),
    "processes": {"errors"},
    "importing": {"errors"},
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
    "training": LEAVES | {"config", "nn", "native", "data", "tasks"},
    "export": LEAVES | {"config", "nn", "data", "models"},
    "catalogue": LEAVES | {"importing", "config", "nn", "models", "tasks", "predictors", "evaluation"},
    "runs/run": LEAVES | {"config", "catalogue", "data"},
    "predictors": LEAVES | {"config", "nn", "inspection", "decoding", "data", "evaluation", "lens", "tasks", "export", "runs/run"},
    "runs": LEAVES | {"config", "catalogue", "nn", "inspection", "data", "lens", "tasks", "training", "predictors", "runs/run"},
    "workflows": LEAVES | {"config", "catalogue", "nn", "inspection", "data", "native", "evaluation", "lens", "tasks", "training", "export", "predictors", "runs", "runs/run"},
    "api": LEAVES | {"config", "catalogue", "tasks", "training", "predictors", "inspection", "lens", "runs", "runs/run", "workflows"},
    "cli": LEAVES | {"api", "config", "catalogue", "native"},
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
    return "runs/run" if module.startswith(("jumok.runs.run", "jumok.runs.formats")) else module.split(".")[1]


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


def test_the_readme_shows_the_rooms_in_twenty_lines():
    """Every folder of the package stands in it, with what it is for; docs/architecture.md has every file."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- tree -->\n```\n(.*?)```", text, re.DOTALL)
    assert block, "README.md has no tree"
    named = [re.match(r" *([\w./]+) {2,}\S|(jumok/)$", line) for line in block[1].splitlines()]
    assert all(named), "each line names a folder or a file and says what it is for"
    assert len(named) <= 22
    folders = {
        path.name + "/" for path in PACKAGE.iterdir() if path.is_dir() and path.name not in ("__pycache__", "shipped")
    }
    shown = {match[1] for match in named if match[1]}
    assert folders <= shown
    for name in shown - {"tests/"}:
        assert (PACKAGE / name).exists(), f"the README names {name}, which does not exist"
