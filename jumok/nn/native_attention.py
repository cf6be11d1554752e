"""Attention of many short sequences in C while a model learns (native/attention.c), with its gradient.

query, key, value as the linear layers wrote them (N, T, H · d) → mixed (N, T, H · d), ready for the output projection

torch's fused kernel wants the heads apart, which is a copy of everything on the way in and out, and knows no gradient of a bias.
"""

import ctypes
from typing import Any, NamedTuple

import torch
from torch import Tensor

from jumok.native import narrow
from jumok.native.build import kernels
from jumok.native.fast_path import on_fast_path
from jumok.native.kernels import address, floats, int64, integers, serves

# N sequences · Q queries · K keys · H heads · d head width · W biases, taken in turns by the sequences

LONGEST = 256  # keys; the weights of a head should stay in the cache


class _Attention(ctypes.Structure):
    """struct attention of attention.c."""

    _fields_ = [
        ("sequences", ctypes.c_int64),
        *((name, ctypes.c_int) for name in ("heads", "queries", "keys", "width", "causal")),
        ("scale", ctypes.c_float),
        *((name, ctypes.c_int64) for name in ("query_sequence", "query_row", "key_sequence", "key_row")),
        ("lengths", ctypes.c_void_p),
        ("bias", ctypes.c_void_p),
        ("biases", ctypes.c_int64),
    ]


class Heads(NamedTuple):
    """How attention is shared among heads, and how many keys each sequence has."""

    number: int
    scale: float
    lengths: Tensor | None = None  # (N,) real keys of each sequence, the first ones; None: all


def fits(query: Tensor, keys: int, head_width: int) -> bool:
    """Return whether C serves in training for query (N, Q, …), so many keys, and heads of equally wide keys and values."""
    return (
        on_fast_path()
        and torch.is_grad_enabled()
        and head_width % 4 == 0
        and keys <= LONGEST
        and 0 < query.numel() < 1 << 31
        and not torch.is_autocast_enabled("cpu")
        and (serves(query) or narrow.serves(query))
    )


def attend_to_itself(joined: Tensor, heads: Heads, *, causal: bool = False, bias: Tensor | None = None) -> Tensor:
    """Return softmax(q kᵀ · scale + bias) v (N, T, H · d) of q, k and v side by side (N, T, 3 · H · d); bias is (W, H, T, T)."""
    mixed: Tensor = _Attend.apply(joined, None, bias, heads.lengths, heads.number, heads.scale, causal)  # type: ignore[no-untyped-call]
    return mixed


def attend_to_another(query: Tensor, key_value: Tensor, heads: Heads) -> Tensor:
    """Return softmax(q kᵀ · scale) v (N, Q, H · d) of q (N, Q, H · d), and k and v side by side (N, K, 2 · H · d)."""
    mixed: Tensor = _Attend.apply(query, key_value, None, heads.lengths, heads.number, heads.scale, False)  # type: ignore[no-untyped-call]
    return mixed


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        first: Tensor,
        second: Tensor | None,
        bias: Tensor | None,
        lengths: Tensor | None,
        heads: int,
        scale: float,
        causal: bool,
    ) -> Tensor:
        library = kernels()
        assert library is not None
        first, second = first.contiguous(), None if second is None else second.contiguous()
        bias = None if bias is None else bias.contiguous()
        query, key, value = _apart(first, second)
        call = _describe(query, key, bias, lengths, heads=heads, scale=scale, causal=causal)
        out = query.new_empty(query.shape)
        sums = torch.empty(len(query), heads, query.shape[1])
        prefix = _prefix(query)
        space = torch.empty(getattr(library, f"{prefix}attention_space")(ctypes.byref(call)))
        failed = getattr(library, f"{prefix}attend_all")(
            ctypes.byref(call),
            address(query),
            address(key),
            address(value),
            address(space),
            address(out),
            address(sums),
        )
        if failed:
            raise IndexError(f"a sequence has more keys than the {key.shape[1]} that are there")
        ctx.save_for_backward(first, second, bias, lengths, sums)
        ctx.options = {"heads": heads, "scale": scale, "causal": causal}
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        library = kernels()
        assert library is not None
        first, second, bias, lengths, sums = ctx.saved_tensors
        gradient = gradient.contiguous()
        query, key, value = _apart(first, second)
        call = _describe(query, key, bias, lengths, **ctx.options)
        to_first, to_second = torch.empty_like(first), None if second is None else torch.empty_like(second)
        to_query, to_key, to_value = _apart(to_first, to_second)
        to_bias = None if bias is None else torch.zeros_like(bias)
        prefix = _prefix(query)
        space = torch.empty(getattr(library, f"{prefix}attention_space")(ctypes.byref(call)))
        assert gradient.dtype == query.dtype
        failed = getattr(library, f"{prefix}attend_back")(
            ctypes.byref(call), address(query), address(key), address(value), address(gradient), address(sums),
            address(space), address(to_query), address(to_key), address(to_value),
            None if to_bias is None else address(to_bias),
        )  # fmt: skip
        assert not failed, "as in forward"
        return to_first, to_second, to_bias, None, None, None, None


def _apart(first: Tensor, second: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Return views of queries, keys and values."""
    if second is None:
        query, key, value = first.chunk(3, dim=-1)
    else:
        query, (key, value) = first, second.chunk(2, dim=-1)
    return query, key, value


def _prefix(query: Tensor) -> str:
    """Return what the names of the kernels for a query's numbers begin with."""
    return "" if query.dtype == torch.float32 else "narrow_"


def _describe(
    query: Tensor, key: Tensor, bias: Tensor | None, lengths: Tensor | None, *, heads: int, scale: float, causal: bool
) -> _Attention:
    """Describe a call; query, key and value are parts of tensors with all numbers of a place side by side."""
    sequences, queries, width = query.shape
    keys = key.shape[1]
    assert query.dtype == key.dtype
    assert query.dtype in (torch.float32, torch.bfloat16)
    assert query.is_cpu
    assert key.is_cpu
    assert key.shape == (sequences, keys, width)
    assert width % (4 * heads) == 0
    assert lengths is None or lengths.shape == (sequences,)
    assert bias is None or (len(bias) > 0 and bias.shape[1:] == (heads, queries, keys))
    return _Attention(
        sequences=int64(sequences), heads=heads, queries=queries, keys=keys, width=width // heads, causal=int(causal), scale=scale,
        query_sequence=int64(query.stride(0)), query_row=int64(query.stride(1)),
        key_sequence=int64(key.stride(0)), key_row=int64(key.stride(1)),
        lengths=None if lengths is None else integers(lengths),
        bias=None if bias is None else floats(bias),
        biases=int64(1 if bias is None else len(bias)),
    )  # fmt: skip
