"""Dropout from random bytes.

On a CPU torch draws one random float an element on a single thread, which costs more than the matrix products of a
small model. Here one draw is the seed of a byte for each element, which is dropped where its byte is below rate · 256.
The rate is therefore rounded to 1/256, and what is kept is scaled by the rate really used, so the mean is exact.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from jumok.native import kernels as native
from jumok.native import narrow
from jumok.native.build import kernels


def draw_seed() -> int:
    """Return a seed of 64 bits, drawn by torch, so that its state tells what comes."""
    return int(torch.empty((), dtype=torch.int64).random_(-(2**63), None))


def random_bytes(seed: int, count: int) -> Tensor:
    """Return so many random bytes, the same ones for a seed: the gradient makes them again instead of keeping them."""
    if kernels() is not None:
        return native.random_bytes(seed, count)
    draws = torch.empty((count + 7) // 8, dtype=torch.int64)
    return draws.random_(-(2**63), None, generator=torch.Generator().manual_seed(seed)).view(torch.uint8)[:count]


def keep_mask(shape: torch.Size, threshold: int) -> Tensor:
    """Return a CPU bool mask: False with probability threshold / 256."""
    count = shape.numel()
    if not torch.compiler.is_compiling():
        return (random_bytes(draw_seed(), count) >= threshold).view(shape)
    draws = torch.empty((count + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
    return (draws.view(torch.uint8)[:count] >= threshold).view(shape)


class Dropout(nn.Module):
    """Zero a share of the elements in training and scale up the rest."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.threshold = round(rate * 256)

    @property
    def scale(self) -> float:
        """What is kept is multiplied by this."""
        return 256 / (256 - self.threshold) if self.threshold < 256 else 0.0

    def forward(self, x: Tensor) -> Tensor:
        """Return x with elements dropped; the same x outside training."""
        if not self.training or self.rate == 0.0:
            return x
        if x.device.type != "cpu" or self.threshold == 0:
            return F.dropout(x, self.rate)
        if _native(x):
            return _dropped(None, x, self.threshold, self.scale)
        if _narrow(x):
            dropped: Tensor = _DropNarrow.apply(x, self.threshold, self.scale)  # type: ignore[no-untyped-call]
            return dropped
        return x * keep_mask(x.shape, self.threshold).mul(self.scale)

    def added(self, base: Tensor, x: Tensor) -> Tensor:
        """Return base + x with elements of x dropped; x may be what a product in bf16 returned."""
        if self.training and base.shape == x.shape and _native(base):
            if self.threshold and _native(x):
                return _dropped(base, x, self.threshold, self.scale)
            if _narrow(x):
                found: Tensor = _AddNarrow.apply(base, x, self.threshold, self.scale)  # type: ignore[no-untyped-call]
                return found
        whole: Tensor = base + self(x)
        return whole

    def of_relu(self, x: Tensor) -> Tensor:
        """Return relu(x) with elements dropped."""
        if self.training and self.threshold and (_native(x) or _narrow(x)):
            activated: Tensor = _DropRelu.apply(x, self.threshold, self.scale)  # type: ignore[no-untyped-call]
            return activated
        whole: Tensor = self(F.relu(x))
        return whole

    def extra_repr(self) -> str:
        return f"rate={self.rate}"


def _native(x: Tensor) -> bool:
    """Return whether C may go through x from its first number to its last."""
    return not torch.compiler.is_compiling() and x.is_contiguous() and native.serves(x)


def _narrow(x: Tensor) -> bool:
    """Return whether C may go through bf16 numbers x."""
    return not torch.compiler.is_compiling() and narrow.serves(x)


def _dropped(base: Tensor | None, x: Tensor, threshold: int, scale: float) -> Tensor:
    found: Tensor = _Drop.apply(base, x, threshold, scale)  # type: ignore[no-untyped-call]
    return found


class _Drop(torch.autograd.Function):
    """[base +] dropout(x), in one pass over each."""

    @staticmethod
    def forward(ctx: Any, base: Tensor | None, x: Tensor, threshold: int, scale: float) -> Tensor:
        ctx.seed, ctx.threshold, ctx.scale = draw_seed(), threshold, scale
        return native.drop(base, x, random_bytes(ctx.seed, x.numel()), threshold, scale)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        random = random_bytes(ctx.seed, gradient.numel())
        to_x = native.drop(None, gradient.contiguous(), random, ctx.threshold, ctx.scale)
        return (gradient if ctx.needs_input_grad[0] else None), to_x, None, None


class _DropRelu(torch.autograd.Function):
    """dropout(relu(x)); where the result is not zero, its gradient is the scale."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, threshold: int, scale: float) -> Tensor:
        drop = native.drop_relu if x.dtype == torch.float32 else narrow.drop_relu
        out = drop(x, random_bytes(draw_seed(), x.numel()), threshold, scale)
        ctx.save_for_backward(out)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (out,) = ctx.saved_tensors
        back = native.drop_relu_backward if out.dtype == torch.float32 else narrow.drop_relu_back
        return back(out, gradient.contiguous(), ctx.scale), None, None


class _DropNarrow(torch.autograd.Function):
    """dropout(x) of bf16 numbers."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, threshold: int, scale: float) -> Tensor:
        ctx.seed, ctx.threshold, ctx.scale = draw_seed(), threshold, scale
        return narrow.drop(x, random_bytes(ctx.seed, x.numel()), threshold, scale)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        random = random_bytes(ctx.seed, gradient.numel())
        return narrow.drop(gradient.contiguous(), random, ctx.threshold, ctx.scale), None, None


class _AddNarrow(torch.autograd.Function):
    """base + dropout(x) of fp32 and bf16 numbers, in one pass over each."""

    @staticmethod
    def forward(ctx: Any, base: Tensor, x: Tensor, threshold: int, scale: float) -> Tensor:
        ctx.threshold, ctx.scale = threshold, scale
        if not threshold:
            return narrow.added(base, x)
        ctx.seed = draw_seed()
        return narrow.drop_added(base, x, random_bytes(ctx.seed, x.numel()), threshold, scale)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        if ctx.threshold:
            random = random_bytes(ctx.seed, gradient.numel())
            to_x = narrow.drop_back(gradient.contiguous(), random, ctx.threshold, ctx.scale)
        else:
            to_x = gradient.to(torch.bfloat16)
        return (gradient if ctx.needs_input_grad[0] else None), to_x, None, None


class StochasticDepth(nn.Module):
    """Leave a part of a layer out for some examples in training, so that it learns to do without (Huang et al. 2016)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Return x (B, …) with whole examples zeroed and the others scaled up; the same x outside training."""
        if not self.training or self.rate == 0.0:
            return x
        kept = torch.rand(len(x), *(1 for _ in x.shape[1:]), device=x.device) >= self.rate
        return x * kept / (1 - self.rate)

    def extra_repr(self) -> str:
        return f"rate={self.rate}"


def depth_rates(rate: float, layers: int) -> Iterator[float]:
    """Yield each layer's rate of stochastic depth: none at the first, rate at the last."""
    return (rate * number / max(layers - 1, 1) for number in range(layers))
