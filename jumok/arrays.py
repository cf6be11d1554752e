"""Foreign files of numbers, opened in one place: .npz and safetensors; nothing in them is ever unpickled.

.npz → members, each as large as its header says → arrays; FILE.safetensors → tensors by name, and the JSON in its head
"""

import math
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jumok.reading import Refuse, json_of, most_bytes, too_large

if TYPE_CHECKING:
    from torch import Tensor

Array = np.ndarray[Any, Any]
KINDS = "biufUS"  # of numpy's types: truth values, numbers and texts, but no objects
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_npz(path: Path, refuse: Refuse) -> dict[str, Array]:
    """Return the arrays of an .npz by name; they cannot be written to."""
    try:
        with zipfile.ZipFile(path) as file:
            members = [member for member in file.infolist() if member.filename.endswith(".npy")]
            if sum(member.file_size for member in members) > (most := most_bytes(path)):
                raise ValueError(too_large(path, most))
            return {member.filename.removesuffix(".npy"): _array(file, member) for member in members}
    except Exception as error:  # zip, its packers and numpy's headers raise whatever they come upon
        raise refuse(str(path), _reason(error)) from None


def _array(file: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    """Return an array of an .npz; one that is not as long as its header says is a ValueError."""
    with file.open(member) as content:
        version = np.lib.format.read_magic(content)
        if version not in HEADERS:
            raise ValueError(f"{member.filename} is of numpy's format {version[0]}.{version[1]}")
        shape, by_columns, dtype = HEADERS[version](content)
        if dtype.kind not in KINDS:
            raise ValueError(f"{member.filename} holds {dtype}, not numbers or texts")
        numbers = content.read()
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(numbers):
        raise ValueError(f"{member.filename} announces the shape {shape} of {dtype} and has {len(numbers):,} bytes")
    flat: Array = np.frombuffer(numbers, dtype) if numbers else np.zeros(math.prod(shape), dtype)
    return flat.reshape(shape, order="F" if by_columns else "C")


def read_tensors(path: Path, refuse: Refuse) -> dict[str, "Tensor"]:
    """Return the tensors of a safetensors file by name."""
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except Exception as error:  # the library's own error, and what torch raises of types that it does not know
        raise refuse(str(path), _reason(error)) from None


def read_tensors_and_head(path: Path, head: str, refuse: Refuse) -> tuple[dict[str, "Tensor"], dict[str, Any]]:
    """Return the tensors of a file of ours by name, and the JSON object in this entry of its head; its checksum is checked."""
    from jumok import tensor_file

    try:
        tensors, said = tensor_file.read_tensors(path, head)
        if not said:
            raise ValueError(f"its head has no '{head}'")
        content = json_of(said)
        if not isinstance(content, dict):
            raise ValueError(f"'{head}' of its head holds no JSON object")
    except Exception as error:
        raise refuse(str(path), _reason(error)) from None
    return tensors, content


def _reason(error: Exception) -> str:
    """Return what an error says in a few words; a library's own words and classes help nobody."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, MemoryError):
        return "there is not enough memory to read it"
    lines = str(error).splitlines()
    own = isinstance(error, ValueError | zipfile.BadZipFile) and lines
    if own and " object at 0x" in lines[0]:  # numpy shows a part of a header as Python sees it
        return "its header cannot be read"
    return lines[0][:200] if own else "damaged; was it cut off while copying?"
