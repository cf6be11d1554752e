"""Attention that a model computes by calling torch: F.scaled_dot_product_attention, wherever it stands.

model(batch) → … → F.scaled_dot_product_attention(q, k, v) → its own output, and beside it the weights for the record

The function runs as it would; the weights are computed once more, before dropout. Only calls made while a module of
the observed model is being called are seen, and only in this thread.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from jumok.inspection.calls import Observation, OpenCall, Product, innermost_call
from jumok.inspection.foreign_details import Ingredients
from jumok.inspection.kinds import guess_kind
from jumok.inspection.uncompiled import kept_out_of_compiled_code

# B batch · H heads · Q queries · K keys · d head width · v value width

_FUSED = {
    F.scaled_dot_product_attention,
    torch.ops.aten.scaled_dot_product_attention,
    torch.ops.aten.scaled_dot_product_attention.default,
}
_PRODUCTS = {torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm}


class SeeingFunctions(TorchFunctionMode):
    """Sees torch's functions while the observed model is being called."""

    def __init__(self, observation: Observation) -> None:
        super().__init__()
        self.observation = observation
        self.run = kept_out_of_compiled_code(self._run)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run a function of torch, and file the weights of attention."""
        return self.run(func, args, kwargs or {})

    def _run(self, func: Callable[..., Any], given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        output = func(*given, **named)
        is_fused = func in _FUSED
        is_product = self.observation.record.keeps_details and func in _PRODUCTS and len(given) == 2
        call = innermost_call(self.observation) if is_fused or is_product else None
        if call is not None and is_fused:
            self._file(call, output, *given, **named)
        elif call is not None:
            call.products.append(Product(*given))
        return output

    def _file(
        self,
        call: OpenCall,
        output: Tensor,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> None:
        """File the weights of one call of the function; the arguments are the function's own."""
        if query.is_nested:
            self.observation.note("Attention over nested tensors was not recorded", call.module)
            return
        factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
        if enable_gqa and query.dim() > 2:
            groups = query.shape[-3] // key.shape[-3]
            key, value = (one.repeat_interleave(groups, dim=-3) for one in (key, value))
        weights = batched(fused_weights(query.detach(), key.detach(), attn_mask, causal=is_causal, scale=factor))
        kind = self.observation.kind_of_step(call.module, weights) or guess_kind(
            call.path, weights, crossed=call.crosses, causal=is_causal
        )
        joined = batched(output).transpose(1, 2).flatten(2)  # heads concatenated; whatever follows is not known
        query, key, value = (_expand(part, weights) for part in (query, key, value))
        ingredients = Ingredients(query, key, value, joined, scales=(factor,))
        self.observation.file(call.module, kind, weights, ingredients=ingredients)


def fused_weights(query: Tensor, key: Tensor, mask: Tensor | None, *, causal: bool, scale: float) -> Tensor:
    """Return the weights (…, Q, K) that F.scaled_dot_product_attention uses; its mask is boolean or added to scores."""
    if query.dtype in (torch.float16, torch.bfloat16):
        query, key = query.float(), key.float()
    scores = query @ key.transpose(-2, -1) * scale
    if causal:  # from the first query and the first key on, as torch has it
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if mask is not None:
        hidden = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask.detach()
        return hidden.softmax(dim=-1).nan_to_num()  # NaN: a query that may look at nothing
    return scores.softmax(dim=-1)


def batched(x: Tensor) -> Tensor:
    """Return (B, H, …, …) of x (…, H, …, …), (B, …, …) with one head, or (…, …) of one example."""
    if x.dim() == 2:
        return x[None, None]
    return x[:, None] if x.dim() == 3 else x.flatten(0, -4)


def _expand(part: Tensor, weights: Tensor) -> Tensor:
    """Return queries, keys or values with the batch and heads of weights (B, H, Q, K), over which torch broadcasts them."""
    part = batched(part)
    return part.expand(*weights.shape[:2], *part.shape[2:])
