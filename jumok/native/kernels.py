"""The kernels of kernels.c as functions of tensors. `serves` says which tensors they are for."""

import ctypes
from collections.abc import Sequence

import torch
from torch import Tensor

from jumok.native.build import kernels

# R rows · V vocabulary · K tokens of a row

MOST = 64  # values of a row that likeliest() finds faster than a search through the vocabulary


def serves(logits: Tensor) -> bool:
    """Return whether the kernels can read logits (R, V)."""
    return logits.dtype == torch.float32 and logits.device.type == "cpu" and logits.stride(-1) == 1 and bool(kernels())


def log_sums(logits: Tensor) -> Tensor:
    """Return log Σ exp of every row (R,) of logits (R, V)."""
    library = kernels()
    assert library is not None
    rows, columns = logits.shape
    sums = logits.new_empty(rows)
    library.log_sums(address(logits), whole(rows), whole(columns), whole(logits.stride(0)), address(sums))
    return sums


def likeliest(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the largest count values (R, K) of logits (R, V) and their tokens, best first, of equal ones the first."""
    library = kernels()
    assert library is not None
    rows, columns = logits.shape
    values, tokens = logits.new_empty(rows, count), torch.empty(rows, count, dtype=torch.int64)
    library.likeliest(
        address(logits), whole(rows), whole(columns), whole(logits.stride(0)), count, address(values), address(tokens)
    )
    return values, tokens


def move_rows(tensors: Sequence[Tensor], targets: Tensor, sources: Tensor, places: int) -> None:
    """Let rows targets (M,) of tensors (R, H, C, d), all laid out alike, become what rows sources (M,) were.

    Only the first places of C are in use.
    """
    library = kernels()
    assert library is not None
    first = tensors[0]
    assert all(tensor.shape == first.shape and tensor.is_contiguous() for tensor in tensors)
    failed = library.move_rows(
        (ctypes.c_void_p * len(tensors))(*(tensor.data_ptr() for tensor in tensors)),
        len(tensors),
        address(targets),
        address(sources),
        whole(len(targets)),
        whole(first.stride(0)),
        first.shape[1],
        whole(first.stride(1)),
        whole(places * first.shape[3]),
    )
    if failed:
        raise MemoryError("no memory to move rows of a search")


def address(tensor: Tensor) -> ctypes.c_void_p:
    """Return where a tensor's numbers are, for C."""
    return ctypes.c_void_p(tensor.data_ptr())


def whole(number: int) -> ctypes.c_int64:
    """Return a number as a C integer of 64 bits; ctypes would cut it to 32."""
    return ctypes.c_int64(number)
