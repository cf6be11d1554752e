"""Attention layers that are not jumok's, made to show their weights while somebody observes: torch's own, Hugging Face's.

torch.nn.MultiheadAttention, and so nn.Transformer:  asked for the weights of every head, which its callers never see
models of transformers:                              switched to their plain (“eager”) attention, which hands them over

Both go by hooks that do nothing in calls nobody records, and are taken off at the end. The switch belongs to the model: while
it is observed, calls of the same model from other threads run eagerly, too. In training mode the weights are those after dropout.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from inspect import signature
from threading import local
from typing import Any

import torch
from torch import Tensor, nn

# B batch · H heads · Q queries · K keys

File = Callable[[nn.Module, str, Tensor], None]  # module, kind, weights (B, H, Q, K)
Records = Callable[[nn.Module], bool]  # whether calls of a module are recorded here and now

_ARGUMENTS = tuple(signature(nn.MultiheadAttention.forward).parameters)[1:]


@contextmanager
def shown(model: nn.Module, *, records: Records, file: File) -> Iterator[None]:
    """Let foreign attention layers inside model file their weights within the block."""
    with ExitStack() as stack:
        for module in model.modules():
            if hasattr(module, "set_attn_implementation"):
                stack.enter_context(_eager(module))
            elif isinstance(module, nn.TransformerEncoder) and module.use_nested_tensor:
                # Without padding its layers could only take their fused path, which shows nothing.
                module.use_nested_tensor = False
                stack.callback(setattr, module, "use_nested_tensor", True)
        for path, module in model.named_modules():
            if isinstance(module, nn.MultiheadAttention):
                asked = local()
                before, after = _ask(asked, records), _take(asked, _kind_in_torch(model, path), records, file)
                stack.callback(module.register_forward_pre_hook(before, with_kwargs=True).remove)
                stack.callback(module.register_forward_hook(after, with_kwargs=True).remove)
            elif "Attention" in type(module).__name__ and type(module).__module__.startswith("transformers."):
                taken = _take_second(_kind_in_transformers(module, path), records, file)
                stack.callback(module.register_forward_hook(taken).remove)
        yield


def _ask(asked: local, records: Records) -> Callable[..., Any]:
    """Return a hook that asks torch's layer for the weights of every head, and notes what its caller asked for."""

    def before(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if not records(module):
            return None
        whole = dict(zip(_ARGUMENTS, given, strict=False)) | named
        asked.weights, asked.mean = whole.get("need_weights", True), whole.get("average_attn_weights", True)
        return (), whole | {"need_weights": True, "average_attn_weights": False}

    return before


def _take(asked: local, kind: str, records: Records, file: File) -> Callable[..., Any]:
    """Return a hook that files the weights and hands on what the caller asked for."""

    def after(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any], output: Any) -> Any:
        if not records(module):
            return None
        mixed, weights = output
        whole = weights if weights.dim() == 4 else weights[None]
        own = kind or ("self" if named["query"] is named["key"] else "cross")
        file(module, own, torch.nan_to_num(whole))  # a query that may look at nothing
        return mixed, (weights.mean(dim=-3) if asked.mean else weights) if asked.weights else None

    return after


def _kind_in_torch(model: nn.Module, path: str) -> str:
    """Return the kind of a layer of torch's own by the layer around it, or nothing where there is none."""
    parent, _, name = path.rpartition(".")
    around = model.get_submodule(parent) if path else None
    if isinstance(around, nn.TransformerDecoderLayer):
        return "cross" if name == "multihead_attn" else "decoder"
    return "encoder" if isinstance(around, nn.TransformerEncoderLayer) else ""


def _take_second(kind: str, records: Records, file: File) -> Callable[..., Any]:
    """Return a hook that files the second of a module's outputs where it is weights; layers around others pass them on."""

    def after(module: nn.Module, given: tuple[Any, ...], output: Any) -> None:
        weights = output[1] if isinstance(output, tuple) and len(output) > 1 else None
        if records(module) and isinstance(weights, Tensor) and weights.dim() == 4:
            file(module, kind, weights)

    return after


def _kind_in_transformers(module: nn.Module, path: str) -> str:
    """Return the kind of a layer by its name and by whether it looks ahead."""
    lower = path.lower()
    if any(word in lower for word in ("cross", "encoder_attn", "encdec")):
        return "cross"
    return "decoder" if "decoder" in lower or getattr(module, "is_causal", False) else "encoder"


@contextmanager
def _eager(model: Any) -> Iterator[None]:
    """Switch a model of transformers to attention that shows its weights."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(before)
