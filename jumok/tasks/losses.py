"""Cross-entropy over a vocabulary, computed and differentiated chunk by chunk.

features (N, D) → logits (chunk, V) → loss and gradient at once → next chunk; no (N, V) tensor ever lives

The loss of a token is −log p of the right one, smoothed: with ε of the weight spread evenly over the vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from jumok.native import kernels as native
from jumok.native import narrow as narrow_native
from jumok.native.fast_path import on_fast_path
from jumok.nn.linear import multiplies, multiply
from jumok.nn.precision import narrow, narrow_weight

# N real target positions · D width · V vocabulary

CHUNK_ELEMENTS = 1 << 21  # about as many logits a chunk: 8 MB in fp32, which stays in the cache of a CPU
NARROW_CHUNK_ELEMENTS = 1 << 23  # in bf16, where adding up gradients weighs more beside the products
CHUNK_STEP = 64  # matrix products like rows in such steps


@dataclass(frozen=True)
class Loss:
    """A summed loss and what it is summed over; the trainer divides once, over all micro-batches and ranks."""

    total: Tensor
    count: int
    parts: dict[str, Tensor] = field(default_factory=dict)  # other sums over the same count, for the log


def vocabulary_loss(
    features: Tensor,
    project: nn.Linear,
    targets: Tensor,
    *,
    smoothing: float = 0.0,
    weights: Tensor | None = None,
    never: Sequence[int] = (),
) -> tuple[Tensor, Tensor]:
    """Return the summed smoothed loss, each target's times its weight (N,), and the summed −log p of targets (N,).

    Both are given features (N, D). Tokens that are never written take no part: p is what it is among the others.
    """
    features = features.to(project.weight.dtype)
    weight: Tensor = project.weight
    bias: Tensor | None = project.bias
    if never:
        kept = torch.ones(len(weight), dtype=torch.bool, device=weight.device)
        kept[list(never)] = False
        weight, bias, targets = weight[kept], None if bias is None else bias[kept], (kept.cumsum(0) - 1)[targets]
    learning = torch.is_grad_enabled()  # parameters say that they need a gradient in evaluations, too
    rounded = narrow_weight(weight) if narrow() else None
    total, plain = _VocabularyLoss.apply(  # type: ignore[no-untyped-call]
        features, weight, rounded, bias, targets, weights, smoothing, learning
    )
    return total, plain


class _VocabularyLoss(torch.autograd.Function):
    """Gradients are made in the forward pass, while a chunk's logits are at hand."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        rounded: Tensor | None,
        bias: Tensor | None,
        targets: Tensor,
        weights: Tensor | None,
        smoothing: float,
        learning: bool,
    ) -> tuple[Tensor, Tensor]:
        vocabulary = len(weight)
        wanted = learning and any(ctx.needs_input_grad[:4])
        total, plain = features.new_zeros(()), features.new_zeros(())
        if wanted:
            feature_gradient, weight_gradient = torch.empty_like(features), weight.new_zeros(weight.T.shape)
            bias_gradient = None if bias is None else torch.zeros_like(bias)
        middle, level = weight.mean(dim=0)[:, None], 0.0 if bias is None else bias.mean()  # of the mean logit
        factor = weight if rounded is None else rounded  # what features and gradients are multiplied with
        chunk = CHUNK_ELEMENTS if rounded is None else NARROW_CHUNK_ELEMENTS
        onednn = rounded is None and on_fast_path() and multiplies(features, weight)
        times = _by_onednn if onednn else torch.mm
        rows = max(chunk // (vocabulary * CHUNK_STEP), 1) * CHUNK_STEP
        for start in range(0, len(features), rows):
            part, right = features[start : start + rows], targets[start : start + rows, None]
            given = part.to(factor.dtype)
            if wanted and weights is None and native.serves(part) and native.serves(weight):
                logits = times(given, factor.T)  # (rows, V), the bias added below
                kind = native if rounded is None else narrow_native
                smoothed, exact = kind.loss_rows(logits, bias, right.contiguous(), smoothing, bias_gradient)
                total += smoothed
                plain += exact
                feature_gradient[start : start + rows] = times(logits, factor)
                weight_gradient += times(given.T, logits)
                continue
            logits = (given @ factor.T).to(features.dtype)  # (rows, V)
            if bias is not None:
                logits += bias
            chosen, spread = logits.gather(1, right), part @ middle + level
            share = logits.softmax(dim=1)
            # The log of the sum through the largest logit, whose share cannot underflow.
            log_sum = logits.amax(dim=1, keepdim=True) - share.amax(dim=1, keepdim=True).log()
            each = log_sum - (1 - smoothing) * chosen - smoothing * spread  # (rows, 1)
            total += (each if weights is None else each * weights[start : start + rows, None]).sum()
            plain += (log_sum - chosen).sum()
            if wanted:
                share -= smoothing / vocabulary
                share.scatter_add_(1, right, share.new_full((1, 1), smoothing - 1).expand_as(right))
                if weights is not None:
                    share *= weights[start : start + rows, None]
                turned = share.to(factor.dtype)
                feature_gradient[start : start + rows] = turned @ factor
                weight_gradient += given.T @ turned
                if bias_gradient is not None:
                    bias_gradient += share.sum(dim=0)
        if wanted:
            ctx.save_for_backward(feature_gradient, weight_gradient, bias_gradient)
        ctx.mark_non_differentiable(plain)
        return total, plain

    @staticmethod
    def backward(ctx: Any, grad_total: Tensor, grad_plain: Tensor) -> tuple[Tensor | None, ...]:
        feature_gradient, weight_gradient, bias_gradient = ctx.saved_tensors
        of_bias = None if bias_gradient is None else bias_gradient * grad_total
        of_weight = weight_gradient.new_empty(
            weight_gradient.T.shape
        )  # (V, D); by chunks it was made turned, which is faster
        torch.mul(weight_gradient.T, grad_total, out=of_weight)
        return feature_gradient * grad_total, of_weight, None, of_bias, None, None, None, None


def _by_onednn(x: Tensor, y: Tensor) -> Tensor:
    """Return x y of fp32 numbers."""
    return multiply(x.contiguous(), y.T, None)
