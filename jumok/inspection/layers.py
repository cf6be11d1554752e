"""Whole Transformer layers: what a layer read, what each of its sublayers added, and the norms between them.

observe(model, details=True) → hooks on jumok's own layers → AttentionRecord.layers, one LayerDetails per call of a layer

Hooks leave the layers themselves unchanged. They are there inside the block alone, and do nothing in calls that are
not recorded.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from jumok.nn.attention import CrossAttention, SelfAttention
from jumok.nn.feedforward import FeedForward
from jumok.nn.norms import BatchNorm, LayerNorm
from jumok.nn.patches import GridPositions
from jumok.nn.positions import Positions
from jumok.nn.transformer import AttentionLayer, DecoderStack, EncoderStack, Wrapped

# B batch · T tokens · D width · F hidden features · E embedding width

AROUND = "around_"  # a layer keeps the residual connection and norm of its part NAME as around_NAME


@dataclass(frozen=True)
class NormDetails:
    """A norm over features: (x − mean) / √(variance + epsilon) · scale + shift."""

    scale: Tensor  # (D,)
    shift: Tensor  # (D,)
    epsilon: float
    mean: Tensor | None = None  # (D,) of batch norm; layer norm takes mean and variance of the vector itself
    variance: Tensor | None = None


@dataclass(frozen=True)
class Matrix:
    """A learnt projection: x → weight x + bias."""

    weight: Tensor  # (out, in)
    bias: Tensor  # (out,)


@dataclass(frozen=True)
class Sublayer:
    """A part of a layer (attention or feed-forward) with its residual connection and norm."""

    path: str  # of the part, e.g. "encoder.layers.0.attention"
    output: Tensor  # (B, T, D): what the part adds
    norm: NormDetails
    pre: bool  # the norm comes before the part; otherwise after the sum
    residual: bool
    hidden: Tensor | None = None  # (B, T, F): of a feed-forward, before its activation
    activation: str = ""
    matrices: Mapping[str, Matrix] = field(default_factory=dict)  # query, key, value, output; expand, contract


@dataclass(frozen=True)
class LayerDetails:
    """One call of a Transformer layer."""

    path: str  # e.g. "encoder.layers.0"
    before: Tensor  # (B, T, D): what it read
    sublayers: tuple[Sublayer, ...]
    after: Tensor  # (B, T, D): what it handed on
    embedded: Tensor | None = None  # (B, T, E): of a first layer, the tokens before their positions are told
    positions: str = ""  # of a first layer, the path of the positions that were joined with them
    final: NormDetails | None = None  # of the last layer where norms come first: the norm after it

    def cut(self, tokens: int, row: int = 0) -> "LayerDetails":
        """Return the layer of example row, cut to its first tokens: (T, D)."""
        sublayers = tuple(
            replace(one, output=one.output[row, :tokens], hidden=None if one.hidden is None else one.hidden[row, :tokens])
            for one in self.sublayers
        )  # fmt: skip
        return replace(
            self,
            before=self.before[row, :tokens],
            sublayers=sublayers,
            after=self.after[row, :tokens],
            embedded=None if self.embedded is None else self.embedded[row, :tokens],
        )


@contextmanager
def filing_layers(
    model: nn.Module, *, is_recorded: Callable[[nn.Module], bool], file: Callable[[LayerDetails], None]
) -> Iterator[None]:
    """Let jumok's own Transformer layers inside the model file themselves within the block."""
    hooks = _Hooks(model, is_recorded, file)
    with ExitStack() as stack:
        for module in model.modules():
            if isinstance(module, hooks.KINDS):
                stack.callback(module.register_forward_hook(hooks.after).remove)
        yield


class _Hooks:
    """Gather what modules hand over until the layer around them is through."""

    KINDS = (Positions, GridPositions, SelfAttention, CrossAttention, FeedForward, Wrapped, AttentionLayer)

    def __init__(
        self, model: nn.Module, is_recorded: Callable[[nn.Module], bool], file: Callable[[LayerDetails], None]
    ) -> None:
        self.is_recorded, self.file = is_recorded, file
        self.paths = {module: path for path, module in model.named_modules()}
        stacks = [one for one in model.modules() if isinstance(one, EncoderStack | DecoderStack)]
        self.first: set[nn.Module] = {stack.layers.first for stack in stacks}
        self.final = {list(stack.layers)[-1]: stack.final for stack in stacks if stack.final is not None}
        self.embedded: tuple[str, Tensor] | None = None  # the path of positions, and what they were joined with
        self.outputs: dict[str, tuple[Tensor, Tensor]] = {}  # of parts, by their path: what they read and returned
        self.sublayers: list[Sublayer] = []

    def after(self, module: nn.Module, given: tuple[Any, ...], output: Tensor) -> None:
        """Keep what a module was given and what it returned."""
        if not self.is_recorded(module):
            return
        path, first = self.paths[module], given[0].detach()
        if isinstance(module, Positions | GridPositions):
            self.embedded = path, first
        elif isinstance(module, Wrapped):
            self.sublayers.append(self._sublayer(module, path))
        elif isinstance(module, AttentionLayer):
            self.file(self._layer(module, path, first, output.detach()))
            self.sublayers, self.outputs = [], {}
        else:
            self.outputs[path] = first, output.detach()

    def _sublayer(self, around: Wrapped, path: str) -> Sublayer:
        """Return what stands inside a residual connection, whose part has just been called."""
        part_path = path.replace(AROUND, "")
        given, output = self.outputs[part_path]
        part = next(module for module, own in self.paths.items() if own == part_path)
        return Sublayer(
            part_path,
            output,
            _norm(around.norm),
            around.pre,
            around.residual,
            hidden=part.expand(given).detach() if isinstance(part, FeedForward) else None,
            activation=part.kind if isinstance(part, FeedForward) else "",
            matrices=_matrices(part),
        )

    def _layer(self, layer: AttentionLayer, path: str, before: Tensor, after: Tensor) -> LayerDetails:
        final = self.final.get(layer)
        positions, embedded = "", None
        if layer in self.first and self.embedded is not None:
            (positions, embedded), self.embedded = self.embedded, None
        return LayerDetails(
            path,
            before,
            tuple(self.sublayers),
            after,
            embedded,
            positions,
            final=None if final is None else _norm(final),
        )


def _norm(norm: LayerNorm | BatchNorm) -> NormDetails:
    scale, shift = norm.weight.detach(), norm.bias.detach()
    if isinstance(norm, LayerNorm):
        return NormDetails(scale, shift, norm.eps)
    assert norm.running_mean is not None
    assert norm.running_var is not None
    return NormDetails(scale, shift, norm.eps, norm.running_mean.clone(), norm.running_var.clone())


def _matrices(part: nn.Module) -> dict[str, Matrix]:
    """Return the projections of a part by name; those that are one matrix product are taken apart."""
    if isinstance(part, FeedForward):
        return {"expand": _matrix(part.expand), "contract": _matrix(part.contract)}
    assert isinstance(part, SelfAttention | CrossAttention)
    found = {}
    if isinstance(part, SelfAttention):
        names, joined = ["query", "key", "value"], part.query_key_value
    else:
        names, joined = ["key", "value"], part.key_value
        found["query"] = _matrix(part.query)
    weights, biases = (torch.split(one.detach(), part.sizes) for one in (joined.weight, joined.bias))
    found |= {name: Matrix(*one) for name, *one in zip(names, weights, biases, strict=True)}
    return found | {"output": _matrix(part.output)}


def _matrix(linear: nn.Linear) -> Matrix:
    return Matrix(linear.weight.detach(), linear.bias.detach())
