"""Attention layers that are not jumok's, made to hand over their weights while a model is observed.

torch.nn.MultiheadAttention, and so nn.Transformer:  asked for the weights of every head, which its callers never see
models of transformers (Hugging Face):               switched to their “eager” attention, which returns its weights

Both go by forward hooks, which do nothing in calls that are not recorded and are removed at the end. The switch
belongs to the model: while it is observed, its calls from other threads run eagerly, too. In training mode the weights
are those after dropout.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from inspect import signature
from threading import local
from typing import Any, Protocol, TypeGuard

import torch
from torch import Tensor, nn

# B batch · H heads · Q queries · K keys

File = Callable[[nn.Module, str, Tensor], None]  # module, kind, weights (B, H, Q, K)
IsRecorded = Callable[[nn.Module], bool]  # whether calls of a module are recorded here and now
MultiheadOutput = tuple[Tensor, Tensor | None]  # what nn.MultiheadAttention returns: output, weights

_ARGUMENTS = tuple(signature(nn.MultiheadAttention.forward).parameters)[1:]


@contextmanager
def filing_foreign_weights(model: nn.Module, *, is_recorded: IsRecorded, file: File) -> Iterator[None]:
    """Let foreign attention layers inside the model file their weights within the block."""
    with ExitStack() as stack:
        for module in model.modules():
            if _is_of_transformers(module):
                stack.enter_context(_eager(module))
            elif isinstance(module, nn.TransformerEncoder) and module.use_nested_tensor:
                # With nested tensors its layers could only take their fused path, which returns no weights.
                module.use_nested_tensor = False
                stack.callback(setattr, module, "use_nested_tensor", True)
        for path, module in model.named_modules():
            if isinstance(module, nn.MultiheadAttention):
                hooks = _MultiheadHooks(_kind_in_torch(model, path), is_recorded, file)
                stack.callback(module.register_forward_pre_hook(hooks.before, with_kwargs=True).remove)
                stack.callback(module.register_forward_hook(hooks.after, with_kwargs=True).remove)
            elif "Attention" in type(module).__name__ and type(module).__module__.startswith("transformers."):
                hook = _second_output_hook(_kind_in_transformers(module, path), is_recorded, file)
                stack.callback(module.register_forward_hook(hook).remove)
        yield


class _MultiheadHooks:
    """Ask one nn.MultiheadAttention for the weights of every head; its caller gets what the caller asked for."""

    def __init__(self, kind: str, is_recorded: IsRecorded, file: File) -> None:
        self.kind, self.is_recorded, self.file = kind, is_recorded, file
        self.asked = local()  # what the caller of this thread asked for: weights: bool, mean: bool

    def before(
        self, module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[()], dict[str, Any]] | None:
        """Change the arguments of a recorded call so that it returns the weights of every head."""
        if not self.is_recorded(module):
            return None
        arguments = dict(zip(_ARGUMENTS, given, strict=False)) | named
        self.asked.weights = arguments.get("need_weights", True)
        self.asked.mean = arguments.get("average_attn_weights", True)
        return (), arguments | {"need_weights": True, "average_attn_weights": False}

    def after(
        self, module: nn.Module, given: tuple[Any, ...], named: dict[str, Any], output: tuple[Tensor, Tensor]
    ) -> MultiheadOutput | None:
        """File the weights of a recorded call, and return the output that its caller asked for."""
        if not self.is_recorded(module):
            return None
        mixed, weights = output
        kind = self.kind or ("self" if named["query"] is named["key"] else "cross")
        batched = weights if weights.dim() == 4 else weights[None]
        self.file(module, kind, torch.nan_to_num(batched))  # NaN: a query that may look at nothing
        if not self.asked.weights:
            return mixed, None
        return mixed, weights.mean(dim=-3) if self.asked.mean else weights


def _kind_in_torch(model: nn.Module, path: str) -> str:
    """Return the kind of a layer of torch's by the module around it, or "" where that does not tell."""
    parent, _, name = path.rpartition(".")
    around = model.get_submodule(parent) if path else None
    if isinstance(around, nn.TransformerDecoderLayer):
        return "cross" if name == "multihead_attn" else "decoder"
    return "encoder" if isinstance(around, nn.TransformerEncoderLayer) else ""


def _second_output_hook(kind: str, is_recorded: IsRecorded, file: File) -> Callable[..., None]:
    """Return a hook that files the second output of a module where it is weights (B, H, Q, K)."""

    def after(module: nn.Module, given: tuple[Any, ...], output: object) -> None:
        weights = output[1] if isinstance(output, tuple) and len(output) > 1 else None
        if is_recorded(module) and isinstance(weights, Tensor) and weights.dim() == 4:
            file(module, kind, weights)

    return after


def _kind_in_transformers(module: nn.Module, path: str) -> str:
    """Return the kind of a layer by its path and by whether it is causal."""
    lower = path.lower()
    if any(word in lower for word in ("cross", "encoder_attn", "encdec")):
        return "cross"
    return "decoder" if "decoder" in lower or getattr(module, "is_causal", False) else "encoder"


class _TransformersConfig(Protocol):
    """The part of a transformers configuration that names its attention."""

    _attn_implementation: str


class _TransformersModel(Protocol):
    """The part of a transformers model that switches its attention."""

    config: _TransformersConfig

    def set_attn_implementation(self, attn_implementation: str) -> None:
        """Switch all attention layers of the model."""


def _is_of_transformers(module: nn.Module) -> TypeGuard[_TransformersModel]:
    """Return whether a module can switch its attention; asked of its class, which is four times as fast."""
    return hasattr(type(module), "set_attn_implementation")


@contextmanager
def _eager(model: _TransformersModel) -> Iterator[None]:
    """Switch a model of transformers to attention that returns its weights."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(before)
