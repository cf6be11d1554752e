"""JSON that every reader takes."""

import json
import math
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import jumok
from jumok.json_text import json_text, page_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(), inside, max_size=4),
    max_leaves=20,
)


def finite(value):
    """Return a value as it must come back."""
    if isinstance(value, list):
        return [finite(one) for one in value]
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def refused(name):
    raise AssertionError(f"{name} is no JSON")


@given(VALUES, st.sampled_from([None, 1]))
def test_what_is_no_number_is_null_and_everything_else_comes_back(value, indent):
    text = json_text(value, indent=indent)
    assert json.loads(text, parse_constant=refused) == finite(value)


def test_it_stays_readable():
    assert json_text({"넌": (1, 0.1)}) == '{"넌": [1, 0.1]}'


@given(VALUES)
def test_a_page_gets_every_number_back(value):
    def revived(found):  # as lens/page/unpacking.js does
        return float(found["nonfinite"]) if found.keys() == {"nonfinite"} else found

    back = json.loads(page_json(value), parse_constant=refused, object_hook=revived)
    assert repr(back) == repr(value)  # NaN is not equal to itself


def test_a_page_has_no_blanks():
    assert page_json({"a": [1, math.nan, -math.inf]}) == '{"a":[1,{"nonfinite":"NaN"},{"nonfinite":"-Infinity"}]}'


def test_nobody_else_writes_json_that_others_read():
    """Names of cached things, texts of TOML and tokenizers, and a checkpoint's own state are no such JSON."""
    package = Path(jumok.__file__).parent
    rooms = ("cli", "lens", "runs", "workflows", "predictors", "inspection", "training")
    found = {
        str(path.relative_to(package))
        for room in rooms
        for path in (package / room).rglob("*.py")
        if re.search(r"\bjson\.dumps?\(", path.read_text(encoding="utf-8"))
    }
    assert found == {
        "training/checkpoint.py",
        "workflows/new/plan.py",
        "predictors/captioner.py",
        "predictors/text_classifier.py",
    }
