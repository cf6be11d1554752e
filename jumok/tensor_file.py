"""Tensors in a safetensors file that holds its own checksum: a flipped bit is noticed when the file is read.

tensors, a text beside them → CRC-32 of names, types, shapes, bytes and text → "crc32 89abcdef TEXT" in the file's head
→ computed again on reading, and compared

A CRC-32 finds every single flipped bit, and every damage of up to 32 bits in a row. Files of earlier versions, without a
checksum, are read as they are. The head has one entry alone: the library would write several in any order, and the files
of equal runs are equal.
"""

import re
import zlib
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from jumok.writing import whole_file

ENTRY = "jumok"  # the name of our entry in the head of a file of weights
FOREIGN = "format"  # what other programs may have written there
SEALED = re.compile("crc32 ([0-9a-f]{8}) (.*)", re.DOTALL)
OS_ERROR = re.compile(r"\(os error (\d+)\)|code: (\d+)")  # as safetensors words a failure of the system
WRONG_CHECKSUM = "its checksum is not the one it was written with"


class DamagedFileError(ValueError):
    """A file is not what was written; the message says what is wrong with it, for the middle of a sentence."""


def write_tensors(
    tensors: Mapping[str, Tensor], path: Path, text: str = "", *, entry: str = ENTRY, durable: bool = False
) -> None:
    """Write tensors and a text with their checksum, whole or not at all; a failure is an OSError."""
    ready = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    write_plain_tensors(ready, path, {entry: f"crc32 {checksum(ready, text)} {text}"}, durable=durable)


def write_plain_tensors(
    tensors: Mapping[str, Tensor], path: Path, head: dict[str, str], *, durable: bool = False
) -> None:
    """Write tensors as other programs do, whole or not at all; a failure is an OSError."""
    with whole_file(path, durable=durable) as part:
        try:
            save_file(dict(tensors), part, metadata=head)
        except SafetensorError as error:
            found = OS_ERROR.search(str(error))
            raise OSError(int(found[1] or found[2]) if found else 0, str(error), str(path)) from None


def read_tensors(path: Path, entry: str = ENTRY) -> tuple[dict[str, Tensor], str]:
    """Return the tensors of a file and the text beside them; one without a checksum is not checked."""
    try:
        with safe_open(path, framework="pt") as file:
            head = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
    except OSError:
        raise
    except Exception:  # the library's own error, and what torch raises of types that it does not know
        raise DamagedFileError(f"{path.stat().st_size:,} bytes; was it cut off while copying?") from None
    if unknown := head.keys() - {entry, FOREIGN}:
        raise DamagedFileError(f"its head has an entry '{min(unknown)}', which jumok does not write")
    written = head.get(entry, "")
    if sealed := SEALED.fullmatch(written):
        if sealed[1] != checksum(tensors, sealed[2]):
            raise DamagedFileError(WRONG_CHECKSUM)
        return tensors, sealed[2]
    if written and not written.startswith("{"):  # as the JSON of earlier versions does
        raise DamagedFileError(WRONG_CHECKSUM)
    return tensors, written


def checksum(tensors: Mapping[str, Tensor], text: str) -> str:
    """Return the CRC-32 of everything that a file holds, as eight hexadecimal digits."""
    found = zlib.crc32(text.encode())
    for name in sorted(tensors):
        value = tensors[name]
        found = zlib.crc32(f"{name} {value.dtype} {list(value.shape)}".encode(), found)
        if value.numel():
            found = zlib.crc32(value.contiguous().reshape(-1).view(torch.uint8).numpy().data, found)
    return f"{found:08x}"
