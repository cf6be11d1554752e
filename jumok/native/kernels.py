"""The kernels of learning.c, ranking.c and searching.c as functions of tensors. `serves` says which tensors they are for."""

import ctypes
from collections.abc import Sequence

import torch
from torch import Tensor

from jumok.native.build import kernels

# R rows · V vocabulary · K tokens of a row

PLAIN, PACKED, PACKED_NARROW = 0, 1, 2  # how C wants matrices, in the order of decoding.h
MOST = 64  # values of a row that likeliest() finds faster than a search through the vocabulary
NO_MEMORY = -1  # what C returns, beside OUT_OF_RANGE (searching.c)


def packs_narrow() -> bool:
    """Return whether there are products in bf16 in C, for answers of a few rows (packed.c)."""
    library = kernels()
    return library is not None and bool(library.packings() >> PACKED_NARROW & 1)


def serves(logits: Tensor) -> bool:
    """Return whether the kernels can read logits (R, V)."""
    return logits.dtype == torch.float32 and logits.device.type == "cpu" and logits.stride(-1) == 1 and bool(kernels())


def log_sums(logits: Tensor) -> Tensor:
    """Return log Σ exp of every row (R,) of logits (R, V)."""
    library = kernels()
    assert library is not None
    rows, columns = logits.shape
    sums = logits.new_empty(rows)
    library.log_sums(address(logits), int64(rows), int64(columns), int64(logits.stride(0)), address(sums))
    return sums


def likeliest(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the largest count values (R, K) of logits (R, V) and their tokens, best first, of equal ones the first."""
    library = kernels()
    assert library is not None
    rows, columns = logits.shape
    if not 0 < count <= columns:
        raise IndexError(f"a row of {columns} logits has no {count} largest")
    values, tokens = logits.new_empty(rows, count), torch.empty(rows, count, dtype=torch.int64)
    library.likeliest(
        address(logits), int64(rows), int64(columns), int64(logits.stride(0)), count, address(values), address(tokens)
    )
    return values, tokens


def move_rows(tensors: Sequence[Tensor], targets: Tensor, sources: Tensor, places: int) -> None:
    """Let rows targets (M,) of tensors (R, H, C, d), all laid out alike, become what rows sources (M,) were.

    Only the first places of C are in use.
    """
    library = kernels()
    assert library is not None
    first = tensors[0]
    assert all(tensor.shape == first.shape for tensor in tensors)
    assert len(targets) == len(sources)
    assert 0 <= places <= first.shape[2]
    failed = library.move_rows(
        (ctypes.c_void_p * len(tensors))(*(floats(tensor).value for tensor in tensors)),
        len(tensors),
        integers(targets),
        integers(sources),
        int64(len(targets)),
        int64(len(first)),
        int64(first.stride(0)),
        first.shape[1],
        int64(first.stride(1)),
        int64(places * first.shape[3]),
    )
    if failed == NO_MEMORY:
        raise MemoryError("no memory to move rows of a search")
    if failed:
        raise IndexError(f"a row to move is not among the {len(first)}")


def random_bytes(seed: int, count: int) -> Tensor:
    """Return so many random bytes, always the same ones for a seed of 64 bits."""
    library = kernels()
    assert library is not None
    found = torch.empty(count, dtype=torch.uint8)
    library.random_bytes(ctypes.c_uint64(seed), int64(count), address(found))
    return found


def drop(base: Tensor | None, x: Tensor, random: Tensor, threshold: int, scale: float) -> Tensor:
    """Return [base +] x · scale where a random byte reaches the threshold, else [base +] 0; all contiguous."""
    library = kernels()
    assert library is not None
    assert random.dtype == torch.uint8
    assert random.numel() == x.numel()
    assert base is None or base.shape == x.shape
    out = torch.empty_like(x)
    library.drop(
        None if base is None else floats(base), floats(x), address(random), threshold, ctypes.c_float(scale),
        int64(x.numel()), address(out),
    )  # fmt: skip
    return out


def drop_relu(x: Tensor, random: Tensor, threshold: int, scale: float) -> Tensor:
    """Return relu(x) · scale where a random byte reaches the threshold, else 0; x is contiguous."""
    library = kernels()
    assert library is not None
    assert random.dtype == torch.uint8
    assert random.numel() == x.numel()
    out = torch.empty_like(x)
    library.drop_relu(floats(x), address(random), threshold, ctypes.c_float(scale), int64(x.numel()), address(out))
    return out


def drop_relu_backward(out: Tensor, gradient: Tensor, scale: float) -> Tensor:
    """Return the gradient of what drop_relu made out of, given that of out."""
    library = kernels()
    assert library is not None
    assert gradient.shape == out.shape
    to_x = torch.empty_like(out)
    library.drop_relu_backward(address(out), floats(gradient), ctypes.c_float(scale), int64(out.numel()), address(to_x))
    return to_x


def gelu(x: Tensor) -> Tensor:
    """Return gelu(x); x is contiguous."""
    library = kernels()
    assert library is not None
    out = torch.empty_like(x)
    library.gelu(floats(x), int64(x.numel()), address(out))
    return out


def gelu_backward(x: Tensor, gradient: Tensor) -> Tensor:
    """Return the gradient of x, given that of gelu(x)."""
    library = kernels()
    assert library is not None
    assert gradient.shape == x.shape
    to_x = torch.empty_like(x)
    library.gelu_backward(floats(x), floats(gradient), int64(x.numel()), address(to_x))
    return to_x


def normalise_rows(x: Tensor, scale: Tensor, shift: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return layer norm of x (…, D), and the mean and 1 / deviation (…, 1) of every row; x is contiguous."""
    library = kernels()
    assert library is not None
    assert scale.shape == shift.shape == x.shape[-1:]
    out, means = torch.empty_like(x), x.new_empty(*x.shape[:-1], 1)
    spreads = torch.empty_like(means)
    library.normalise_rows(
        floats(x), int64(means.numel()), int64(x.shape[-1]), floats(scale), floats(shift), ctypes.c_float(epsilon),
        address(out), address(means), address(spreads),
    )  # fmt: skip
    return out, means, spreads


def normalise_rows_backward(
    gradient: Tensor, x: Tensor, scale: Tensor, statistics: tuple[Tensor, Tensor], added: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of x (…, D), plus added where there is one, of scale and of shift; all contiguous."""
    library = kernels()
    assert library is not None
    means, spreads = statistics
    assert gradient.shape == x.shape
    assert added is None or added.shape == x.shape
    assert scale.shape == x.shape[-1:]
    assert means.numel() * x.shape[-1] == x.numel()
    to_x, to_scale, to_shift = torch.empty_like(x), torch.zeros_like(scale), torch.zeros_like(scale)
    library.normalise_rows_backward(
        floats(gradient), floats(x), int64(means.numel()), int64(x.shape[-1]), floats(scale), floats(means), floats(spreads),
        None if added is None else floats(added), floats(to_x), floats(to_scale), floats(to_shift),
    )  # fmt: skip
    return to_x, to_scale, to_shift


def loss_rows(
    logits: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float, to_bias: Tensor | None
) -> tuple[float, float]:
    """Turn logits (N, V) + bias (V,) into the gradient of their cross-entropy with targets (N,), in place.

    Return the sum of the cross-entropy and that of −log p; gradients are added up in to_bias (V,), where there is one.
    """
    library = kernels()
    assert library is not None
    rows, vocabulary = logits.shape
    assert targets.numel() == rows
    assert all(tensor is None or tensor.shape == (vocabulary,) for tensor in (bias, to_bias))
    total, plain = ctypes.c_double(0.0), ctypes.c_double(0.0)
    failed = library.loss_rows(
        floats(logits), int64(rows), int64(vocabulary), None if bias is None else floats(bias),
        integers(targets), ctypes.c_float(smoothing), ctypes.byref(total), ctypes.byref(plain),
        None if to_bias is None else floats(to_bias),
    )  # fmt: skip
    if failed:
        raise IndexError(f"a target is not in the vocabulary of {vocabulary}: {outside(targets, vocabulary)}")
    return total.value, plain.value


def floats(tensor: Tensor) -> ctypes.c_void_p:
    """Return where a tensor's numbers are, one behind the other, for C."""
    assert tensor.dtype == torch.float32
    assert tensor.is_cpu
    assert tensor.is_contiguous()
    return ctypes.c_void_p(tensor.data_ptr())


def integers(tensor: Tensor) -> ctypes.c_void_p:
    """Return where a tensor's integers are, one behind the other, for C."""
    assert tensor.dtype == torch.int64
    assert tensor.is_cpu
    assert tensor.is_contiguous()
    return ctypes.c_void_p(tensor.data_ptr())


def address(tensor: Tensor) -> ctypes.c_void_p:
    """Return where a tensor is whose layout the caller has looked at, for C."""
    return ctypes.c_void_p(tensor.data_ptr())


def int64(number: int) -> ctypes.c_int64:
    """Return a number as a C integer of 64 bits; ctypes would cut it to 32."""
    return ctypes.c_int64(number)


def outside(numbers: Tensor, end: int) -> int:
    """Return the first of some numbers that is below zero or not below end, which one of them is."""
    return int(numbers[(numbers < 0) | (numbers >= end)][0])
