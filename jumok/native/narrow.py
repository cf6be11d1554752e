"""The kernels of narrow.c and narrow_cells.c as functions of tensors: what stands between products in bf16 while a model learns.

x is bf16 and contiguous, unless said otherwise; `serves` says which tensors they are for. The twins in fp32 are in kernels.py.
"""

import ctypes

import torch
from torch import Tensor

from jumok.native.build import kernels
from jumok.native.kernels import address, floats, int64, integers, outside

# N rows · V vocabulary


def serves(x: Tensor) -> bool:
    """Return whether the kernels can read x from its first number to its last."""
    return x.dtype == torch.bfloat16 and x.device.type == "cpu" and x.is_contiguous() and bool(kernels())


def halves(tensor: Tensor) -> ctypes.c_void_p:
    """Return where a tensor's numbers are, one behind the other, for C."""
    assert tensor.dtype == torch.bfloat16
    assert tensor.is_cpu
    assert tensor.is_contiguous()
    return ctypes.c_void_p(tensor.data_ptr())


def drop(x: Tensor, random: Tensor, threshold: int, scale: float) -> Tensor:
    """Return x · scale where a random byte reaches the threshold, else 0."""
    library = kernels()
    assert library is not None
    assert random.numel() == x.numel()
    out = torch.empty_like(x)
    library.narrow_drop(
        halves(x), address(random), threshold, ctypes.c_float(scale), int64(x.numel()), halves(out)
    )  # fmt: skip
    return out


def added(base: Tensor, x: Tensor) -> Tensor:
    """Return base + x; base and the sum are fp32."""
    library = kernels()
    assert library is not None
    assert base.shape == x.shape
    out = torch.empty_like(base)
    library.narrow_added(floats(base), halves(x), int64(x.numel()), floats(out))
    return out


def drop_added(base: Tensor, x: Tensor, random: Tensor, threshold: int, scale: float) -> Tensor:
    """Return base + x · scale where a random byte reaches the threshold, else base; base and the sum are fp32."""
    library = kernels()
    assert library is not None
    assert base.shape == x.shape
    assert random.numel() == x.numel()
    out = torch.empty_like(base)
    library.narrow_drop_added(
        floats(base), halves(x), address(random), threshold, ctypes.c_float(scale), int64(x.numel()), floats(out)
    )
    return out


def drop_back(gradient: Tensor, random: Tensor, threshold: int, scale: float) -> Tensor:
    """Return the gradient of x, in bf16, given that of what drop_added made of it, in fp32."""
    library = kernels()
    assert library is not None
    assert random.numel() == gradient.numel()
    to_x = torch.empty_like(gradient, dtype=torch.bfloat16)
    library.narrow_drop_back(
        floats(gradient), address(random), threshold, ctypes.c_float(scale), int64(gradient.numel()), halves(to_x)
    )
    return to_x


def drop_relu(x: Tensor, random: Tensor, threshold: int, scale: float) -> Tensor:
    """Return relu(x) · scale where a random byte reaches the threshold, else 0."""
    library = kernels()
    assert library is not None
    assert random.numel() == x.numel()
    out = torch.empty_like(x)
    library.narrow_drop_relu(
        halves(x), address(random), threshold, ctypes.c_float(scale), int64(x.numel()), halves(out)
    )
    return out


def drop_relu_back(out: Tensor, gradient: Tensor, scale: float) -> Tensor:
    """Return the gradient of what drop_relu made out of, given that of out."""
    library = kernels()
    assert library is not None
    assert gradient.shape == out.shape
    to_x = torch.empty_like(out)
    library.narrow_drop_relu_back(
        halves(out), halves(gradient), ctypes.c_float(scale), int64(out.numel()), halves(to_x)
    )
    return to_x


def gelu(x: Tensor) -> Tensor:
    """Return gelu(x)."""
    library = kernels()
    assert library is not None
    out = torch.empty_like(x)
    library.narrow_gelu(halves(x), int64(x.numel()), halves(out))
    return out


def gelu_back(x: Tensor, gradient: Tensor) -> Tensor:
    """Return the gradient of x, given that of gelu(x)."""
    library = kernels()
    assert library is not None
    assert gradient.shape == x.shape
    to_x = torch.empty_like(x)
    library.narrow_gelu_back(halves(x), halves(gradient), int64(x.numel()), halves(to_x))
    return to_x


def normalise_rows(x: Tensor, scale: Tensor, shift: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return layer norm of fp32 x (…, D) in bf16, and the mean and 1 / deviation (…, 1) of every row."""
    library = kernels()
    assert library is not None
    assert scale.shape == shift.shape == x.shape[-1:]
    out, means = torch.empty_like(x, dtype=torch.bfloat16), x.new_empty(*x.shape[:-1], 1)
    spreads, space = torch.empty_like(means), torch.empty_like(scale)
    library.narrow_normalise_rows(
        floats(x), int64(means.numel()), int64(x.shape[-1]), floats(scale), floats(shift), ctypes.c_float(epsilon),
        floats(space), halves(out), floats(means), floats(spreads),
    )  # fmt: skip
    return out, means, spreads


def normalise_back(
    gradient: Tensor, x: Tensor, scale: Tensor, statistics: tuple[Tensor, Tensor], added: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of x (…, D), plus added where there is one, of scale and of shift, in fp32."""
    library = kernels()
    assert library is not None
    means, spreads = statistics
    assert gradient.shape == x.shape
    assert added is None or added.shape == x.shape
    assert scale.shape == x.shape[-1:]
    assert means.numel() * x.shape[-1] == x.numel()
    to_x, space = torch.empty_like(x), torch.empty_like(scale)
    to_scale, to_shift = torch.zeros_like(scale), torch.zeros_like(scale)
    library.narrow_normalise_back(
        halves(gradient), floats(x), int64(means.numel()), int64(x.shape[-1]), floats(scale), floats(means), floats(spreads),
        None if added is None else floats(added), floats(space), floats(to_x), floats(to_scale), floats(to_shift),
    )  # fmt: skip
    return to_x, to_scale, to_shift


def sums(x: Tensor) -> Tensor:
    """Return the sums (C,) of the columns of x (N, C), in fp32."""
    library = kernels()
    assert library is not None
    rows, columns = x.shape
    found = x.new_empty(columns, dtype=torch.float32)
    library.narrow_sums(halves(x), int64(rows), int64(columns), floats(found))
    return found


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
    space = torch.empty(vocabulary)
    failed = library.narrow_loss_rows(
        halves(logits), int64(rows), int64(vocabulary), None if bias is None else floats(bias), integers(targets),
        ctypes.c_float(smoothing), floats(space), ctypes.byref(total), ctypes.byref(plain),
        None if to_bias is None else floats(to_bias),
    )  # fmt: skip
    if failed:
        raise IndexError(f"a target is not in the vocabulary of {vocabulary}: {outside(targets, vocabulary)}")
    return total.value, plain.value


def lstm_step(given: Tensor, back: Tensor, cell: Tensor, *, into: tuple[Tensor, Tensor, Tensor, Tensor]) -> None:
    """Write what the gradient needs (R, 4 W), the new cell, the new state, and the latter in bf16, of gates (R, 4 W)."""
    library = kernels()
    assert library is not None
    kept, new_cell, state, half_state = into
    rows, width = cell.shape
    _check(rows, width, (given, 4), (back, 4), (kept, 4), (new_cell, 1), (state, 1), (half_state, 1))
    library.narrow_lstm_step(
        halves(given), halves(back), floats(cell), int64(rows), int64(width), halves(kept), floats(new_cell),
        floats(state), halves(half_state),
    )  # fmt: skip


def lstm_back(
    kept: Tensor,
    cell: Tensor,
    new_cell: Tensor,
    to_state: Tensor | None,
    later: Tensor | None,
    *,
    into: tuple[Tensor, Tensor],
) -> None:
    """Let the gradient of a cell become that of the cell before, and write that of the gates."""
    library = kernels()
    assert library is not None
    to_cell, to_gates = into
    rows, width = cell.shape
    _check(rows, width, (kept, 4), (new_cell, 1), (to_state, 1), (later, 1), (to_cell, 1), (to_gates, 4))
    library.narrow_lstm_back(
        halves(kept), floats(cell), floats(new_cell), None if to_state is None else floats(to_state),
        None if later is None else halves(later), int64(rows), int64(width), floats(to_cell), halves(to_gates),
    )  # fmt: skip


def gru_step(given: Tensor, back: Tensor, state: Tensor, *, into: tuple[Tensor, Tensor, Tensor]) -> None:
    """Write what the gradient needs (R, 4 W), the new state, and the latter in bf16, of gates (R, 3 W)."""
    library = kernels()
    assert library is not None
    kept, new_state, half_state = into
    rows, width = state.shape
    _check(rows, width, (given, 3), (back, 3), (kept, 4), (new_state, 1), (half_state, 1))
    library.narrow_gru_step(
        halves(given), halves(back), floats(state), int64(rows), int64(width), halves(kept), floats(new_state),
        halves(half_state),
    )  # fmt: skip


def gru_back(
    kept: Tensor, state: Tensor, to_state: Tensor | None, later: Tensor | None, *, into: tuple[Tensor, Tensor, Tensor]
) -> None:
    """Let the gradient of a state, without what passes a product, become that of the state before; write those of the gates."""
    library = kernels()
    assert library is not None
    to_before, to_given, to_back = into
    rows, width = state.shape
    _check(rows, width, (kept, 4), (to_state, 1), (later, 1), (to_before, 1), (to_given, 3), (to_back, 3))
    library.narrow_gru_back(
        halves(kept), floats(state), None if to_state is None else floats(to_state),
        None if later is None else halves(later), int64(rows), int64(width), floats(to_before), halves(to_given),
        halves(to_back),
    )  # fmt: skip


def _check(rows: int, width: int, *tensors: tuple[Tensor | None, int]) -> None:
    """Check that tensors are (rows, parts · width)."""
    assert all(tensor is None or tensor.shape == (rows, parts * width) for tensor, parts in tensors)
