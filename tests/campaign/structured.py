"""Damage that keeps the form of JSON and TOML: values, keys and nesting are not what they should be.

A file that still parses gets further into a program than one with flipped bits: types, names and sizes change.
"""

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

Mutator = Callable[[bytes, Random], bytes]

# Values as they stand in a file: JSON's own, and what some programs write.
VALUES = [
    "null", "true", "false", "0", "-1", "1", "7", "2.5", "1e5", "1000000000", "9223372036854775808", "1e999", "-1e999", "NaN", "Infinity",
    '""', '"a"', '"\\u001b[31mred"', '"\\ud800"', '"../../etc"', '"5"', "[]", "{}", "[null]", "[0, 0]", '[["a"]]', '{"a": {}}', '{"": 0}',
    "9" * 5000, f'"{"long " * 9000}"', "[" * 100_000 + "]" * 100_000, '{"a":' * 3000 + "0" + "}" * 3000,
]  # fmt: skip
PLACE = "\ue000here\ue000"  # stands for a value that is put in as text


# --- JSON


def _some_place(tree: Any, rng: Random) -> tuple[Any, Any] | None:
    """Return a container of a tree and one of its keys, those near the root more often; None where there is none."""
    found = None
    while isinstance(tree, dict | list) and tree:
        key = rng.choice(list(tree)) if isinstance(tree, dict) else rng.randrange(len(tree))
        found, tree = (tree, key), tree[key]
        if rng.random() < 0.45:
            break
    return found


def changed_tree(text: str, rng: Random, change: Callable[[Any, Any, Random], str]) -> str:
    """Return JSON in which change was made at some place; a text it returns stands where PLACE was put."""
    tree = json.loads(text)
    place = _some_place(tree, rng)
    raw = change(*place, rng) if place else ""
    return json.dumps(tree, ensure_ascii=False).replace(json.dumps(PLACE, ensure_ascii=False), raw)


def _put_value(container: Any, key: Any, rng: Random) -> str:
    container[key] = PLACE
    return rng.choice(VALUES)


def _drop(container: Any, key: Any, rng: Random) -> str:
    del container[key]
    return ""


def _rename(container: Any, key: Any, rng: Random) -> str:
    value = container.pop(key)
    if isinstance(container, dict):
        container[rng.choice([f"{key}s", str(key).upper(), "", "x", "__class__", str(key)[:-1]])] = value
    else:
        container.insert(0, value)
    return ""


def _wrap(container: Any, key: Any, rng: Random) -> str:
    value = container[key]
    container[key] = rng.choice([[value], {"value": value}, str(value), [value, value]])
    return ""


def _exchange(container: Any, key: Any, rng: Random) -> str:
    other = rng.choice(list(container)) if isinstance(container, dict) else rng.randrange(len(container))
    container[key], container[other] = container[other], container[key]
    return ""


def _scale(container: Any, key: Any, rng: Random) -> str:
    value = container[key]
    if isinstance(value, bool):
        container[key] = not value
    elif isinstance(value, int | float):
        container[key] = rng.choice([-value, value + 1, value - 1, value * 2, value * 1000, value / 2, value * 10**9])
    elif isinstance(value, str):
        container[key] = rng.choice([value[::-1], value * 2, value[:-1], value.upper(), f" {value}"])
    elif isinstance(value, list):
        container[key] = rng.choice([value[:-1], value * 2, value[::-1], value[:1]])
    else:
        container[key] = list(value or ())
    return ""


def _duplicate(container: Any, key: Any, rng: Random) -> str:
    value = container[key]
    container[key] = PLACE
    name = json.dumps(key) if isinstance(container, dict) else ""
    return f"{json.dumps(value)}, {name + ':' if name else ''} {rng.choice(VALUES[:20])}"


CHANGES = (_put_value, _put_value, _put_value, _drop, _drop, _rename, _wrap, _exchange, _scale, _scale, _duplicate)


def json_change(content: bytes, rng: Random) -> bytes:
    """Change a value, a key or the form of some place."""
    return changed_tree(content.decode("utf-8"), rng, rng.choice(CHANGES)).encode("utf-8", "surrogatepass")


def json_whole(content: bytes, rng: Random) -> bytes:
    """Write another value instead of the whole."""
    return rng.choice(VALUES).encode()


def jsonl_change(content: bytes, rng: Random) -> bytes:
    """Change one of the lines, or some of them in one way."""
    lines = content.decode("utf-8").splitlines()
    change = rng.choice(CHANGES)
    for number in {rng.randrange(len(lines)) for _ in range(rng.choice([1, 1, 5]))}:
        lines[number] = changed_tree(lines[number], rng, change)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")


def jsonl_whole(content: bytes, rng: Random) -> bytes:
    """Write another value instead of a line."""
    lines = content.decode("utf-8").splitlines()
    lines[rng.randrange(len(lines))] = rng.choice(VALUES)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


# --- TOML

TOML_VALUES = [
    "0", "-1", "1", "7", "3.5", "1e9", "1000000000", "9223372036854775808", "inf", "nan", "true", "''", "'x'", '"\\u001b[31m"', "[]", "{}", "[1, 'a']",
    "{ a = 1 }", "1979-05-27", "07:32:00", "9" * 5000, f"'{'long ' * 9000}'", "[" * 5000 + "]" * 5000, "{ a = " * 3000 + "1" + " }" * 3000, "'../../x'",
    "[[[[]]]]", '"""a\nb"""', "0x" + "f" * 99, "'\x1b'", "'/dev/null'", "''",
]  # fmt: skip


def _line_of(lines: list[str], rng: Random, *, sections: bool = False) -> int:
    """Return the number of a line with a value, or of any that says something."""
    numbers = [n for n, line in enumerate(lines) if ("=" in line or (sections and line.startswith("[")))]
    return rng.choice(numbers or [0])


def toml_value(content: bytes, rng: Random) -> bytes:
    """Give a key another value."""
    lines = content.decode("utf-8").split("\n")
    number = _line_of(lines, rng)
    lines[number] = f"{lines[number].partition('=')[0]}= {rng.choice(TOML_VALUES)}"
    return "\n".join(lines).encode()


def toml_number(content: bytes, rng: Random) -> bytes:
    """Make a number a little or much larger or smaller."""
    lines = content.decode("utf-8").split("\n")
    with_numbers = [n for n, line in enumerate(lines) if line.partition("=")[2].strip().replace(".", "").isdigit()]
    if with_numbers:
        number = rng.choice(with_numbers)
        key, _, value = lines[number].partition("=")
        changed = float(value) * rng.choice([0, -1, 2, 3, 0.5, 1000, 10**6]) + rng.choice([0, 0, 1])
        lines[number] = f"{key}= {changed if '.' in value else int(changed)}"
    return "\n".join(lines).encode()


def toml_lines(content: bytes, rng: Random) -> bytes:
    """Drop, double, move or rename a key or a section."""
    lines = content.decode("utf-8").split("\n")
    number = _line_of(lines, rng, sections=True)
    line = lines[number]
    lines[number : number + 1] = rng.choice(
        [[], [line, line], [f"x{line}"], [line.replace("=", ".a =")], [line.replace("[", "[x.")], [line.upper()], [f"[{line}"], [f"[[{line.strip('[]')}]]"]]
    )  # fmt: skip
    return "\n".join(lines).encode()


def toml_deep(content: bytes, rng: Random) -> bytes:
    """Nest keys or sections thousands deep."""
    names = ".".join(["a"] * rng.choice([100, 3000]))
    return (
        content + rng.choice([f"\n{names} = 1\n", f"\n[{names}]\n", f"\n[[{names}]]\n", "\nx = " + "[" * 5000]).encode()
    )


JSON: Sequence[Mutator] = (json_change,) * 9 + (json_whole,)
JSONL: Sequence[Mutator] = (jsonl_change,) * 3 + (jsonl_whole,)
TOML: Sequence[Mutator] = (toml_value, toml_value, toml_value, toml_number, toml_number, toml_lines, toml_deep)
