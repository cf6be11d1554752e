"""Attention that is not jumok's, made to hand over its weights to a record.

torch.nn.MultiheadAttention, and so nn.Transformer:  asked for the weights of every head (here)
models of transformers (Hugging Face):               switched to attention that returns them (hugging_face.py)
calls of F.scaled_dot_product_attention:             seen wherever they stand (functions.py)
anything else:                                       marked by jumok.watch (watching.py)

All go by forward hooks, which do nothing in calls that are not recorded and are removed at the end. In training mode
the weights of torch's layers and of Hugging Face's are those after dropout.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from inspect import signature
from threading import local
from typing import Any

import torch
from torch import Tensor, nn

from jumok.inspection.calls import Observation, following_calls
from jumok.inspection.foreign_details import Ingredients
from jumok.inspection.functions import SeeingFunctions
from jumok.inspection.hugging_face import (
    can_generate,
    eager,
    is_attention_of_transformers,
    make_asking_hook,
    make_beam_search_hook,
    make_weights_hook,
)

# B batch · H heads · Q queries · K keys · D width

MultiheadOutput = tuple[Tensor, Tensor | None]  # what nn.MultiheadAttention returns: output, weights

_ARGUMENTS = tuple(signature(nn.MultiheadAttention.forward).parameters)[1:]


@contextmanager
def filing_foreign_weights(model: nn.Module, observation: Observation) -> Iterator[None]:
    """Let foreign attention inside the model file its weights within the block."""
    modules, kinds = observation.record.observed, dict[nn.Module, str]()
    with ExitStack() as stack:
        stack.enter_context(eager(modules))
        for module in modules:
            if isinstance(module, nn.TransformerEncoder) and module.use_nested_tensor:
                # With nested tensors its layers could only take their fused path, which returns no weights.
                module.use_nested_tensor = False
                stack.callback(setattr, module, "use_nested_tensor", True)
            elif isinstance(module, nn.MultiheadAttention):
                hooks = _MultiheadHooks(kinds.get(module, ""), observation)
                stack.callback(module.register_forward_pre_hook(hooks.before, with_kwargs=True).remove)
                stack.callback(module.register_forward_hook(hooks.after, with_kwargs=True).remove)
            elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                kinds |= _kinds_inside(module)  # before its parts, as modules are ordered
            elif is_attention_of_transformers(module):
                hook = make_weights_hook(observation)
                stack.callback(module.register_forward_hook(hook, with_kwargs=True).remove)
                if (asking := make_asking_hook(module)) is not None:
                    stack.callback(module.register_forward_pre_hook(asking, with_kwargs=True).remove)
            elif can_generate(module):
                stack.callback(module.register_forward_pre_hook(make_beam_search_hook(observation)).remove)
        # Behind the hooks above: a call must still be open when they file its weights.
        stack.enter_context(following_calls(model, observation, SeeingFunctions(observation)))
        yield


class _MultiheadHooks:
    """Ask one nn.MultiheadAttention for the weights of every head; its caller gets what the caller asked for."""

    def __init__(self, kind: str, observation: Observation) -> None:
        self.kind, self.observation = kind, observation
        self.asked = local()  # what the caller of this thread asked for: weights: bool, mean: bool

    def before(
        self, module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[()], dict[str, Any]] | None:
        """Change the arguments of a recorded call so that it returns the weights of every head."""
        if not self.observation.covers(module):
            return None
        arguments = dict(zip(_ARGUMENTS, given, strict=False)) | named
        self.asked.weights = arguments.get("need_weights", True)
        self.asked.mean = arguments.get("average_attn_weights", True)
        return (), arguments | {"need_weights": True, "average_attn_weights": False}

    def after(
        self, module: nn.MultiheadAttention, given: object, named: dict[str, Any], output: tuple[Tensor, Tensor]
    ) -> MultiheadOutput | None:
        """File the weights of a recorded call, and return the output that its caller asked for."""
        if not self.observation.covers(module):
            return None
        mixed, weights = output
        kind = self.kind or ("self" if named["query"] is named["key"] else "cross")
        batched = weights if weights.dim() == 4 else weights[None]
        ingredients = None
        if self.observation.record.keeps_details:
            ingredients = _project(module, named["query"], named["key"], named["value"], output=mixed)
        weights_of_all = torch.nan_to_num(batched)  # NaN: a query that may look at nothing
        self.observation.file(module, kind, weights_of_all, checked=not module.training, ingredients=ingredients)
        if not self.asked.weights:
            return mixed, None
        return mixed, weights.mean(dim=-3) if self.asked.mean else weights


def _project(
    layer: nn.MultiheadAttention, query: Tensor, key: Tensor, value: Tensor, *, output: Tensor
) -> Ingredients | None:
    """Return queries, keys and values of a layer's inputs; None where it adds a key of its own."""
    if layer.bias_k is not None or layer.add_zero_attn:
        return None
    apart = (layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight)
    matrices = layer.in_proj_weight.chunk(3) if layer._qkv_same_embed_dim else apart
    biases = (None, None, None) if layer.in_proj_bias is None else layer.in_proj_bias.chunk(3)
    inputs = [one if one.dim() == 3 else one[None] for one in (query, key, value, output)]
    if query.dim() == 3 and not layer.batch_first:
        inputs = [one.transpose(0, 1) for one in inputs]
    heads = [
        nn.functional.linear(one, matrix, bias).view(*one.shape[:2], layer.num_heads, -1).transpose(1, 2)
        for one, matrix, bias in zip(inputs, matrices, biases, strict=False)
    ]
    return Ingredients(heads[0], heads[1], heads[2], inputs[3], scales=(layer.head_dim**-0.5,))


def _kinds_inside(layer: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) -> dict[nn.Module, str]:
    """Return the kinds of attention inside a layer of torch's."""
    if isinstance(layer, nn.TransformerDecoderLayer):
        return {layer.self_attn: "decoder", layer.multihead_attn: "cross"}
    return {layer.self_attn: "encoder"}
