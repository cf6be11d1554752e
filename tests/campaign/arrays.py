"""Damage that keeps the form of .npz and safetensors: members, names, types, shapes and numbers are others."""

import io
import json
import re
import struct
import zipfile
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from campaign.structured import CHANGES, Mutator, changed_tree

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
    return _joined(changed_tree(json.dumps(head), rng, rng.choice(CHANGES)), data)


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
            notes[key] = (seal[0] if seal else "") + changed_tree(text, rng, rng.choice(CHANGES))
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


NPZ: Sequence[Mutator] = (npz_members, npz_head, npz_array, npz_array)
SAFETENSORS: Sequence[Mutator] = (
    safetensors_head,
    safetensors_tensor,
    safetensors_tensor,
    safetensors_metadata,
    safetensors_numbers,
)
