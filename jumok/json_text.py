"""JSON that every reader takes: a number that is none (NaN, ±∞) is null, which Python alone would write by its name.

A page, whose scripts know such numbers, is told each by its name: {"nonfinite": "NaN"} (lens/page/unpacking.js).
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

NAMES = {math.inf: "Infinity", -math.inf: "-Infinity"}


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return a value as JSON, on one line or indented."""
    return _dumped(value, lambda number: None, indent=indent)


def page_json(value: Any) -> str:
    """Return a value as JSON without blanks for the scripts of a page."""
    return _dumped(value, lambda number: {"nonfinite": NAMES.get(number, "NaN")}, separators=(",", ":"))


def _dumped(value: Any, told: Callable[[float], Any], **options: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, **options)
    except ValueError:
        return json.dumps(_replaced(value, told), ensure_ascii=False, allow_nan=False, **options)


def _replaced(value: Any, told: Callable[[float], Any]) -> Any:
    """Return a value with what is told instead of each number that is none."""
    if isinstance(value, float):
        return value if math.isfinite(value) else told(value)
    if isinstance(value, Mapping):
        return {key: _replaced(inside, told) for key, inside in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(inside, told) for inside in value]
    return value
