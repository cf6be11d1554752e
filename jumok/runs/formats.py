"""Runs of earlier formats, read as if they had been made today.

recipe.toml (format 1) → upgraded raw recipe → checked by today's classes; names of tensors likewise

Format 1 had pictures for images, gaps for masked tokens, other names of tasks, and all sections in every recipe.
"""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

FORMAT = 2
READABLE = (1, FORMAT)

TASKS = {
    "language": "language-modeling",
    "masked-language": "masked-language-modeling",
    "picture-classification": "image-classification",
}
KEYS = {"picture_size": "image_size", "picture": "image", "gaps": "masked"}
VALUES = {"small-pictures": "small-images"}  # presets
UNUSED = {  # sections that tasks had without using them
    "image-classification": ("tokenizer", "decoding"),
    "text-classification": ("decoding",),
    "masked-language-modeling": ("decoding",),
}
TENSORS = (
    (r"(^|/)gap\.", r"\1transform."),
    (r"(^|/)gap_norm\.", r"\1transform_norm."),
    (r"(^|/)follows\.", r"\1next_sentence."),
)

Value = TypeVar("Value")


def upgrade_recipe(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a raw recipe of format 1 in today's words."""
    task = TASKS.get(raw.get("task", ""), raw.get("task", "translation"))
    sections = {name: _renamed(value) for name, value in raw.items() if name not in UNUSED.get(task, ())}
    return sections | {"task": task}


def upgrade_tensors(tensors: Mapping[str, Value]) -> dict[str, Value]:
    """Return tensors by the names that their models have today."""
    found = {}
    for name, value in tensors.items():
        for old, new in TENSORS:
            name = re.sub(old, new, name)
        found[name] = value
    return found


def _renamed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {KEYS.get(key, key): _renamed(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_renamed(inner) for inner in value]
    return VALUES.get(value, value) if isinstance(value, str) else value
