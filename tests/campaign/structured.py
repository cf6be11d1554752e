"""Damage that keeps a file's form: JSON, TOML, .npz and safetensors whose contents are not what they should be.

A file that still parses gets further into a program than one with flipped bits: types, names, sizes and shapes change.
"""

import io
import json
import re
import struct
import zipfile
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

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


def _changed_tree(text: str, rng: Random, change: Callable[[Any, Any, Random], str]) -> str:
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
        container[key] = list(value)
    return ""


def _duplicate(container: Any, key: Any, rng: Random) -> str:
    value = container[key]
    container[key] = PLACE
    name = json.dumps(key) if isinstance(container, dict) else ""
    return f"{json.dumps(value)}, {name + ':' if name else ''} {rng.choice(VALUES[:20])}"


CHANGES = (_put_value, _put_value, _put_value, _drop, _drop, _rename, _wrap, _exchange, _scale, _scale, _duplicate)


def json_change(content: bytes, rng: Random) -> bytes:
    """Change a value, a key or the form of some place."""
    return _changed_tree(content.decode("utf-8"), rng, rng.choice(CHANGES)).encode("utf-8", "surrogatepass")


def json_whole(content: bytes, rng: Random) -> bytes:
    """Write another value instead of the whole."""
    return rng.choice(VALUES).encode()


def jsonl_change(content: bytes, rng: Random) -> bytes:
    """Change one of the lines, or some of them in one way."""
    lines = content.decode("utf-8").splitlines()
    change = rng.choice(CHANGES)
    for number in {rng.randrange(len(lines)) for _ in range(rng.choice([1, 1, 5]))}:
        lines[number] = _changed_tree(lines[number], rng, change)
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


# --- .npz


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zipped(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, value in members.items():
            archive.writestr(name, value)
    return target.getvalue()


def npz_members(content: bytes, rng: Random) -> bytes:
    """Drop, rename, exchange or cut members, or add one."""
    members = _members(content)
    first, second = rng.choice(list(members)), rng.choice(list(members))
    way = rng.randrange(6)
    if way == 0:
        del members[first]
    elif way == 1:
        members[
            rng.choice(
                ["x.npy", "y.npy", "z.npy", "x", "../x.npy", "jpeg.npy", "offset.npy", "name.npy", "classes.npy"]
            )
        ] = members.pop(first)
    elif way == 2:
        members[first], members[second] = members[second], members[first]
    elif way == 3:
        members[first] = members[first][: rng.randrange(len(members[first]))]
    elif way == 4:
        members[rng.choice(["jpeg.npy", "offset.npy", "name.npy", "classes.npy", "label.npy", "x.npy"])] = members[
            first
        ]
    else:
        members[first] = rng.choice([b"", b"\x93NUMPY", b"\x93NUMPY\x01\x00\xff\xff", rng.randbytes(200)])
    return _zipped(members, rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]))


def npz_head(content: bytes, rng: Random) -> bytes:
    """Write another shape or another type into the head of an array; its data stay."""
    members = _members(content)
    name = rng.choice(list(members))
    data = members[name]
    (size,) = struct.unpack("<H", data[8:10])
    head, rest = data[10 : 10 + size].decode("latin1"), data[10 + size :]
    shape = rng.choice(
        [
            "()",
            "(0,)",
            "(1,)",
            "(-1,)",
            "(3, 3)",
            "(1000000000,)",
            "(99999999999999999999,)",
            "(2, 0)",
            "('a',)",
            "5",
            "(1.5,)",
        ]
    )
    kind = rng.choice(
        ["|u1", "<f4", "<f8", "<i8", ">i4", "|S3", "<U9", "|O", "|V4", "<M8[D]", "<c16", "|b1", "x", "<f2"]
    )
    before = head[: head.index("'descr'")]
    fortran = rng.choice(["False", "True", "7"])
    old_shape = head[head.index("(") : head.index(")") + 1]
    old_kind = head.split("'descr': ")[1].split(",")[0]
    new_shape, new_kind = rng.choice([(shape, old_kind), (old_shape, repr(kind)), (shape, repr(kind))])
    written = f"{before}'descr': {new_kind}, 'fortran_order': {fortran}, 'shape': {new_shape}, }}\n".encode("latin1")
    members[name] = data[:8] + struct.pack("<H", len(written)) + written + rest
    return _zipped(members)


def npz_array(content: bytes, rng: Random) -> bytes:
    """Put another array in a member's place: of another type, shape, range or of pickled objects."""
    members = _members(content)
    name = rng.choice(list(members))
    try:
        found = np.load(io.BytesIO(members[name]), allow_pickle=False)
    except ValueError:
        return _zipped(members)
    numbers = found if found.dtype.kind in "iuf" else np.arange(found.size).reshape(found.shape)
    made: list[Callable[[], np.ndarray[Any, Any]]] = [
        lambda: found[..., :1],
        lambda: found[: len(found) // 2],
        lambda: np.concatenate([found, found]),
        lambda: found[None],
        lambda: found.reshape(-1),
        lambda: numbers.astype(np.float64) / 2,
        lambda: numbers.astype(np.float64) * np.nan,
        lambda: -1 - numbers.astype(np.int64),
        lambda: numbers.astype(np.int64) + 2**40,
        lambda: numbers.astype(np.int64)[::-1],
        lambda: numbers.astype(str),
        lambda: numbers.astype(np.complex64),
        lambda: numbers.astype(bool),
        lambda: np.array([{}, None], dtype=object),
        lambda: np.array(3),
        lambda: np.zeros((0, *found.shape[1:]), found.dtype),
        lambda: np.zeros(found.shape, "V4"),
        lambda: np.zeros(found.shape, [("a", "i4"), ("b", "f4")]),
        lambda: np.array(["2020-01-01"] * 3, "M8[D]"),
        lambda: np.array(["\x1b[31m", "", "\0"]),
    ]
    target = io.BytesIO()
    np.save(target, rng.choice(made)(), allow_pickle=True)
    members[name] = target.getvalue()
    return _zipped(members)


# --- safetensors

SEAL = re.compile("^crc32 [0-9a-f]{8} ")  # before a text that jumok keeps in the head (jumok/tensor_file.py)


def _head(content: bytes) -> tuple[dict[str, Any], bytes]:
    (size,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def _unsealed(head: dict[str, Any], rng: Random) -> dict[str, Any]:
    """Return a head, two times of three without checksums: as earlier versions wrote it, so that more is read of it."""
    notes = head.get("__metadata__", {})
    if rng.random() < 0.67:
        head["__metadata__"] = {key: text for key, value in notes.items() if (text := SEAL.sub("", value))}
    return head


def _joined(head: str, data: bytes) -> bytes:
    written = head.encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(written)) + written + data


def safetensors_head(content: bytes, rng: Random) -> bytes:
    """Change some place of the head's JSON."""
    head, data = _head(content)
    head = _unsealed(head, rng)
    return _joined(_changed_tree(json.dumps(head), rng, rng.choice(CHANGES)), data)


def safetensors_tensor(content: bytes, rng: Random) -> bytes:
    """Rename or drop a tensor, or give it another type, another shape, or the place of another."""
    head, data = _head(content)
    head = _unsealed(head, rng)
    names = [name for name in head if name != "__metadata__"]
    if not names:
        return content
    name, other = rng.choice(names), rng.choice(names)
    facts = head[name]
    way = rng.randrange(6)
    if way == 0:
        head = {(f"{name}x" if key == name else key): value for key, value in head.items()}
    elif way == 1:  # its data go, too: a whole file with one tensor fewer
        return _without(head, data, name)
    elif way == 2:
        facts["shape"] = rng.choice(
            [facts["shape"][::-1], [*facts["shape"], 1], [int(np.prod(facts["shape"]))], [0], [2**62, 4]]
        )
    elif way == 3:
        facts["dtype"] = rng.choice(["F32", "F16", "BF16", "I64", "I32", "U8", "BOOL", "F8_E4M3", "F64", "X"])
    elif way == 4:
        head[name], head[other] = head[other], head[name]
    else:  # half as wide: the same bytes as twice as many numbers
        facts["dtype"], facts["shape"] = (
            "BF16" if facts["dtype"] == "F32" else "U8",
            [*facts["shape"][:-1], 2 * (facts["shape"] or [1])[-1]],
        )
    return _joined(json.dumps(head), data)


def _without(head: dict[str, Any], data: bytes, name: str) -> bytes:
    start, end = head.pop(name)["data_offsets"]
    for facts in head.values():
        if "data_offsets" in facts and facts["data_offsets"][0] >= end:
            facts["data_offsets"] = [place - (end - start) for place in facts["data_offsets"]]
    return _joined(json.dumps(head), data[:start] + data[end:])


def safetensors_metadata(content: bytes, rng: Random) -> bytes:
    """Change the JSON that stands as text in the head, where there is some; else add metadata."""
    head, data = _head(content)
    head = _unsealed(head, rng)
    notes = head.setdefault("__metadata__", {"format": "pt"})
    for key, value in notes.items():
        seal = SEAL.match(value)
        text = SEAL.sub("", value)
        if text.startswith("{"):
            notes[key] = (seal[0] if seal else "") + _changed_tree(text, rng, rng.choice(CHANGES))
            break
    else:
        notes[rng.choice(["format", "x"])] = rng.choice(["", "tf", "{", "\x1b[31m"])
    return _joined(json.dumps(head), data)


def safetensors_numbers(content: bytes, rng: Random) -> bytes:
    """Change numbers of the tensors: flipped bits, NaN, infinities, huge ones."""
    head, data = _head(content)
    head = _unsealed(head, rng)
    if len(data) < 8:
        return content
    changed = bytearray(data)
    if rng.random() < 0.5:
        for _ in range(rng.choice([1, 1, 10])):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    else:
        number = struct.pack("<f", rng.choice([float("nan"), float("inf"), -1e38, 1e38, -1.0]))
        start = 4 * rng.randrange(len(changed) // 4)
        count = min(rng.choice([1, 100, 10**6]), (len(changed) - start) // 4)
        changed[start : start + 4 * count] = number * count
    return _joined(json.dumps(head), bytes(changed))


JSON: Sequence[Mutator] = (json_change,) * 9 + (json_whole,)
JSONL: Sequence[Mutator] = (jsonl_change,) * 3 + (jsonl_whole,)
TOML: Sequence[Mutator] = (toml_value, toml_value, toml_value, toml_number, toml_number, toml_lines, toml_deep)
NPZ: Sequence[Mutator] = (npz_members, npz_head, npz_array, npz_array)
SAFETENSORS: Sequence[Mutator] = (
    safetensors_head,
    safetensors_tensor,
    safetensors_tensor,
    safetensors_metadata,
    safetensors_numbers,
)
