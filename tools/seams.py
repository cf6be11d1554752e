"""Count what the types at jumok's seams leave open: `type: ignore`, `getattr(`, and Any in signatures.

python tools/seams.py [FOLDER]     FOLDER: a package to look at, jumok of this clone if none is given
"""

import ast
import io
import sys
import tokenize
from pathlib import Path

ROOMS = ("tasks", "training", "decoding", "predictors")


def ignores(text: str) -> int:
    """Return how many comments switch off the type checker."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type == tokenize.COMMENT and "type: ignore" in token.string for token in tokens)


def lookups(tree: ast.AST) -> int:
    """Return how many calls of getattr or hasattr there are."""
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return sum(isinstance(called, ast.Name) and called.id in ("getattr", "hasattr") for called in calls)


def open_signatures(tree: ast.AST) -> list[str]:
    """Return the functions of which a parameter or the return value is annotated with Any."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        given = node.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        hints = [one.annotation for one in every if one is not None] + [node.returns]
        if any(says_any(hint) for hint in hints if hint is not None):
            found.append(f"{node.name} (line {node.lineno})")
    return found


def says_any(hint: ast.AST) -> bool:
    """Tell whether Any stands somewhere in an annotation."""
    return any(
        (isinstance(node, ast.Name) and node.id == "Any") or (isinstance(node, ast.Attribute) and node.attr == "Any")
        for node in ast.walk(hint)
    )


def main(package: Path) -> None:
    """Print the counts of each room, then the functions whose signatures say Any."""
    print(f"{'':<12}{'type: ignore':>14}{'getattr, hasattr':>18}{'signatures with Any':>21}")
    total = [0, 0, 0]
    listed = []
    for room in ROOMS:
        counts = [0, 0, 0]
        for path in sorted((package / room).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            tree = ast.parse(text)
            signatures = open_signatures(tree)
            counts = [a + b for a, b in zip(counts, (ignores(text), lookups(tree), len(signatures)), strict=True)]
            listed += [f"{path.relative_to(package)}: {one}" for one in signatures]
        print(f"{room:<12}{counts[0]:>14}{counts[1]:>18}{counts[2]:>21}")
        total = [a + b for a, b in zip(total, counts, strict=True)]
    print(f"{'together':<12}{total[0]:>14}{total[1]:>18}{total[2]:>21}")
    print("\n".join(listed))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "jumok")
