"""A recipe before it is written: keys, values and why they are so; then commented TOML with paths from its folder on.

Plan (sections of Entry) → write_recipe → text
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jumok.texts import localized

WIDTH = 38  # columns before a comment, where the key is shorter


@dataclass(frozen=True)
class Entry:
    """A key of a recipe, its value, and a comment."""

    key: str
    value: Any
    why: str = ""


@dataclass(frozen=True)
class Plan:
    """What a recipe will say."""

    task: str
    title: str  # its first line
    sections: dict[str, list[Entry]]  # in order; a section without entries is left out
    chosen: list[str] = field(default_factory=list)  # what was chosen, and why, for the user


def write_recipe(plan: Plan, path: Path, *, command: str) -> str:
    """Return the text of a recipe that will stand at path; command is what names it on the command line."""
    head = [
        f"# {plan.title}. Written by `jumok new`; every value may be changed.",
        f"#   jumok check {command}     before you start: what is in the data, how long it will take",
        f"#   jumok train {command}     train; Ctrl-C saves, --resume goes on exactly",
        "# Files are named from this recipe's folder on.",
    ]
    lines = [*map(localized, head), f"task = {toml(plan.task, path)}"]
    for name, entries in plan.sections.items():
        if entries:
            lines += ["", f"[{name}]", *(_line(entry, path) for entry in entries)]
    return "\n".join([*lines, ""])


def _line(entry: Entry, path: Path) -> str:
    line = f"{entry.key} = {toml(entry.value, path)}"
    return f"{line:<{WIDTH - 1}} # {localized(entry.why)}" if entry.why else line


def toml(value: Any, recipe: Path) -> str:
    """Return a value as TOML, a path as it reads from the recipe's folder on."""
    if isinstance(value, Path):
        value = Path(os.path.relpath(value.absolute(), recipe.absolute().parent)).as_posix()
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {toml(item, recipe)}" for key, item in value.items()) + " }"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(toml(item, recipe) for item in value) + "]"
    # JSON writes numbers, booleans and text as TOML does, as long as letters outside ASCII stay themselves.
    return json.dumps(value, ensure_ascii=False)
