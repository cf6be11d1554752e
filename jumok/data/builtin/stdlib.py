"""The built-in set `stdlib`: prose that ships with Python itself, so that a language model can be tried offline.

docstrings of the standard library's modules, the licence, the Zen → documents, split by a hash of each
"""

import ast
import codecs
import hashlib
import re
import sys
import sysconfig
from functools import cache
from pathlib import Path

from jumok.config import Split

SHORTEST = 80  # characters: less is no prose
LEFT_OUT = ("site-packages", "dist-packages", "test", "idlelib", "lib2to3")
SHARES = {"val": 0.04, "test": 0.08}  # upper ends of their parts of [0, 1)


@cache
def all_documents() -> tuple[str, ...]:
    """Return every document, the same on every machine with the same Python."""
    folder = Path(sysconfig.get_path("stdlib"))
    texts = [codecs.decode(_zen_in_rot13(folder), "rot13"), *_licences()]
    for path in sorted(folder.glob("*.py")) + sorted(folder.glob("[a-z]*/*.py")):
        if path.parent.name not in LEFT_OUT and not path.name.startswith("_"):
            texts += _docstrings(path)
    tidied = (re.sub(r"[ \t]+\n", "\n", text).strip() + "\n" for text in texts)
    return tuple(dict.fromkeys(text for text in tidied if len(text) >= SHORTEST))


def documents(split: Split) -> list[str]:
    """Return the documents of a split."""
    return [text for text in all_documents() if _split(text) == split]


def _split(text: str) -> str:
    lot = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") / 2.0**64
    return next((split for split, end in SHARES.items() if lot < end), "train")


def _zen_in_rot13(folder: Path) -> str:
    """Return the Zen of Python as its module keeps it; importing the module would print it."""
    source = (folder / "this.py").read_text(encoding="utf-8")
    return next(str(node.value) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))


def _licences() -> list[str]:
    """Return the licence, where this Python has it at hand."""
    places = [Path(sysconfig.get_path("stdlib")) / "LICENSE.txt", Path(sys.base_prefix) / "LICENSE.txt"]
    return [next((place.read_text(encoding="utf-8") for place in places if place.is_file()), "")]


def _docstrings(path: Path) -> list[str]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return []
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [found for node in ast.walk(tree) if isinstance(node, kinds) and (found := ast.get_docstring(node))]
