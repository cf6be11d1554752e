"""JSON that every reader takes: a number that is none (NaN, ±∞) is null, which Python alone would write by its name."""

import json
import math
from collections.abc import Mapping
from typing import Any


def json_text(value: Any, *, indent: int | None = None, compact: bool = False) -> str:
    """Return a value as JSON on one line, or indented; compact leaves out the blanks."""
    separators = (",", ":") if compact else None
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, separators=separators, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, indent=indent, separators=separators, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(inside) for key, inside in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inside) for inside in value]
    return value
