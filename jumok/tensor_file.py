"""Tensors in a safetensors file that holds its own checksum: a flipped bit is noticed when the file is read.

tensors, facts (texts in the file's head) → CRC-32 of names, types, shapes, bytes and facts → the head → checked on reading

A CRC-32 finds every single flipped bit and every damage of up to 32 bits in a row, at 4 GB/s. Files without a checksum,
written before there was one, are read as they are.
"""

import json
import re
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from jumok.writing import whole_file

CHECKSUM = "jumok_crc32"  # the checksum's name in a file's head
FOREIGN = "format"  # what other programs write there
WRONG_CHECKSUM = "its checksum is not the one it was written with"
OS_ERROR = re.compile(r"\(os error (\d+)\)|code: (\d+)")  # as safetensors words a failure of the system


class DamagedFileError(ValueError):
    """A file of tensors is not what was written; the message says what is wrong with it, for the middle of a sentence."""


def write_tensors(
    tensors: Mapping[str, Tensor], path: Path, facts: Mapping[str, str] | None = None, *, durable: bool = False
) -> None:
    """Write tensors and facts with their checksum, whole or not at all; a failure is an OSError."""
    ready = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    facts = dict(facts or {})
    with whole_file(path, durable=durable) as part:
        try:
            save_file(ready, part, metadata=facts | {CHECKSUM: checksum(ready, facts)})
        except SafetensorError as error:
            found = OS_ERROR.search(str(error))
            raise OSError(int(found[1] or found[2]) if found else 0, str(error), str(path)) from None


def read_tensors(path: Path, facts: Collection[str] = ()) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors and facts of a file; one without a checksum may have these facts and no other."""
    try:
        with safe_open(path, framework="pt") as file:
            head = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
    except SafetensorError:
        raise DamagedFileError(f"{path.stat().st_size:,} bytes; was it cut off while copying?") from None
    written = head.pop(CHECKSUM, None)
    if written is None:
        if unknown := head.keys() - {FOREIGN, *facts}:
            raise DamagedFileError(f"its head has an entry '{min(unknown)}', which jumok does not write")
    elif written != checksum(tensors, head):
        raise DamagedFileError(WRONG_CHECKSUM)
    return tensors, head


def checksum(tensors: Mapping[str, Tensor], facts: Mapping[str, str]) -> str:
    """Return the CRC-32 of everything that a file holds, as eight hexadecimal digits."""
    found = zlib.crc32(json.dumps(sorted(facts.items())).encode())
    for name in sorted(tensors):
        value = tensors[name]
        found = zlib.crc32(f"{name} {value.dtype} {list(value.shape)}".encode(), found)
        if value.numel():
            found = zlib.crc32(value.contiguous().reshape(-1).view(torch.uint8).numpy().data, found)
    return f"{found:08x}"
